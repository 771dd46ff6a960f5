/** Roles: those that are built in, and the team's own. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import {
  type Capability,
  CapabilityFields,
  capabilityCount,
  capabilityWords,
} from '../../ui/capabilities.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { Section } from '../../ui/page.tsx';
import { Badge } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { type Role, RoleFields } from './documents.ts';

const CreateRole = graphql(
  `
    mutation CreateRole($name: String!, $capabilities: [Capability!]!) {
      createRole(name: $name, capabilities: $capabilities) {
        ...RoleFields
      }
    }
  `,
  [RoleFields],
);
const UpdateRole = graphql(
  `
    mutation UpdateRole($id: ID!, $name: String!, $capabilities: [Capability!]!) {
      updateRole(id: $id, name: $name, capabilities: $capabilities) {
        ...RoleFields
      }
    }
  `,
  [RoleFields],
);
const DeleteRole = graphql(`
  mutation DeleteRole($id: ID!) {
    deleteRole(id: $id)
  }
`);

export function Roles({ roles }: { roles: readonly Role[] }) {
  const { can } = useSession();
  const [editing, setEditing] = useState<Role | 'new' | null>(null);
  const [leaving, setLeaving] = useState<Role | null>(null);
  const [, remove] = useMutation(DeleteRole);
  const mayManage = can('manage_roles');
  return (
    <Section
      title="Roles"
      description="What people may do in the whole team. Folders can give more, below."
      look="bare"
      actions={
        mayManage && (
          <Button look="primary" icon="plus" onClick={() => setEditing('new')}>
            New role
          </Button>
        )
      }
    >
      <Table
        label="Roles"
        rows={roles}
        rowKey={({ id }) => id}
        columns={[
          {
            ...{ key: 'name', head: 'Name' },
            cell: ({ name, builtIn }) => (
              <>
                <bdi>{name}</bdi> {builtIn && <Badge>built in</Badge>}
              </>
            ),
          },
          { key: 'rights', head: 'Rights', lesser: true, cell: rightsWords },
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: (role) =>
              mayManage &&
              !role.builtIn && (
                <span className="row-actions">
                  <Button size="small" onClick={() => setEditing(role)}>
                    Edit
                  </Button>
                  <Button size="small" look="ghost" onClick={() => setLeaving(role)}>
                    Delete
                  </Button>
                </span>
              ),
          },
        ]}
      />
      <Dialog
        open={editing !== null}
        onOpenChange={() => setEditing(null)}
        look="wide"
        title={editing === 'new' ? 'New role' : 'Edit the role'}
      >
        {editing !== null && (
          <RoleForm role={editing === 'new' ? null : editing} close={() => setEditing(null)} />
        )}
      </Dialog>
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Delete ${leaving?.name ?? ''}?`}
        action="Delete the role"
        danger
        onConfirm={async () => {
          await done(remove({ id: leaving?.id ?? '' }));
          toast(`${leaving?.name ?? ''} is deleted.`);
        }}
      >
        It must be nobody’s role: give its people another one first.
      </ConfirmDialog>
    </Section>
  );
}

function rightsWords({ capabilities }: Role): string {
  if (capabilities.length === capabilityCount) return 'All';
  if (capabilities.length === 0) return 'Reading only';
  const named = capabilities.slice(0, 3).map(capabilityWords).join(', ');
  const more = capabilities.length - 3;
  return more > 0 ? `${named} and ${String(more)} more` : named;
}

function RoleForm({ role, close }: { role: Role | null; close: () => void }) {
  const { can } = useSession();
  const [name, setName] = useState(role?.name ?? '');
  const [chosen, setChosen] = useState<ReadonlySet<Capability>>(new Set(role?.capabilities));
  const [error, setError] = useState<ApiError | null>(null);
  const [creating, create] = useMutation(CreateRole);
  const [updating, update] = useMutation(UpdateRole);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const fields = { name, capabilities: [...chosen] };
    try {
      await (role === null ? done(create(fields)) : done(update({ id: role.id, ...fields })));
      close();
      toast(`${name} is saved.`);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Name"
        required
        autoFocus
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <CapabilityFields chosen={chosen} onChange={setChosen} may={can} />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={creating.fetching || updating.fetching}
          disabled={name.trim() === ''}
        >
          Save
        </Button>
      </DialogActions>
    </form>
  );
}
