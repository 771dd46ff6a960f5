/**
 * Owns the steps of one deployment that has its build slot: fetch the source, build it, start it, switch
 * the traffic, remove what is outdated.
 *
 * 1. The actor journals every step before the next begins. After a crash the same function runs again and
 *    continues: it unpacks again, and takes up a running build job, its exit code, or an instance that was
 *    being started.
 * 2. A deployment ends as ready, failed or canceled, or is left to the next activation. Each step has a
 *    deadline, and a cancel ends what runs.
 */
import type { GitCommit } from '../../../git/fetching/commit.ts';
import type { AppRecord, DeploymentRecord, ReleasePlan } from '../../../store/records/records.ts';
import { tables } from '../../../store/records/tables.ts';
import { bringUp } from './bring-up.ts';
import { isExpected, sentenceOf, WorkFailed } from '../../workload/work-failed.ts';
import { buildRelease } from '../build/build-release.ts';
import { keepLiveSource } from '../build/fetch-source.ts';
import type { AppCore } from '../core.ts';
import { sourceBlob } from '../settings/git-source.ts';
import { isAborted, reach } from '../../workload/reach.ts';
import { awaitDatabases } from '../settings/variables.ts';

/** What the actor journals of a deployment. Called in reports. A finished deployment does not change. */
export interface DeploymentSteps {
  /** Leaves the queue. Null when the deployment may not begin now (it is canceled, or an upload runs). */
  begin(deploymentId: string): { app: AppRecord; deployment: DeploymentRecord } | null;
  change(deploymentId: string, patch: Partial<DeploymentRecord>): void;
  finish(deploymentId: string, status: 'ready' | 'failed', error: string | null): void;
}

interface Way {
  core: AppCore;
  steps: DeploymentSteps;
  deployment: DeploymentRecord;
  /** Aborts on a cancel and at the end of this activation. */
  signal: AbortSignal;
  say: (line: string) => void;
}

export const canceledLine = 'Canceled.';
const liveLine = 'The newest commit of the branch is live already.';

/**
 * Never rejects. Resolves when the deployment is finished, must wait, or the activation ends. A deployment
 * that was queued brings its build slot.
 */
export async function runDeployment(
  core: AppCore,
  steps: DeploymentSteps,
  deploymentId: string,
  cancel: AbortSignal,
  giveBack?: () => void,
): Promise<void> {
  const { streams, logger } = core.deps;
  const life = core.context.signal;
  const signal = AbortSignal.any([life, cancel]);
  const log = `build:${deploymentId}` as const;
  const say = (line: string): void => streams.write(log, `${line}\n`);
  try {
    const finished = await carryOut({ core, steps, signal, say }, deploymentId, giveBack);
    if (finished) streams.end(log);
  } catch (thrown) {
    // The next activation continues from what is journaled.
    if (isAborted(life)) return;
    try {
      const error = cancel.aborted ? null : reasonOf(core, thrown);
      await giveUp({ core, steps, signal, say }, deploymentId, error);
      streams.end(log);
    } catch (error) {
      if (!isAborted(life)) logger.error({ deployment: deploymentId, err: error }, 'deploy_stuck');
    }
  } finally {
    giveBack?.();
  }
}

/** False when the deployment has to wait in the queue. */
async function carryOut(
  way: Omit<Way, 'deployment'>,
  deploymentId: string,
  slot?: () => void,
): Promise<boolean> {
  const { core, steps, say } = way;
  const { buildQueue, logger } = core.deps;
  const open = core.open.find(({ id }) => id === deploymentId);
  if (open === undefined) return false;
  if (open.status !== 'queued') say('The service was restarted. Going on.');
  const giveBack = slot ?? (open.status === 'building' ? buildQueue.adopt() : undefined);
  let { deployment }: { deployment: DeploymentRecord } = { deployment: open };
  try {
    const begun = await core.context.report(() => steps.begin(deploymentId));
    if (begun === null) return false;
    logger.info({ app: core.id, deployment: deploymentId }, 'deployment_begun');
    deployment = begun.deployment;
    if (deployment.status === 'building')
      deployment = await build({ ...way, deployment }, begun.app);
  } finally {
    giveBack?.();
  }
  await start({ ...way, deployment });
  return true;
}

async function build(way: Way, app: AppRecord): Promise<DeploymentRecord> {
  const { core, steps, deployment, signal, say } = way;
  await reach(core.deps.clock, signal, async () => {
    const files = await core.files();
    await files.ensure();
    await files.keepReleases(keptReleases(core, deployment.id));
  });
  const { healthTimeoutMs: timeoutMs } = core.deps.options;
  await awaitDatabases(core.deps, app, { timeoutMs, say, signal });
  const planned = (plan: ReleasePlan, buildJob: string | null): Promise<void> =>
    core.context.report(() => steps.change(deployment.id, { plan, buildJob }));
  const committed = ({ sha, author, message }: GitCommit): Promise<void> => {
    const branch = deployment.branch ?? app.git?.branch ?? null;
    const commit = { commitSha: sha, commitAuthor: author, commitMessage: message, branch };
    return core.context.report(() => steps.change(deployment.id, commit));
  };
  const plan = await buildRelease({ core, app, deployment, signal, say, planned, committed });
  const { id: deploymentId } = deployment;
  const release = deployment.release ?? deploymentId;
  await core.context.report(() =>
    steps.change(deploymentId, { plan, release, status: 'starting' }),
  );
  signal.throwIfAborted();
  const { buildJob } = core.deployment(deploymentId) ?? deployment;
  if (buildJob !== null) await removeJob(core, buildJob);
  return { ...deployment, plan, buildJob, release };
}

async function start({ core, steps, deployment, signal, say }: Way): Promise<void> {
  const { id: deploymentId, plan } = deployment;
  const release = deployment.release ?? deploymentId;
  if (core.record?.run.live?.deploymentId !== deploymentId) {
    if (plan === null) throw new WorkFailed('It is not known how this release starts.');
    await bringUp(core, { deploymentId, release, plan, say, tellsLastWords: true, signal });
  }
  // The traffic is switched before anybody reads `ready`.
  if (!(await core.route())) say('The edge is not reached; the traffic follows when it is.');
  await core.context.report(() => steps.finish(deploymentId, 'ready', null));
  say('Ready.');
  await dropOutdated(core);
}

async function dropOutdated(core: AppCore): Promise<void> {
  const { driver, logger } = core.deps;
  try {
    await (await core.files()).keepReleases(keptReleases(core));
    if (core.record?.source === 'GIT') await keepLiveSource(core);
    await driver.images?.keep(core.id, keptImages(core));
  } catch (error) {
    logger.warn({ app: core.id, err: error }, 'releases_not_removed');
  }
}

async function giveUp(
  { core, steps, say }: Omit<Way, 'deployment'>,
  deploymentId: string,
  error: string | null,
): Promise<void> {
  const before = core.deployment(deploymentId);
  const ended = before?.status === 'superseded' ? liveLine : canceledLine;
  say(error === null ? ended : `Failed: ${error}`);
  if (error !== null) {
    await core.context.report(() => steps.finish(deploymentId, 'failed', error));
  }
  if (before === undefined) return;
  if (before.buildJob !== null) await removeJob(core, before.buildJob);
  if (before.rollbackOf !== null) return;
  await core.removeRelease(deploymentId);
  if (core.record?.source === 'GIT') core.removeUpload(sourceBlob(before));
}

async function removeJob(core: AppCore, buildJob: string): Promise<void> {
  const { driver, clock, logger } = core.deps;
  try {
    await reach(clock, core.context.signal, () => driver.remove(buildJob));
  } catch (error) {
    // The next look through the driver finds and removes a workload that is left over.
    if (!core.context.signal.aborted) {
      logger.warn({ workload: buildJob, err: error }, 'workload_not_removed');
    }
  }
}

function keptReleases(core: AppCore, building?: string): Set<string> {
  const names = withRelease(core).flatMap(({ release }) => release ?? []);
  return new Set(building === undefined ? names : [...names, building]);
}

function keptImages(core: AppCore): Set<string> {
  const images = withRelease(core).flatMap(({ plan }) => [
    ...(plan?.image ? [plan.image] : []),
    ...Object.values(plan?.stack?.images ?? {}),
  ]);
  return new Set(images.map(({ name }) => name));
}

function withRelease(core: AppCore): Readonly<DeploymentRecord>[] {
  const { reader } = core.deps;
  const deployments = reader.list(tables.deployments, 'app', [core.id], { reverse: true });
  return [...deployments, ...core.open].filter(({ release }) => release !== null);
}

function reasonOf(core: AppCore, thrown: unknown): string {
  if (!isExpected(thrown)) {
    core.deps.logger.error({ app: core.id, err: thrown }, 'deployment_broke');
  }
  return sentenceOf(thrown);
}
