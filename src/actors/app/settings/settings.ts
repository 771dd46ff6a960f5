/** Owns making an app and changing its settings. */
import { ServiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { AppRecord, EnvRecord } from '../../../store/records/records.ts';
import { type Change, insert } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { AppCore } from '../core.ts';
import { edgeSettingsOf } from '../../../protocol/app-edge-settings.ts';
import { newHookToken } from '../deploying/hook-token.ts';
import { type AppPatch, type Handlers, type NewApp } from '../protocol.ts';
import { checkSourceRuns } from '../deploying/runtime-fit.ts';
import { checkEdge } from './edge.ts';
import { labelMax, slugAttempt, slugOf } from './slug.ts';
import {
  bad,
  checkBuild,
  checkCompose,
  checkGit,
  checkGitRemote,
  checkImage,
  checkName,
  checkFolder,
  checkServer,
  checkPreviewBranches,
  checkResources,
  checkSourceFields,
  replicasMaxOf,
  checkSource,
  emptyBuild,
  emptyResources,
} from './validate.ts';
import { checkEntries, checkTotal, toRecord, valueOf } from './variables.ts';

/** `changed` is called after every change of them. */
export function settingsHandlers(core: AppCore, changed: () => void) {
  return {
    create: ({ app }) => create(core, app),
    update: async ({ patch }) => {
      const checked = checkPatch(core, core.require(), patch);
      if (checked.compose != null) await checkStackFile(core, checked.compose, core.env);
      const saved = core.save(checked);
      changed();
      return saved;
    },
  } satisfies Handlers;
}

async function create(core: AppCore, input: NewApp): Promise<AppRecord> {
  if (core.record !== null) throw new ServiceError('CONFLICT', 'This app exists.');
  const base = newRecord(core, input);
  const { deps } = core;
  const nowMs = deps.clock.now();
  const env = checkEntries(input.env).map((entry) =>
    toRecord(deps.secrets, core.id, newId('env', nowMs), entry, nowMs),
  );
  checkTotal(deps.secrets, env);
  if (base.compose !== null) await checkStackFile(core, base.compose, env);
  return insertApp(
    core,
    base,
    env.map((one) => insert(tables.env, one)),
  );
}

/** Commits the record of a new app, with a slug that is free. */
export async function insertApp(
  core: AppCore,
  base: AppRecord,
  changes: readonly Change[] = [],
): Promise<AppRecord> {
  const { reader } = core.deps;
  const { isPanelHost, hostOf } = core.deps.options;
  const isTaken = (slug: string): boolean =>
    reader.count(tables.apps, 'slug', [slug]) > 0 || isPanelHost(hostOf(slug));
  const max = base.previewOf === undefined ? undefined : labelMax;
  let { slug } = base;
  const recordFor = (past: number): AppRecord => {
    // The app keeps its slug while it waits for the commit, unless somebody takes that slug.
    const attempt = (number: number): string => slugAttempt(base.slug, number, max);
    slug = freeSlug(attempt, isTaken(slug) ? past : 0, isTaken);
    return { ...base, slug };
  };
  const record = await core.create(recordFor, changes);
  void core.route();
  return record;
}

/** The record of a new app, whose slug may be taken. */
export function newRecord(core: AppCore, input: NewApp): AppRecord {
  const nowMs = core.deps.clock.now();
  const name = checkName(input.name);
  checkFolder(core.deps.reader, input);
  const serverId = checkServer(core.deps.reader, input.serverId);
  core.goTo(serverId);
  const source = checkSource(input);
  if (source.git !== null) checkGitRemote(core.deps, input.teamId, source.git);
  // A source that no deployment could run is refused.
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
    serverId,
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
  checkSourceFields(app.source, patch, false);
  const { teamId } = app;
  const { folderId } = patch;
  if (folderId !== undefined) checkFolder(core.deps.reader, { teamId, folderId });
  const git = patch.git && checkGit(patch.git);
  if (git) checkGitRemote(core.deps, teamId, git);
  return {
    ...(patch.name !== undefined && { name: checkName(patch.name) }),
    ...(folderId !== undefined && { folderId }),
    ...(patch.autoDeploy !== undefined && { autoDeploy: patch.autoDeploy }),
    ...(patch.build !== undefined && { build: checkBuild(app.build, patch.build) }),
    ...(git && { git }),
    ...(patch.image !== undefined && { image: checkImage(patch.image) }),
    ...(patch.compose !== undefined && { compose: checkCompose(patch.compose) }),
    ...(patch.resources !== undefined && {
      resources: checkResources(app.resources, patch.resources, replicasMaxOf(core.deps.driver)),
    }),
    ...(patch.edge !== undefined && { edge: checkEdge(edgeSettingsOf(app.edge), patch.edge) }),
    ...(patch.previewBranches !== undefined && {
      previewBranches: checkPreviewBranches(patch.previewBranches),
    }),
  };
}

/** Refuses at once what a deployment would refuse. The deployment checks again with its own variables. */
async function checkStackFile(
  core: AppCore,
  compose: string,
  env: readonly Readonly<EnvRecord>[],
): Promise<void> {
  // A reference to a database stays a reference: its value is not needed for a check.
  const wanted = env.filter(({ targets }) => targets.includes('production'));
  const values = wanted.map((record) => [record.key, valueOf(core.deps.secrets, record)]);
  const variables = Object.fromEntries(values) as Record<string, string>;
  // Few instances have a compose file, and the YAML parser is large.
  const { checkAllowed } = await import('../compose/stack.ts');
  try {
    await checkAllowed(compose, variables);
  } catch (error) {
    throw error instanceof WorkFailed ? bad(error.message) : error;
  }
}

function freeSlug(
  attempt: (number: number) => string,
  past: number,
  isTaken: (slug: string) => boolean,
): string {
  const attemptAt = (number: number): string => attempt(number + past);
  return attemptAt(firstFree((number) => !isTaken(attemptAt(number))));
}

/**
 * A free number, by doubling and bisection, because thousands of apps may have the same name. It is the
 * first free one from 1 on if there are no gaps, else a later one.
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
