/** All deployments of an app, the newest first. */
import { useEffect, useState } from 'react';
import { useMutation, useQuery, type UseQueryResponse } from 'urql';
import { Link, useLocation } from 'wouter';
import { graphql, type ResultOf, type VariablesOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { Button, ButtonLink } from '../../../ui/button.tsx';
import { ConfirmDialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { EmptyState, Skeleton } from '../../../ui/page.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';
import { StatusDot } from '../../../ui/status.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { toastError } from '../../../ui/toast.tsx';
import { type App, type Deployment, DeploymentState, isUnderWay, mayOn } from '../app-parts.ts';
import { CommitLine, Duration, titleOf, triggerOf } from '../deployment-facts.tsx';
import { AppFrame } from '../frame.tsx';
import { CancelDeployment, RollbackDeployment } from './changes.ts';

const perPage = 20;

const DeploymentsPage = graphql(
  `
    query DeploymentsPage($id: ID!, $first: Int!) {
      app(id: $id) {
        id
        deployments(first: $first) {
          nodes {
            ...DeploymentState
          }
          pageInfo {
            hasNextPage
          }
        }
      }
    }
  `,
  [DeploymentState],
);

export function Page({ params: { id = '' } }: PageProps) {
  const [first, setFirst] = useState(perPage);
  const query = useQuery({ query: DeploymentsPage, variables: { id, first } });
  return (
    <AppFrame id={id} title="Deployments">
      {(app) => <Deployments app={app} query={query} onMore={() => setFirst(first + perPage)} />}
    </AppFrame>
  );
}

interface DeploymentsProps {
  app: App;
  query: UseQueryResponse<ResultOf<typeof DeploymentsPage>, VariablesOf<typeof DeploymentsPage>>;
  onMore: () => void;
}

function Deployments({ app, query: [{ data, error, fetching }, ask], onMore }: DeploymentsProps) {
  const list = data?.app?.deployments;
  const latestId = app.latestDeployment?.id;
  const isBehind = list !== undefined && latestId !== undefined && list.nodes[0]?.id !== latestId;
  useEffect(() => {
    if (isBehind) ask({ requestPolicy: 'network-only' });
  }, [isBehind, latestId, ask]);
  if (error)
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  if (list === undefined) return <Skeleton lines={6} look="rows" />;
  if (list.nodes.length === 0) {
    return (
      <EmptyState
        icon="rocket"
        title="Nothing was deployed yet"
        action={<ButtonLink href={`/apps/${app.id}`}>Deploy it</ButtonLink>}
      >
        Each deployment will be listed here, with its log and a way back to it.
      </EmptyState>
    );
  }
  return (
    <>
      <Table
        label="Deployments"
        columns={columnsFor(app)}
        rows={list.nodes}
        rowKey={({ id }) => id}
      />
      {list.pageInfo.hasNextPage && (
        <div className="app-more">
          <Button busy={fetching} onClick={onMore}>
            Show older ones
          </Button>
        </div>
      )}
    </>
  );
}

function columnsFor(app: App): readonly Column<Deployment>[] {
  return [
    {
      key: 'what',
      head: 'Deployment',
      cell: (deployment) => (
        <div className="app-deployment">
          <Link href={`/apps/${app.id}/deployments/${deployment.id}`}>
            <bdi>{titleOf(deployment)}</bdi>
          </Link>
          <span className="app-deployment-more">
            <CommitLine deployment={deployment} />
            {deployment.commitMessage !== null && <span>{triggerOf(deployment)}</span>}
          </span>
        </div>
      ),
    },
    { key: 'state', head: 'State', cell: (deployment) => <StateCell deployment={deployment} /> },
    {
      key: 'took',
      head: 'Took',
      lesser: true,
      cell: (deployment) => <Duration deployment={deployment} />,
    },
    {
      key: 'when',
      head: 'When',
      lesser: true,
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
    {
      key: 'do',
      head: 'Actions',
      quietHead: true,
      align: 'end',
      cell: (deployment) =>
        mayOn(app, 'deploy_apps') && <DeploymentButton deployment={deployment} />,
    },
  ];
}

export function StateCell({ deployment }: { deployment: Deployment }) {
  const { status, queuePosition } = deployment;
  return (
    <>
      <StatusDot status={status} />
      {status === 'queued' && queuePosition !== null && (
        <small className="app-queue">{placeInQueue(queuePosition)}</small>
      )}
    </>
  );
}

export function placeInQueue(position: number): string {
  return position === 1 ? 'next in the queue' : `number ${String(position)} in the queue`;
}

/** What can be done with a deployment: cancel it while it is under way, or go back to it. */
export function DeploymentButton({ deployment }: { deployment: Deployment }) {
  if (isUnderWay(deployment)) return <CancelButton id={deployment.id} />;
  return deployment.canRollback ? <RollbackButton deployment={deployment} /> : null;
}

function CancelButton({ id }: { id: string }) {
  const [{ fetching }, cancel] = useMutation(CancelDeployment);
  const run = async (): Promise<void> => {
    const { error } = await cancel({ id });
    if (error) toastError(error);
  };
  return (
    <Button size="small" icon="x" busy={fetching} onClick={() => void run()}>
      Cancel
    </Button>
  );
}

function RollbackButton({ deployment }: { deployment: Deployment }) {
  const [asks, setAsks] = useState(false);
  const [, rollback] = useMutation(RollbackDeployment);
  const [, navigate] = useLocation();
  const { id, appId } = deployment;
  return (
    <>
      <Button size="small" icon="refresh" onClick={() => setAsks(true)}>
        Roll back
      </Button>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title="Roll back to this deployment?"
        action="Roll back"
        onConfirm={async () => {
          const { data, error } = await rollback({ id });
          if (error) throw error;
          if (data) navigate(`/apps/${appId}/deployments/${data.rollbackDeployment.id}`);
        }}
      >
        Its release is still kept, so it starts without a build. Visitors stay with the present one
        until it is healthy. Data and variables stay as they are now.
      </ConfirmDialog>
    </>
  );
}
