/** The log of an app or a database, as one of its pages. */
import { useMemo, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import type { PageProps } from '../../shell/routes.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Skeleton } from '../../ui/page.tsx';
import { AppFrame } from '../app/frame.tsx';
import { DatabaseFrame } from '../database/frame.tsx';
import type { Marker } from './log-model.ts';
import { LogViewer, useFollowedLog } from './log-viewer.tsx';

const AppLog = graphql(`
  query AppLog($id: ID!) {
    app(id: $id) {
      id
      containers {
        name
      }
      deployments(first: 50) {
        nodes {
          id
          status
          trigger
          commitMessage
          finishedAt
        }
      }
    }
  }
`);

type LoggedApp = NonNullable<ResultOf<typeof AppLog>['app']>;

export function Page({ params: { id = '' } }: PageProps) {
  const [path] = useLocation();
  return path.startsWith('/databases/') ? <OfDatabase id={id} /> : <OfApp id={id} />;
}

function OfApp({ id }: { id: string }) {
  const [container, setContainer] = useState<string | null>(null);
  const [{ data, error }, again] = useQuery({ query: AppLog, variables: { id } });
  const app = data?.app;
  const markers = useMemo(() => (app == null ? [] : markersOf(app)), [app]);
  const ask = (): void => again({ requestPolicy: 'network-only' });
  // Beside the frame's own query, not behind it.
  const log = useFollowedLog({ appId: id, ...(container !== null && { container }) }, ask);
  return (
    <AppFrame id={id} title="Log" width="full">
      {({ name }) =>
        app != null ? (
          <LogViewer
            key={container}
            log={log}
            name={name}
            choice={{
              containers: app.containers.map((one) => one.name),
              container,
              onContainer: setContainer,
            }}
            markers={markers}
          />
        ) : error ? (
          <ErrorNote error={error} retry={ask} />
        ) : (
          <Skeleton lines={8} />
        )
      }
    </AppFrame>
  );
}

function OfDatabase({ id }: { id: string }) {
  const log = useFollowedLog({ databaseId: id });
  return (
    <DatabaseFrame id={id} title="Log" width="full">
      {({ name }) => <LogViewer log={log} name={name} />}
    </DatabaseFrame>
  );
}

/** Deployments where they went live. */
export function markersOf({ deployments }: Pick<LoggedApp, 'deployments'>): Marker[] {
  return deployments.nodes.flatMap(({ status, trigger, commitMessage, finishedAt }) => {
    if (finishedAt === null || status !== 'ready') return [];
    const [what = ''] = (commitMessage ?? '').split('\n');
    const text = `Deployed by ${trigger.replaceAll('_', ' ')}${what === '' ? '' : `: ${what.slice(0, 120)}`}`;
    return [{ atMs: Date.parse(finishedAt), text }];
  });
}
