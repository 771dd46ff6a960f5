/** What was deleted and can still come back. */
import { useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { done } from '../../api/done.ts';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Page as Frame, Skeleton } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Table } from '../../ui/table.tsx';
import { toast, toastError } from '../../ui/toast.tsx';

const TrashQuery = graphql(`
  query Trash {
    trash {
      id
      kind
      name
      deletedAt
      purgeAt
    }
  }
`);
const Restore = graphql(`
  mutation RestoreFromTrash($id: ID!) {
    restoreFromTrash(id: $id)
  }
`);
const Purge = graphql(`
  mutation PurgeFromTrash($id: ID!) {
    purgeFromTrash(id: $id)
  }
`);

type Item = ResultOf<typeof TrashQuery>['trash'][number];

export function Page() {
  const { can } = useSession();
  const [{ data, error }, ask] = useQuery({ query: TrashQuery });
  const [, restore] = useMutation(Restore);
  const [, purge] = useMutation(Purge);
  const [leaving, setLeaving] = useState<Item | null>(null);
  const mayTouch = (item: Item): boolean =>
    can(item.kind === 'database' ? 'delete_databases' : 'delete_apps');
  const bringBack = async (item: Item): Promise<void> => {
    try {
      await done(restore({ id: item.id }));
      toast(`${item.name} is back. It is stopped: start it when you like.`);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Frame title="Trash">
      {error && <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />}
      {!data && !error && <Skeleton look="rows" />}
      {data?.trash.length === 0 && (
        <EmptyState icon="trash" title="The trash is empty">
          Apps and databases that are deleted stay here for 7 days.
        </EmptyState>
      )}
      {data && data.trash.length > 0 && (
        <Table
          label="Trash"
          rows={data.trash}
          rowKey={({ id }) => id}
          columns={[
            { key: 'name', head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
            { key: 'kind', head: 'Kind', lesser: true, cell: ({ kind }) => kind },
            { key: 'deleted', head: 'Deleted', lesser: true, cell: (item) => <RelativeTime at={item.deletedAt} /> }, // prettier-ignore
            { key: 'purge', head: 'Gone for good', cell: (item) => <RelativeTime at={item.purgeAt} /> }, // prettier-ignore
            {
              ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
              cell: (item) =>
                mayTouch(item) && (
                  <span className="row-actions">
                    <Button size="small" onClick={() => void bringBack(item)}>
                      Restore
                    </Button>
                    <Button size="small" look="ghost" onClick={() => setLeaving(item)}>
                      Delete now
                    </Button>
                  </span>
                ),
            },
          ]}
        />
      )}
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Delete ${leaving?.name ?? ''} for good?`}
        action="Delete for good"
        danger
        typed={leaving?.name ?? ''}
        onConfirm={async () => {
          await done(purge({ id: leaving?.id ?? '' }));
          toast(`${leaving?.name ?? ''} is gone.`);
        }}
      >
        Its data, its volumes and its logs are removed now. There is no way back but a backup.
      </ConfirmDialog>
    </Frame>
  );
}
