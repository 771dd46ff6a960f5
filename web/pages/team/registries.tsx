/** Logins for registries of images. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import type { TeamAnswer } from './documents.ts';

const AddRegistry = graphql(`
  mutation AddRegistry($name: String!, $host: String!, $username: String, $password: String) {
    addRegistry(name: $name, host: $host, username: $username, password: $password) {
      id
      name
      host
      username
    }
  }
`);
const RemoveRegistry = graphql(`
  mutation RemoveRegistry($id: ID!) {
    removeRegistry(id: $id)
  }
`);

type Registry = NonNullable<TeamAnswer['registries']>[number];

export function Registries({ registries }: { registries: readonly Registry[] }) {
  const { can } = useSession();
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<Registry | null>(null);
  const [, remove] = useMutation(RemoveRegistry);
  const mayManage = can('manage_registries');
  const add = mayManage && (
    <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
      Add a registry
    </Button>
  );
  return (
    <Section title="Registries" look="bare" actions={registries.length > 0 ? add : undefined}>
      {registries.length === 0 ? (
        <EmptyState icon="box" title="No registries yet" action={add}>
          Images of private registries are pulled with the login that you give here.
        </EmptyState>
      ) : (
        <Table
          label="Registries"
          rows={registries}
          rowKey={({ id }) => id}
          columns={[
            { key: 'name', head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
            { key: 'host', head: 'Host', cell: ({ host }) => <code>{host}</code> },
            { key: 'user', head: 'User', lesser: true, cell: ({ username }) => username ?? '–' },
            {
              ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
              cell: (registry) =>
                mayManage && (
                  <Button size="small" onClick={() => setLeaving(registry)}>
                    Remove
                  </Button>
                ),
            },
          ]}
        />
      )}
      <Dialog open={adding} onOpenChange={setAdding} title="Add a registry">
        <RegistryForm close={() => setAdding(false)} />
      </Dialog>
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Remove ${leaving?.name ?? ''}?`}
        action="Remove"
        danger
        onConfirm={async () => {
          await done(remove({ id: leaving?.id ?? '' }));
          toast(`${leaving?.name ?? ''} is removed.`);
        }}
      >
        Apps that pull from it keep what runs; their next deployment fails.
      </ConfirmDialog>
    </Section>
  );
}

function RegistryForm({ close }: { close: () => void }) {
  const [fields, setFields] = useState({ name: '', host: '', username: '', password: '' });
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, add] = useMutation(AddRegistry);
  const field = (name: keyof typeof fields) => ({
    value: fields[name],
    onChange: (event: { target: { value: string } }) =>
      setFields({ ...fields, [name]: event.target.value }),
  });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const { name, host, username, password } = fields;
    const login = username === '' ? {} : { username, password };
    try {
      await done(add({ name, host, ...login }));
      close();
      toast(`${name} is added.`);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField label="Host" required placeholder="registry.example.com" {...field('host')} />
      <TextField label="User" autoComplete="off" {...field('username')} />
      <TextField
        label="Password or token"
        type="password"
        autoComplete="off"
        {...field('password')}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={fetching}
          disabled={fields.name === '' || fields.host === ''}
        >
          Add
        </Button>
      </DialogActions>
    </form>
  );
}
