/** What a provider delivered for an app, the newest first, and deploying it again. */
import { useMutation, type UseQueryResponse } from 'urql';
import { Link, useLocation } from 'wouter';
import { done } from '../../../api/done.ts';
import type { ResultOf, VariablesOf } from '../../../api/graphql.ts';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { EmptyState, Skeleton } from '../../../ui/page.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { toastError } from '../../../ui/toast.tsx';
import { type App, mayOn } from '../app-parts.ts';
import { type DeliveriesQuery, type Delivery, ReplayDelivery } from './documents.ts';

interface DeliveriesProps {
  app: App;
  /** That is deployed; null while it is not known. */
  branch: string | null;
  query: UseQueryResponse<ResultOf<typeof DeliveriesQuery>, VariablesOf<typeof DeliveriesQuery>>;
}

export function Deliveries({ app, branch, query: [{ data, error }, ask] }: DeliveriesProps) {
  if (error)
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  if (!data) return <Skeleton look="rows" lines={4} />;
  if (data.gitDeliveries.length === 0) {
    return (
      <EmptyState icon="git" title="Nothing was delivered yet">
        A git connection with a webhook tells of each push, and so it is deployed at once.
      </EmptyState>
    );
  }
  return (
    <Table
      label="Pushes"
      rows={data.gitDeliveries}
      rowKey={({ id }) => id}
      columns={columnsFor(app, branch)}
    />
  );
}

function columnsFor(app: App, branch: string | null): readonly Column<Delivery>[] {
  return [
    {
      key: 'what',
      head: 'Push',
      cell: (delivery) => (
        <span className="app-deployment">
          <bdi>{delivery.branch ?? delivery.event}</bdi>
          {delivery.commitSha !== null && (
            <code className="app-muted">{delivery.commitSha.slice(0, 7)}</code>
          )}
        </span>
      ),
    },
    {
      key: 'outcome',
      head: 'What came of it',
      cell: ({ outcome, deploymentId }) =>
        deploymentId === null ? (
          wordsOf(outcome)
        ) : (
          <Link href={`/apps/${app.id}/deployments/${deploymentId}`}>{wordsOf(outcome)}</Link>
        ),
    },
    {
      key: 'when',
      head: 'When',
      lesser: true,
      cell: ({ receivedAt }) => <RelativeTime at={receivedAt} />,
    },
    {
      key: 'do',
      head: 'Actions',
      quietHead: true,
      align: 'end',
      cell: (delivery) =>
        mayOn(app, 'deploy_apps') &&
        delivery.event === 'push' &&
        delivery.branch === branch && <ReplayButton app={app} delivery={delivery} />,
    },
  ];
}

const words: Readonly<Record<string, string>> = {
  received: 'Received',
  deployed: 'Deployed',
  preview: 'Preview',
  unchanged: 'The app had this commit',
  outdated: 'A later push came first',
  skipped: 'Skipped by its message',
  unwatched: 'Changed nothing that is watched',
  other_branch: 'Another branch',
  tag: 'A tag',
  branch_deleted: 'The branch was deleted',
  auto_deploy_off: 'Pushes are not deployed',
  failed: 'Failed',
};

function wordsOf(outcome: string): string {
  return words[outcome] ?? outcome.replaceAll('_', ' ');
}

function ReplayButton({ app, delivery: { id } }: { app: App; delivery: Delivery }) {
  const [{ fetching }, replay] = useMutation(ReplayDelivery);
  const [, navigate] = useLocation();
  const run = async (): Promise<void> => {
    try {
      const { deploymentId } = (await done(replay({ id }))).replayGitDelivery;
      if (deploymentId !== null) navigate(`/apps/${app.id}/deployments/${deploymentId}`);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Button size="small" icon="refresh" busy={fetching} onClick={() => void run()}>
      Deploy again
    </Button>
  );
}
