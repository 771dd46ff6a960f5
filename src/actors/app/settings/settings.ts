/** Owns making an app and changing its settings. */
import { ServiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { AppRecord, EnvRecord } from '../../../store/records/records.ts';
import { insert } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { AppCore } from '../core.ts';
import { localServerId } from '../../workload/deps.ts';
import { newHookToken } from '../deploying/hook-token.ts';
import type { Handlers } from '../internal.ts';
import type { AppPatch, NewApp } from '../protocol.ts';
import { checkSourceRuns } from '../deploying/runtime-fit.ts';
import { slugAttempt, slugOf } from './slug.ts';
import {
  bad,
  checkBuild,
  checkCompose,
  checkGit,
  checkImage,
  checkName,
  checkPreviewBranches,
  checkResources,
  replicasMaxOf,
  checkSource,
  emptyBuild,
  emptyResources,
} from './validate.ts';
import { checkEntries, checkTotal, toRecord, valueOf } from './variables.ts';

// Others may take the slug or the uid between the look and the commit.
const attemptsMax = 50;
/** So often the next free one is tried; then each app of a crowd looks in a place of its own. */
const attemptsInOrder = 8;
const spreadBitsMax = 12;

export function settingsHandlers(core: AppCore): Handlers<'create' | 'update'> {
  return {
    create: ({ app }) => create(core, app),
    update: async ({ patch }) => {
      const checked = checkPatch(core, core.require(), patch);
      if (checked.compose != null) await checkStackFile(core, checked.compose, core.env);
      return core.save(checked);
    },
  };
}

async function create(core: AppCore, input: NewApp): Promise<AppRecord> {
  if (core.record !== null) throw new ServiceError('CONFLICT', 'This app exists.');
  const { context, deps } = core;
  const nowMs = deps.clock.now();
  const base = newRecord(core, input, nowMs);
  const env = checkEntries(input.env).map((entry) =>
    toRecord(deps.secrets, core.id, newId('env', nowMs), entry, nowMs),
  );
  checkTotal(deps.secrets, env);
  if (base.compose !== null) await checkStackFile(core, base.compose, env);
  const variables = env.map((record) => insert(tables.env, record));
  let slugTaken = false;
  for (let attempt = 1; ; attempt++) {
    const past = placesPast(core.id, attempt);
    const slug = freeSlug(core, base.slug, slugTaken ? past : 0);
    const uid = await deps.uids.next(past);
    const record = { ...base, slug, uid };
    try {
      await context.commit([insert(tables.apps, record), ...variables]);
      core.adopt(record);
      void core.route();
      return record;
    } catch (error) {
      deps.uids.giveBack(uid);
      const refused = error instanceof ServiceError && error.code === 'CONFLICT';
      if (!refused || attempt >= attemptsMax) throw error;
      slugTaken = deps.reader.find(tables.apps, 'slug', [slug]) !== undefined;
    }
  }
}

/** How many free places an app leaves to others that are made at the same time. */
function placesPast(appId: string, attempt: number): number {
  if (attempt <= attemptsInOrder) return 0;
  const chance = Buffer.from(appId).reduce((sum, byte) => (sum * 31 + byte) % 65_521, 7);
  return chance % 2 ** Math.min(attempt, spreadBitsMax);
}

function newRecord(core: AppCore, input: NewApp, nowMs: number): AppRecord {
  const name = checkName(input.name);
  if (input.serverId !== null && input.serverId !== localServerId) {
    throw bad('serverId names no server of this instance.');
  }
  checkFolder(core, input.teamId, input.folderId);
  const source = checkSource(input);
  // What no deployment could ever run is not made.
  checkSourceRuns(input.source, core.deps.driver);
  const { hookHash, hookSealed } = newHookToken(core.deps.secrets, core.id);
  return {
    id: core.id,
    teamId: input.teamId,
    slug: slugOf(name),
    name,
    source: input.source,
    status: 'idle',
    folderId: input.folderId,
    serverId: localServerId,
    upload: null,
    ...source,
    build: checkBuild(emptyBuild, input.build),
    resources: checkResources(emptyResources, input.resources, replicasMaxOf(core.deps.driver)),
    previewBranches: [],
    autoDeploy: true,
    deployHookEnabled: true,
    hookHash,
    hookSealed,
    latestDeploymentId: null,
    liveDeploymentId: null,
    run: { seq: 0, live: null, next: null, draining: [], crashing: false },
    desired: 'stopped',
    uid: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    deletedAtMs: null,
  };
}

function checkPatch(core: AppCore, app: AppRecord, patch: AppPatch): Partial<AppRecord> {
  for (const [field, source] of [
    ['git', 'GIT'],
    ['image', 'IMAGE'],
    ['compose', 'COMPOSE'],
  ] as const) {
    if (patch[field] !== undefined && app.source !== source) {
      throw bad(`An app with source ${app.source} has no ${field}.`);
    }
  }
  if (patch.folderId !== undefined) checkFolder(core, app.teamId, patch.folderId);
  return {
    ...(patch.name !== undefined && { name: checkName(patch.name) }),
    ...(patch.folderId !== undefined && { folderId: patch.folderId }),
    ...(patch.autoDeploy !== undefined && { autoDeploy: patch.autoDeploy }),
    ...(patch.build !== undefined && { build: checkBuild(app.build, patch.build) }),
    ...(patch.git !== undefined && { git: checkGit(patch.git) }),
    ...(patch.image !== undefined && { image: checkImage(patch.image) }),
    ...(patch.compose !== undefined && { compose: checkCompose(patch.compose) }),
    ...(patch.resources !== undefined && {
      resources: checkResources(app.resources, patch.resources, replicasMaxOf(core.deps.driver)),
    }),
    ...(patch.previewBranches !== undefined && {
      previewBranches: checkPreviewBranches(patch.previewBranches),
    }),
  };
}

/** What a deployment would refuse is refused at once; it looks again with the variables of then. */
async function checkStackFile(
  core: AppCore,
  compose: string,
  env: readonly Readonly<EnvRecord>[],
): Promise<void> {
  // A reference to a database stays one: what it stands for has no place in a check.
  const wanted = env.filter(({ targets }) => targets.includes('production'));
  const values = wanted.map((record) => [record.key, valueOf(core.deps.secrets, record)]);
  const variables = Object.fromEntries(values) as Record<string, string>;
  // Few instances have a compose file, and what reads one is large.
  const { checkAllowed } = await import('../compose/stack.ts');
  try {
    await checkAllowed(compose, variables);
  } catch (error) {
    throw error instanceof WorkFailed ? bad(error.message) : error;
  }
}

function checkFolder(core: AppCore, teamId: string, folderId: string | null): void {
  if (folderId === null) return;
  const folder = core.deps.reader.get(tables.folders, folderId);
  if (folder?.teamId !== teamId) throw bad('folderId names no folder of the team.');
}

function freeSlug({ deps }: AppCore, slug: string, past: number): string {
  const attemptAt = (number: number): string => slugAttempt(slug, number + past);
  const number = firstFree((at) => deps.reader.count(tables.apps, 'slug', [attemptAt(at)]) === 0);
  return attemptAt(number);
}

/**
 * The first number from 1 on that is free, where they are taken in order; a later one that is free
 * where there are gaps. Apps of one name by the thousand are not tried one by one.
 */
function firstFree(isFree: (number: number) => boolean): number {
  let high = 1;
  while (!isFree(high)) high *= 2;
  let low = Math.floor(high / 2);
  // `low` is taken, or 0; `high` is free.
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (isFree(middle)) high = middle;
    else low = middle;
  }
  return high;
}
