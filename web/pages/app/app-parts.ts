/** Owns what every page of an app asks for about it, and the pages that an app has. */
import { graphql, type ResultOf } from '../../api/graphql.ts';
import type { Capability } from '../../shell/session.ts';

export const DeploymentState = graphql(`
  fragment DeploymentState on Deployment {
    id
    appId
    status
    trigger
    branch
    commitSha
    commitMessage
    commitAuthor
    error
    queuePosition
    canRollback
    createdAt
    startedAt
    finishedAt
    url
  }
`);

export const AppHead = graphql(
  `
    fragment AppHead on App {
      id
      name
      slug
      source
      status
      url
      capabilities
      previewOf
      upload {
        uploadedAt
      }
      latestDeployment {
        ...DeploymentState
      }
    }
  `,
  [DeploymentState],
);

export const AppHeadQuery = graphql(
  `
    query AppHead($id: ID!) {
      app(id: $id) {
        ...AppHead
      }
    }
  `,
  [AppHead],
);

export type App = ResultOf<typeof AppHead>;
export type Deployment = ResultOf<typeof DeploymentState>;

export function mayOn({ capabilities }: Pick<App, 'capabilities'>, need: Capability): boolean {
  return capabilities.includes(need);
}

interface AppTab {
  /** Behind `/apps/<id>`; '' is the overview. */
  readonly path: string;
  readonly label: string;
  /** Absent: for whoever sees the app. */
  readonly needs?: Capability;
  /** Absent: of every app. */
  readonly of?: (app: App) => boolean;
}

/** In the order they are shown. */
export const appTabs: readonly AppTab[] = [
  { path: '', label: 'Overview' },
  { path: '/deployments', label: 'Deployments' },
  { path: '/log', label: 'Log', needs: 'view_logs' },
  { path: '/metrics', label: 'Metrics', needs: 'view_metrics' },
  { path: '/console', label: 'Console', needs: 'open_app_console' },
  { path: '/git', label: 'Git', of: (app) => app.source === 'GIT' && isWhole(app) },
  { path: '/environment', label: 'Environment', needs: 'manage_env', of: isWhole },
  { path: '/domains', label: 'Domains', of: isWhole },
  { path: '/settings', label: 'Settings', of: isWhole },
];

/** Whether it is no preview, which has nothing of these of its own. */
function isWhole({ previewOf }: App): boolean {
  return previewOf === null;
}

export const isUnderWay = ({ status }: Pick<Deployment, 'status'>): boolean =>
  status === 'queued' || status === 'building' || status === 'starting';
