/** What an app is set to, part by part: each is kept by itself, and what is typed stays when the app changes. */
import { useQuery, type UseQueryResponse } from 'urql';
import { graphql, type ResultOf, type VariablesOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { EmptyState, Skeleton } from '../../../ui/page.tsx';
import type { Suggestion } from '../../../ui/suggest-field.tsx';
import { ServerChoice } from '../../server/server-field.tsx';
import { type App, mayOn } from '../app-parts.ts';
import { AppFrame } from '../frame.tsx';
import { BuildSettings, useNodeVersions } from './build.tsx';
import { DangerZone } from './danger-zone.tsx';
import { DeployHook } from './deploy-hook.tsx';
import { EdgeSettings } from './edge.tsx';
import { GeneralSettings } from './general.tsx';
import { AppSettings } from './save.ts';
import { AppServer, AppServerSection } from './server.tsx';
import { SourceSettings } from './source.tsx';

const AppSettingsPage = graphql(
  `
    query AppSettingsPage($id: ID!) {
      app(id: $id) {
        ...AppSettings
        ...AppServer
      }
      servers {
        ...ServerChoice
      }
      folders {
        id
        name
        parentId
      }
    }
  `,
  [AppSettings, AppServer, ServerChoice],
);

export type Folders = ResultOf<typeof AppSettingsPage>['folders'];

export function Page({ params: { id = '' } }: PageProps) {
  const query = useQuery({ query: AppSettingsPage, variables: { id } });
  const nodeVersions = useNodeVersions();
  return (
    <AppFrame id={id} title="Settings">
      {(app) => <Settings app={app} query={query} nodeVersions={nodeVersions} />}
    </AppFrame>
  );
}

type Query = UseQueryResponse<
  ResultOf<typeof AppSettingsPage>,
  VariablesOf<typeof AppSettingsPage>
>;

interface SettingsProps {
  app: App;
  query: Query;
  nodeVersions: readonly Suggestion[];
}

function Settings({ app, query: [{ data, error }, ask], nodeVersions }: SettingsProps) {
  const settings = data?.app;
  if (error)
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  if (settings == null) return <Skeleton lines={8} look="rows" />;
  const mayConfigure = mayOn(app, 'configure_apps');
  return (
    <div className="settings">
      {mayConfigure ? (
        <>
          <GeneralSettings settings={settings} folders={data?.folders ?? []} />
          <SourceSettings settings={settings} />
          <BuildSettings settings={settings} nodeVersions={nodeVersions} />
          <EdgeSettings settings={settings} />
          <DeployHook settings={settings} />
          <AppServerSection app={settings} servers={data?.servers ?? []} />
        </>
      ) : (
        <EmptyState icon="shield" title="You may not change this app's settings">
          That needs the right to configure apps, which somebody who manages the team can give you.
        </EmptyState>
      )}
      <DangerZone app={app} />
    </div>
  );
}
