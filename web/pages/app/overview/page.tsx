/** The first page of an app: whether it is well, what is live, how it last ended, and what to do next. */
import { useQuery, type UseQueryResponse } from 'urql';
import { Link } from 'wouter';
import { graphql, type ResultOf, type VariablesOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { lastWritten, plainLine } from '../../../ui/line-parts.ts';
import { EmptyState, Facts, Section, Skeleton } from '../../../ui/page.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';
import { StatusDot } from '../../../ui/status.tsx';
import { sizeInWords } from '../../new-app/chosen.ts';
import { type App, mayOn } from '../app-parts.ts';
import { CommitLine, Duration, titleOf, triggerOf } from '../deployment-facts.tsx';
import { StateCell } from '../deployments/page.tsx';
import { AppFrame } from '../frame.tsx';
import { NewVersion } from './new-version.tsx';

const AppOverview = graphql(`
  query AppOverview($id: ID!) {
    app(id: $id) {
      id
      urls
      image
      restarts
      createdAt
      containers {
        name
        image
        state
        startedAt
      }
      lastExit {
        at
        code
        signal
        reason
        lastLines
      }
      git {
        repository
        branch
        path
      }
      upload {
        filename
        size
        uploadedAt
      }
    }
  }
`);

type Shown = NonNullable<ResultOf<typeof AppOverview>['app']>;

export function Page({ params: { id = '' } }: PageProps) {
  // Beside the frame's own query, not behind it.
  const query = useQuery({ query: AppOverview, variables: { id } });
  return <AppFrame id={id}>{(app) => <Overview app={app} query={query} />}</AppFrame>;
}

type Query = UseQueryResponse<ResultOf<typeof AppOverview>, VariablesOf<typeof AppOverview>>;

function Overview({ app, query: [{ data, error }, ask] }: { app: App; query: Query }) {
  const shown = data?.app;
  const again = (): void => ask({ requestPolicy: 'network-only' });
  if (error) return <ErrorNote error={error} retry={again} />;
  if (shown == null) return <Skeleton lines={5} look="rows" />;
  const mayUpload = app.source === 'UPLOAD' && mayOn(app, 'deploy_apps');
  return (
    <>
      <Latest app={app} shown={shown} />
      <div className="app-columns">
        <Section title="Runs">
          <Running app={app} shown={shown} />
        </Section>
        <Section title="About">
          <About app={app} shown={shown} />
        </Section>
      </div>
      {shown.lastExit !== null && <LastExit exit={shown.lastExit} />}
      {mayUpload && (
        <Section
          title={app.latestDeployment === null ? 'Code' : 'New version'}
          description="The folder is packed here in the browser, sent, and deployed."
          look="bare"
        >
          <NewVersion appId={app.id} />
        </Section>
      )}
    </>
  );
}

function Latest({ app, shown }: { app: App; shown: Shown }) {
  const { latestDeployment: latest } = app;
  if (latest === null) {
    if (app.source === 'GIT' && shown.git?.repository === 'push')
      return <PushHere app={app} shown={shown} />;
    return (
      <EmptyState icon="rocket" title="Nothing is deployed yet">
        {app.source === 'UPLOAD' && app.upload === null
          ? 'Drop the folder of its code below.'
          : mayOn(app, 'deploy_apps')
            ? 'Deploy it: the log of the build is shown while it is written.'
            : 'Somebody who may deploy apps has to do it first.'}
      </EmptyState>
    );
  }
  return (
    <Section title="Latest deployment">
      <div className="app-latest">
        <div className="app-deployment">
          <Link href={`/apps/${app.id}/deployments/${latest.id}`}>
            <bdi>{titleOf(latest)}</bdi>
          </Link>
          <span className="app-latest-facts">
            <CommitLine deployment={latest} />
            {latest.commitMessage !== null && <span>{triggerOf(latest)}</span>}
            <RelativeTime at={latest.createdAt} />
            {latest.startedAt !== null && (
              <span>
                took <Duration deployment={latest} />
              </span>
            )}
          </span>
        </div>
        <div>
          <StateCell deployment={latest} />
        </div>
        {latest.status === 'failed' && (
          <p className="app-why">
            {latest.error ?? 'It failed.'}{' '}
            <Link href={`/apps/${app.id}/deployments/${latest.id}`}>See its log</Link>
          </p>
        )}
      </div>
    </Section>
  );
}

function PushHere({ app, shown }: { app: App; shown: Shown }) {
  const branch = shown.git?.branch ?? 'main';
  const address = `${location.origin}/git/${app.slug}.git`;
  const commands = `git remote add gangway ${address}\ngit push gangway ${branch}`;
  return (
    <Section
      title="Push your code"
      description="Git asks for a password: an API token with the right to deploy apps. The user name does not matter."
      actions={<CopyButton text={commands} label="Copy the commands" />}
    >
      <pre className="app-commands" tabIndex={0}>
        {commands}
      </pre>
    </Section>
  );
}

function Running({ app, shown: { containers, restarts } }: { app: App; shown: Shown }) {
  if (containers.length === 0) {
    return (
      <p className="app-muted">
        {app.status === 'stopped' ? 'It is stopped. Its data stays.' : 'Nothing of it runs now.'}
      </p>
    );
  }
  return (
    <div>
      <ul className="app-containers">
        {containers.map(({ name, state, startedAt, image }) => (
          <li key={name}>
            <span>
              <StatusDot status={state} /> <bdi>{name}</bdi>
            </span>
            <span className="app-muted">
              {image ??
                (startedAt !== null && (
                  <>
                    since <RelativeTime at={startedAt} />
                  </>
                ))}
            </span>
          </li>
        ))}
      </ul>
      {restarts > 0 && (
        <p className="app-muted">
          It was started again {restarts === 1 ? 'once' : `${String(restarts)} times`} by itself
          since this release is live.
        </p>
      )}
    </div>
  );
}

const sources = { COMPOSE: 'Compose file', GIT: 'Git', IMAGE: 'Image', UPLOAD: 'Upload' } as const;

function About({ app, shown }: { app: App; shown: Shown }) {
  const { git, image, upload, urls, createdAt } = shown;
  return (
    <Facts
      facts={[
        ['Source', sources[app.source]],
        ...(git === null
          ? []
          : ([
              ['Repository', <bdi key="git">{`${git.repository} (${git.branch})`}</bdi>],
            ] as const)),
        ...(image === null ? [] : ([['Image', <code key="image">{image}</code>]] as const)),
        ...(upload === null
          ? []
          : ([
              ['Archive', <bdi key="up">{`${upload.filename}, ${sizeInWords(upload.size)}`}</bdi>],
            ] as const)),
        ...(urls.length > 1 ? ([['Addresses', String(urls.length)]] as const) : []),
        ['Made', <RelativeTime key="made" at={createdAt} />],
      ]}
    />
  );
}

const reasons: Readonly<Record<string, string>> = {
  exited: 'It ended by itself',
  killed: 'It was killed',
  out_of_memory: 'It had no memory left',
  unhealthy: 'It was ended as unhealthy',
};

function LastExit({ exit }: { exit: NonNullable<Shown['lastExit']> }) {
  const { reason, code, signal, at, lastLines } = exit;
  const how = signal ?? (code === null ? '' : `code ${String(code)}`);
  return (
    <Section
      title="Last end"
      description={
        <>
          {reasons[reason] ?? reason}
          {how !== '' && ` (${how})`}, <RelativeTime at={at} />. It is started again with growing
          pauses.
        </>
      }
      look="bare"
    >
      {lastLines.length > 0 && (
        <pre className="app-last-lines" tabIndex={0} aria-label="Its last lines">
          {lastLines.map((line) => plainLine(lastWritten(line))).join('\n')}
        </pre>
      )}
    </Section>
  );
}
