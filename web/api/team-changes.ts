/**
 * Owns what the tab does with what it is told of its team. The objects that come along change whatever shows
 * them by themselves; here is said which lists are asked for anew, and what is gone.
 */
import type { Cache, UpdateResolver } from '@urql/exchange-graphcache';
import { graphql, type ResultOf } from './graphql.ts';

export const TeamChanges = graphql(`
  subscription TeamChanges($since: Float!) {
    teamChanges(since: $since) {
      kind
      id
      app {
        id
        name
        slug
        status
        url
        urls
        folderId
        updatedAt
        restarts
        autoDeploy
        deployHookEnabled
        previewOf
        source
        image
        previewBranches
        git {
          connectionId
          repository
          branch
          path
          submodules
          watchPaths
        }
        build {
          buildCommand
          startCommand
          outputDir
          dockerfile
          healthPath
          nodeVersion
          port
        }
        resources {
          cpus
          memoryMb
          pids
          replicas
        }
        edge {
          maintenance
          maintenanceText
          accessLog
          maxBodyMb
          maxConnections
          idleSeconds
          totalSeconds
          hsts
        }
        upload {
          filename
          size
          uploadedAt
        }
        containers {
          name
          image
          state
          startedAt
        }
        latestDeployment {
          id
          status
          createdAt
          commitMessage
        }
      }
      database {
        id
        name
        status
        error
        version
        folderId
        updatedAt
        connectionStringMasked
      }
      deployment {
        id
        appId
        status
        error
        url
        queuePosition
        canRollback
        createdAt
        startedAt
        finishedAt
        commitSha
        commitMessage
      }
      backupRun {
        id
        appId
        databaseId
        status
        error
        progressBytes
        sizeBytes
        finishedAt
        verifiedAt
      }
      restoreRun {
        id
        status
        error
        finishedAt
        log
      }
    }
  }
`);

type Change = ResultOf<typeof TeamChanges>['teamChanges'];

/** Lists of the root that depend on things of a kind. */
const lists: Readonly<Record<string, readonly string[]>> = {
  backupSchedule: ['backupSchedules'],
  destination: ['backupDestinations'],
  gitConnection: ['gitConnections'],
  gitDelivery: ['gitDeliveries'],
  registry: ['registries'],
  invite: ['invites'],
  env: ['env'],
  preview: ['previews'],
  trash: ['trash', 'apps', 'databases'],
  folder: ['folders', 'folderGrants'],
  member: ['members', 'invites', 'viewerTeam', 'myTeams'],
  role: ['roles', 'members', 'viewerTeam'],
  team: ['viewerTeam', 'myTeams', 'mcpSettings'],
};

/** Makes fields of the root be asked for anew, where a page shows them; without names all of them. */
export function refetch(cache: Cache, names?: readonly string[]): void {
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (names?.includes(fieldName) !== false) cache.invalidate('Query', fieldName, args);
  }
}

/** What is told of queries that are under way, or failed. */
export interface Asked {
  /** These fields have changed; without names all of them. */
  mark: (names?: readonly string[]) => void;
  /** The server is reached. */
  reached: () => void;
}

/** For one cache. What changed while nobody told us, the server says by `refetch` behind `ready`. */
export function follow({ mark, reached }: Asked): UpdateResolver {
  const anew: Anew = (cache, names) => {
    if (names?.length === 0) return;
    refetch(cache, names);
    mark(names);
  };
  return (result, _args, cache) => {
    const change = result['teamChanges'] as unknown as Change;
    if (change.kind === 'ready') reached();
    else if (change.kind === 'refetch') anew(cache);
    else apply(change, cache, anew);
  };
}

type Anew = typeof refetch;

function apply(change: Change, cache: Cache, anew: Anew): void {
  const { kind, id, app, database, deployment, backupRun } = change;
  anew(cache, lists[kind] ?? []);
  switch (kind) {
    case 'app':
      if (app !== null) forgetLarge(cache, app);
      if (app === null) gone(cache, anew, 'App', id, 'apps');
      // It stands in no list of apps; its state is that of the preview.
      else if (app.previewOf !== null) anew(cache, ['previews']);
      else if (!isListed(cache, `App:${id}`, 'Query', 'apps')) anew(cache, ['apps']);
      break;
    case 'database':
      if (database === null) gone(cache, anew, 'Database', id, 'databases');
      else if (!isListed(cache, `Database:${id}`, 'Query', 'databases')) {
        anew(cache, ['databases']);
      }
      break;
    case 'deployment':
      if (deployment !== null) listAnew(cache, `Deployment:${id}`, `App:${deployment.appId}`);
      break;
    case 'backupRun':
      if (backupRun === null) gone(cache, anew, 'BackupRun', id, 'backupRuns');
      else if (!isListed(cache, `BackupRun:${id}`, 'Query', 'backupRuns')) {
        anew(cache, ['backupRuns']);
      }
      break;
    case 'env':
      // Which apps refer to a database stands in their variables.
      for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
        const database = fieldName === 'database' && cache.resolve('Query', fieldName, args);
        if (typeof database === 'string') cache.invalidate(database, 'usedBy');
      }
      break;
    case 'domain':
      if (app !== null) cache.invalidate({ __typename: 'App', id: app.id }, 'domains');
      break;
  }
}

function gone(cache: Cache, anew: Anew, type: string, id: string, list: string): void {
  cache.invalidate({ __typename: type, id });
  anew(cache, [list, 'trash']);
}

/** What is not told, since it may be large, is asked for anew where a page shows it. */
function forgetLarge(cache: Cache, { id, source, restarts }: NonNullable<Change['app']>): void {
  if (source === 'COMPOSE') cache.invalidate({ __typename: 'App', id }, 'compose');
  if (restarts > 0) cache.invalidate({ __typename: 'App', id }, 'lastExit');
}

/** Asks for the lists of deployments of an app anew that lack this one. */
function listAnew(cache: Cache, key: string, app: string): void {
  if (isListed(cache, key, app, 'deployments')) return;
  for (const { fieldName, arguments: args } of cache.inspectFields(app)) {
    if (fieldName === 'deployments') cache.invalidate(app, fieldName, args);
  }
}

/** Whether a list that is cached holds it. Where no list is, one may be under way. */
function isListed(cache: Cache, key: string, parent: string, field: string): boolean {
  const found = cache.inspectFields(parent).filter(({ fieldName }) => fieldName === field);
  return found.some(({ arguments: args }) => {
    const value = cache.resolve(parent, field, args);
    const nodes = typeof value === 'string' ? cache.resolve(value, 'nodes') : value;
    return Array.isArray(nodes) && nodes.includes(key);
  });
}
