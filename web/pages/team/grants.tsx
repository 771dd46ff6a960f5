/** What people hold in one folder, and below it, besides their role. */
import { useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { type Capability, CapabilityFields } from '../../ui/capabilities.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SelectField } from '../../ui/field.tsx';
import { EmptyState, Section, Skeleton } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Member, TeamAnswer } from './documents.ts';

const GrantsQuery = graphql(`
  query FolderGrants($folderId: ID!) {
    folderGrants(folderId: $folderId) {
      userId
      folderId
      capabilities
    }
  }
`);
const SetGrant = graphql(`
  mutation SetFolderGrant($folderId: ID!, $userId: ID!, $capabilities: [Capability!]!) {
    setFolderGrant(folderId: $folderId, userId: $userId, capabilities: $capabilities) {
      userId
      folderId
      capabilities
    }
  }
`);

export function Grants({ data }: { data: TeamAnswer }) {
  const { can } = useSession();
  const { folders, members } = data;
  const [folderId, setFolderId] = useState(folders[0]?.id ?? '');
  if (folders.length === 0) {
    return (
      <EmptyState icon="folder" title="There are no folders yet">
        Put apps and databases into folders to give somebody rights on those alone.
      </EmptyState>
    );
  }
  if (!can('manage_members')) {
    return (
      <EmptyState icon="folder" title="You may not see who holds what in folders">
        It takes the right “Invite and remove people”.
      </EmptyState>
    );
  }
  return (
    <Section
      title="Rights in a folder"
      description="They come on top of the role, and hold for all that is in the folder."
      look="bare"
    >
      <div className="team-folder">
        <SelectField
          label="Folder"
          options={folders.map(({ id, name }) => ({ value: id, label: name }))}
          value={folderId}
          onChange={(event) => setFolderId(event.target.value)}
        />
      </div>
      <GrantTable folderId={folderId} members={members} />
    </Section>
  );
}

function GrantTable({ folderId, members }: { folderId: string; members: readonly Member[] }) {
  const [{ data, error }, ask] = useQuery({ query: GrantsQuery, variables: { folderId } });
  const [editing, setEditing] = useState<Member | null>(null);
  if (error)
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  if (!data) return <Skeleton look="rows" />;
  const heldBy = (userId: string): readonly Capability[] =>
    data.folderGrants.find((grant) => grant.userId === userId)?.capabilities ?? [];
  return (
    <>
      <Table
        label="Rights in the folder"
        rows={members}
        rowKey={({ userId }) => userId}
        columns={[
          { key: 'name', head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
          { key: 'role', head: 'Role', lesser: true, cell: ({ role }) => role.name },
          {
            ...{ key: 'more', head: 'Besides the role' },
            cell: ({ userId }) => {
              const count = heldBy(userId).length;
              return count === 0
                ? 'Nothing'
                : `${String(count)} ${count === 1 ? 'right' : 'rights'}`;
            },
          },
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: (member) => (
              <Button size="small" onClick={() => setEditing(member)}>
                Change
              </Button>
            ),
          },
        ]}
      />
      <Dialog
        open={editing !== null}
        onOpenChange={() => setEditing(null)}
        look="wide"
        title={`Rights of ${editing?.name ?? ''} in the folder`}
      >
        {editing !== null && (
          <GrantForm
            folderId={folderId}
            member={editing}
            held={heldBy(editing.userId)}
            close={() => setEditing(null)}
          />
        )}
      </Dialog>
    </>
  );
}

interface GrantFormProps {
  folderId: string;
  member: Member;
  held: readonly Capability[];
  close: () => void;
}

function GrantForm({ folderId, member, held, close }: GrantFormProps) {
  const { can } = useSession();
  const [chosen, setChosen] = useState<ReadonlySet<Capability>>(new Set(held));
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, set] = useMutation(SetGrant);
  const save = async (): Promise<void> => {
    try {
      await done(set({ folderId, userId: member.userId, capabilities: [...chosen] }));
      close();
      toast(`The rights of ${member.name} are saved.`);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <div className="dialog-body">
      <CapabilityFields chosen={chosen} onChange={setChosen} may={can} />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button look="primary" busy={fetching} onClick={() => void save()}>
          Save
        </Button>
      </DialogActions>
    </div>
  );
}
