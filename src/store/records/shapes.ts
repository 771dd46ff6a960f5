/**
 * Owns the shapes of records that are stored without the names of their fields. The names stand
 * here once, instead of in every record.
 *
 * 1. Stored records name a shape by its place in `shapes`. So a shape is never changed, moved or
 *    removed. A record that gets another field gets another shape, at the end of the list.
 * 2. A record without a shape is stored with its names, as every record was before version 2 of the
 *    store.
 */
import type * as stored from './records.ts';
import type { Resources } from '../../protocol/workload.ts';

type Shape = readonly string[];

/**
 * The names of all fields of `R` in the order in which they are stored. A missing one is a type
 * error.
 */
function shapeOf<R>() {
  return <const K extends readonly (keyof R & string)[]>(
    ...keys: Exclude<keyof R, K[number]> extends never ? K : never
  ): Shape => keys;
}

// A preview is stored with its names, and so is what has domains, settings of the edge or a move.
// prettier-ignore
const app = shapeOf<Omit<stored.AppRecord, 'previewOf' | 'hosts' | 'edge' | 'move'>>()(
  'id', 'teamId', 'slug', 'name', 'source', 'status', 'folderId', 'serverId', 'upload', 'git',
  'image', 'compose', 'build', 'resources', 'previewBranches', 'autoDeploy', 'deployHookEnabled',
  'hookHash', 'hookSealed', 'latestDeploymentId', 'liveDeploymentId', 'run', 'desired', 'uid',
  'createdAtMs', 'updatedAtMs', 'deletedAtMs',
);
// prettier-ignore
const upload = shapeOf<stored.StoredUpload>()(
  'filename', 'sizeBytes', 'sha256', 'format', 'uploadedAtMs', 'blob',
);
// prettier-ignore
const build = shapeOf<stored.BuildConfig>()(
  'buildCommand', 'startCommand', 'dockerfile', 'outputDir', 'nodeVersion', 'port', 'healthPath',
);
const resources = shapeOf<Resources>()('memoryMb', 'cpus', 'pids', 'replicas');
const run = shapeOf<Omit<stored.AppRun, 'crashes' | 'volumes' | 'volumesBefore'>>()(
  'seq',
  'live',
  'next',
  'draining',
  'crashing',
);
// prettier-ignore
const instance = shapeOf<Omit<stored.Instance, 'targetPort' | 'image' | 'service' | 'parts'>>()(
  'deploymentId', 'workloadId', 'host', 'port', 'startedAtMs',
);
// One that waits for its build, or is of a commit, is stored with its names.
// prettier-ignore
const deployment = shapeOf<
  Omit<stored.DeploymentRecord, 'buildTurn' | 'commitAuthor' | 'unlessLive'>
>()(
  'id', 'appId', 'teamId', 'status', 'trigger', 'url', 'commitSha', 'commitMessage', 'branch',
  'error', 'upload', 'rollbackOf', 'release', 'plan', 'buildJob', 'createdAtMs', 'startedAtMs',
  'finishedAtMs',
);
// A plan or an instance with an image is stored with its names: there are few.
const plan = shapeOf<Omit<stored.ReleasePlan, 'image' | 'stack'>>()(
  'kind',
  'startCommand',
  'staticDir',
);
// prettier-ignore
const activity = shapeOf<stored.ActivityRecord>()(
  'id', 'teamId', 'atMs', 'actor', 'action', 'target', 'details',
);
const byToken = ['userId', 'tokenId', 'targetId', 'address', 'userAgent'];
const byPerson = ['userId', 'targetId', 'address', 'userAgent'];
// Of a table that is gone: it keeps its place.
// prettier-ignore
const segment = [
  'log', 'generation', 'firstOffset', 'firstAtMs', 'lastAtMs', 'lines', 'sizeBytes', 'file',
];
const alarm = shapeOf<stored.AlarmRecord>()('actor', 'name', 'atMs', 'message');
const sighting = shapeOf<stored.SightingRecord>()('sessionId', 'userId', 'lastSeenAtMs');
// prettier-ignore
const env = shapeOf<Omit<stored.EnvRecord, 'refersTo'>>()(
  'id', 'appId', 'key', 'isSecret', 'value', 'sealed', 'masked', 'targets', 'updatedAtMs',
);
const member = shapeOf<stored.MemberRecord>()('teamId', 'userId', 'roleId', 'joinedAtMs');
// prettier-ignore
const token = shapeOf<Omit<stored.TokenRecord, 'oauth'>>()(
  'id', 'name', 'userId', 'hash', 'prefix', 'capabilities', 'allTeams', 'teamIds', 'folderIds',
  'appIds', 'databaseIds', 'homeTeamId', 'createdAtMs', 'lastUsedAtMs', 'expiresAtMs',
);

/** In the order of their numbers (promise 1). */
// prettier-ignore
export const shapes: readonly Shape[] = [
  app, upload, build, resources, run, instance, deployment, plan, activity, byToken, byPerson,
  segment, alarm, sighting, env, member, token,
];

/** The shape of a table's records, for those whose fields come in another order. */
export const shapesOfTables: Readonly<Partial<Record<string, Shape>>> = {
  apps: app,
  deployments: deployment,
  activity,
  alarms: alarm,
  sightings: sighting,
  env,
  members: member,
  tokens: token,
};
