/** Owns removing a connection; it names the apps that fetch by it. */
import { useMutation } from 'urql';
import { useAllApps } from '../../api/all-apps.ts';
import { done } from '../../api/done.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { AppsOfConnections, type GitConnection, RemoveConnection } from './documents.ts';

export function RemoveDialog({
  connection,
  close,
}: {
  connection: GitConnection | null;
  close: () => void;
}) {
  const [, remove] = useMutation(RemoveConnection);
  return (
    <ConfirmDialog
      open={connection !== null}
      onOpenChange={close}
      title={`Remove ${connection?.label ?? ''}?`}
      action="Remove"
      danger
      onConfirm={async () => {
        await done(remove({ id: connection?.id ?? '' }));
        toast(`${connection?.label ?? ''} is removed.`);
      }}
    >
      What it delivered goes with it.{' '}
      {connection !== null && connection.appCount > 0 && <Users connection={connection} />}
      {connection?.provider === 'github' &&
        ' The App stays at GitHub, where its owner can delete it.'}
    </ConfirmDialog>
  );
}

const namedMax = 10;

function Users({ connection: { id, appCount } }: { connection: GitConnection }) {
  const { apps = [] } = useAllApps(AppsOfConnections);
  const names = apps.filter(({ git }) => git?.connectionId === id).map(({ name }) => name);
  const named = names.slice(0, namedMax);
  const others = appCount - named.length;
  const parts = [...named.map((name) => `“${name}”`), ...(others > 0 ? [othersOf(others)] : [])];
  return (
    <bdi>
      {list.format(parts)}{' '}
      {appCount === 1 ? 'stays as it is, and fetches' : 'stay as they are, and fetch'} no more.
    </bdi>
  );
}

const list = new Intl.ListFormat('en');

function othersOf(count: number): string {
  return count === 1 ? 'one app' : `${String(count)} apps`;
}
