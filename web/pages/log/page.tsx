/** The log of an app or a database, on a page of its own. */
import { useMemo } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { NotFound } from '../../shell/pages.tsx';
import type { PageProps } from '../../shell/routes.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Page as Frame, Skeleton } from '../../ui/page.tsx';
import type { Marker } from './log-model.ts';
import { LogViewer } from './log-viewer.tsx';

const AppLog = graphql(`
  query AppLog($id: ID!) {
    app(id: $id) {
      id
      name
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

const DatabaseLog = graphql(`
  query DatabaseLog($id: ID!) {
    database(id: $id) {
      id
      name
    }
  }
`);

type LoggedApp = NonNullable<ResultOf<typeof AppLog>['app']>;

export function Page({ params: { id = '' } }: PageProps) {
  const [path] = useLocation();
  return path.startsWith('/databases/') ? <OfDatabase id={id} /> : <OfApp id={id} />;
}

function OfApp({ id }: { id: string }) {
  const [{ data, error, fetching }, again] = useQuery({ query: AppLog, variables: { id } });
  const app = data?.app;
  const markers = useMemo(() => (app == null ? [] : markersOf(app)), [app]);
  if (app == null) return <Absent {...{ error, fetching, again }} what="app" />;
  return (
    <Frame title="Log" crumbs={[{ href: `/apps/${id}`, label: app.name }]} width="full">
      <LogViewer
        appId={id}
        name={app.name}
        containers={app.containers.map(({ name }) => name)}
        markers={markers}
        onDeployment={() => again({ requestPolicy: 'network-only' })}
      />
    </Frame>
  );
}

function OfDatabase({ id }: { id: string }) {
  const [{ data, error, fetching }, again] = useQuery({ query: DatabaseLog, variables: { id } });
  const database = data?.database;
  if (database == null) return <Absent {...{ error, fetching, again }} what="database" />;
  return (
    <Frame title="Log" crumbs={[{ href: `/databases/${id}`, label: database.name }]} width="full">
      <LogViewer databaseId={id} name={database.name} />
    </Frame>
  );
}

interface AbsentProps {
  what: string;
  error: unknown;
  fetching: boolean;
  again: (options: { requestPolicy: 'network-only' }) => void;
}

function Absent({ what, error, fetching, again }: AbsentProps) {
  if (!fetching && error == null) return <NotFound what={what} />;
  return (
    <Frame title="Log" width="full">
      {error == null ? (
        <Skeleton lines={8} />
      ) : (
        <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />
      )}
    </Frame>
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
