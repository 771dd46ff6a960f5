/** One deployment: how far it is, its log as it is written, and what came of it. */
import { useQuery, type UseQueryResponse } from 'urql';
import { graphql, type ResultOf, type VariablesOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { ButtonLink } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { EmptyState, Facts, Section, Skeleton } from '../../../ui/page.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';
import { type App, type Deployment, DeploymentState, isUnderWay, mayOn } from '../app-parts.ts';
import { CommitLine, Duration, titleOf, triggerOf } from '../deployment-facts.tsx';
import { DeploymentButton } from '../deployments/page.tsx';
import { AppFrame } from '../frame.tsx';
import { BuildLog } from './build-log.tsx';
import { Steps } from './steps.tsx';

const DeploymentPage = graphql(
  `
    query DeploymentPage($id: ID!) {
      deployment(id: $id) {
        ...DeploymentState
      }
    }
  `,
  [DeploymentState],
);

export function Page({ params: { id = '', deployment = '' } }: PageProps) {
  const query = useQuery({ query: DeploymentPage, variables: { id: deployment } });
  return (
    <AppFrame id={id} title="Deployment">
      {(app) => <OneDeployment key={deployment} app={app} id={deployment} query={query} />}
    </AppFrame>
  );
}

type Query = UseQueryResponse<ResultOf<typeof DeploymentPage>, VariablesOf<typeof DeploymentPage>>;

interface OneDeploymentProps {
  app: App;
  id: string;
  query: Query;
}

function OneDeployment({ app, id, query: [{ data, error }, ask] }: OneDeploymentProps) {
  const deployment = data?.deployment;
  if (error)
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  if (deployment === undefined) return <Skeleton lines={6} look="rows" />;
  if (deployment?.appId !== app.id) {
    return (
      <EmptyState icon="search" title="There is no such deployment">
        It may be older than what is kept.
      </EmptyState>
    );
  }
  return (
    <>
      <div className="deployment-head">
        <h2>
          <bdi>{titleOf(deployment)}</bdi>
        </h2>
        <div className="page-actions">
          {mayOn(app, 'deploy_apps') && <DeploymentButton deployment={deployment} />}
        </div>
      </div>
      <Steps deployment={deployment} />
      <Outcome app={app} deployment={deployment} />
      <Section title="Details">
        <DeploymentFacts deployment={deployment} />
      </Section>
      {/* The last, since it grows. */}
      <Section title="Build log" look="bare">
        <BuildLog id={id} isUnderWay={isUnderWay(deployment)} />
      </Section>
    </>
  );
}

function Outcome({ app, deployment }: { app: App; deployment: Deployment }) {
  const { status, error } = deployment;
  const isLive = status === 'ready' && app.latestDeployment?.id === deployment.id;
  const url = deployment.url ?? app.url;
  return (
    <div role="status">
      {isLive && url !== null && (
        <div className="deployment-live">
          <Icon name="check" size={20} />
          <p>
            <strong>It is live.</strong>{' '}
            <a href={url} target="_blank" rel="noreferrer">
              {url.replace(/^https?:\/\//, '')}
            </a>
          </p>
          <ButtonLink href={url} look="primary" icon="external" outside>
            Open the app
          </ButtonLink>
        </div>
      )}
      {status === 'failed' && (
        <div className="deployment-failed">
          <Icon name="warning" size={20} />
          <div>
            <p>
              <strong>{error ?? 'The deployment failed.'}</strong>
            </p>
            <p>The end of the log below says more. What was live before still serves visitors.</p>
          </div>
        </div>
      )}
      {status === 'superseded' && (
        <p className="deployment-note">A newer deployment took its place before it began.</p>
      )}
      {status === 'canceled' && <p className="deployment-note">Somebody canceled it.</p>}
    </div>
  );
}

function DeploymentFacts({ deployment }: { deployment: Deployment }) {
  const { createdAt, commitSha, commitAuthor, id } = deployment;
  return (
    <Facts
      facts={[
        ['Began', <RelativeTime key="began" at={createdAt} />],
        ['Took', <Duration key="took" deployment={deployment} />],
        ['Cause', triggerOf(deployment)],
        ...(commitSha === null
          ? []
          : ([['Commit', <CommitLine key="commit" deployment={deployment} />]] as const)),
        ...(commitAuthor === null
          ? []
          : ([['Author', <bdi key="author">{commitAuthor}</bdi>]] as const)),
        ['Id', <code key="id">{id}</code>],
      ]}
    />
  );
}
