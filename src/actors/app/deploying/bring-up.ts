/**
 * Owns starting a release: name an instance, start it, wait until it is healthy, switch the traffic to it.
 * The previous instance serves until then. The instance is journaled before the driver hears of it, so that
 * it is found again after a crash.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { Instance } from '../../../store/records/records.ts';
import { lacksImage, lastWordsMs } from '../../workload/ends.ts';
import { loginsFor } from '../build/registry-logins.ts';
import type { AppCore } from '../core.ts';
import { endsBefore } from '../running/crashes.ts';
import { awaitHealth, checkAt } from '../running/health.ts';
import { goLive, nameNext } from '../running/instances.ts';
import { isAborted, reach } from '../../workload/reach.ts';
import { madeElsewhere, runsHere } from './runtime-fit.ts';
import { awaitRoom, checkStack, othersOf, stackOf, stackParts, startStack } from './stack-start.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { awaitDatabases } from '../settings/variables.ts';
import { innerPort, type Release, specOf } from '../running/workload-spec.ts';

export interface BringUp extends Release {
  deploymentId: string;
  /** Writes to the deployment's log. */
  say: (line: string) => void;
  /** Whether the last lines of an instance that fails are copied to that log. */
  tellsLastWords?: boolean;
  signal: AbortSignal;
}

// Another process can take the port between its choice and its use.
const portsTried = 3;
// Limits of the last lines of an instance.
const linesMax = 40;
const lineMaxBytes = 2048;
const notWanted = 'It is not wanted any more.';

/** Resolves when the new instance has the traffic. Rejects with WorkFailed, or when aborted. */
export async function bringUp(core: AppCore, options: BringUp): Promise<void> {
  try {
    await bringUpNext(core, options);
  } catch (error) {
    const { deploymentId, signal } = options;
    if (options.tellsLastWords === true && error instanceof WorkFailed && error.workloadId) {
      await tellLastWords(core, deploymentId, error.workloadId, signal);
    }
    throw error;
  }
}

async function bringUpNext(core: AppCore, options: BringUp): Promise<void> {
  const { driver, clock, logger } = core.deps;
  const { plan, say, signal } = options;
  if (!runsHere(plan, driver)) throw new WorkFailed(madeElsewhere(plan));
  let instance = await findStarted(core, options);
  for (let tried = 1; ; tried++) {
    instance ??= await startNext(core, options);
    const { workloadId, port } = instance;
    const app = core.require();
    const health = await awaitHealth({
      driver,
      clock,
      check: core.deps.check ?? checkAt(core.deps.place),
      workloadId,
      port,
      shownPort: innerPort(plan, port),
      path: app.build.healthPath,
      hostHeader: core.deps.options.hostOf(app.slug),
      timeoutMs: core.deps.options.healthTimeoutMs,
      say,
      signal,
    });
    switch (health.kind) {
      case 'healthy':
        if (plan.stack !== undefined)
          await checkStack(driver, await stackParts(core, instance, plan));
        say('It is healthy. Switching the traffic to it.');
        if (await isLive(core, instance, health.found)) return;
        throw new WorkFailed(notWanted);
      case 'failed':
        throw new WorkFailed(health.reason, { workloadId });
      case 'foreign':
        logger.warn({ app: core.id, workload: workloadId, port }, 'app_port_taken');
        if (tried >= portsTried) {
          throw new WorkFailed('Another program listens on the port that was chosen for the app.');
        }
        instance = null;
    }
  }
}

async function isLive(
  core: AppCore,
  instance: Instance,
  found: { host: string; port: number; startedAtMs: number },
): Promise<boolean> {
  const counted = await endsBefore(core, instance);
  return core.context.report(() => goLive(core, instance, found, counted));
}

/** The instance that an earlier activation started for this deployment, if it still runs. */
async function findStarted(core: AppCore, options: BringUp): Promise<Instance | null> {
  const { deploymentId, signal } = options;
  const next = core.record?.run.next ?? null;
  if (next?.deploymentId !== deploymentId) return null;
  const { driver, clock } = core.deps;
  const workload = await reach(clock, signal, () => driver.inspect(next.workloadId));
  if (workload === undefined || workload.state.phase === 'ended') return null;
  await start(core, next, options);
  return next;
}

async function startNext(core: AppCore, options: BringUp): Promise<Instance> {
  const { driver, clock } = core.deps;
  const { deploymentId, plan, say, signal } = options;
  const { healthTimeoutMs: timeoutMs } = core.deps.options;
  await awaitDatabases(core.deps, core.require(), { timeoutMs, say, signal });
  if (plan.image === undefined) {
    await reach(clock, signal, async () => (await core.files()).ensure());
  }
  const stack =
    plan.stack === undefined ? null : othersOf(await stackOf(core, plan.stack), plan.stack);
  if (stack !== null) await awaitRoom(core, deploymentId, signal);
  const port = await reach(clock, signal, () => driver.freePort());
  const image = plan.image?.label ?? null;
  const wanted = { deploymentId, port, image, stack };
  const instance = await core.context.report(() => nameNext(core, wanted));
  if (instance === null) throw new WorkFailed(notWanted);
  signal.throwIfAborted();
  say(`Starting the app on port ${String(innerPort(plan, port))}.`);
  await reach(clock, signal, () => start(core, instance, options));
  return instance;
}

/** Starts all parts. A part that runs already is left alone. */
async function start(core: AppCore, instance: Instance, options: BringUp): Promise<void> {
  try {
    if (options.plan.stack === undefined) await startOne(core, instance, options);
    else await startStack(core, await stackParts(core, instance, options.plan), options);
  } catch (error) {
    // A daemon that is away is asked again. Any other error is the reason of the failure.
    const said = error instanceof ServiceError ? error : null;
    if (said?.code === 'AGENT_UNREACHABLE' || error instanceof WorkFailed) throw error;
    const reason = said?.message ?? 'The app could not be started.';
    throw new WorkFailed(reason, { cause: error });
  }
}

async function startOne(core: AppCore, instance: Instance, options: BringUp): Promise<void> {
  const { driver } = core.deps;
  const spec = await specOf(core, instance, options);
  const started = await driver.start(spec);
  if (lacksImage(started)) {
    await bringImageBack(core, options);
    // The driver remembers a workload that did not start until it is removed.
    await driver.remove(spec.id);
    await driver.start(spec);
  }
  core.care.follow(spec.id);
}

/** Restores an image that somebody removed: a pulled image is pulled again, by its digest. */
async function bringImageBack(core: AppCore, options: BringUp): Promise<void> {
  const { driver } = core.deps;
  const { plan, release, say, signal } = options;
  const reference = plan.image?.pulled ?? null;
  if (reference === null || driver.images === null) {
    throw new WorkFailed('The image of this release is gone. Deploy again.');
  }
  say(`The image is gone. Pulling ${reference} again.`);
  const logins = loginsFor(core.deps, core.require().teamId, reference);
  await driver.images.pull({ owner: core.id, name: release, reference, logins }, say, signal);
}

/**
 * Copies the last lines of an instance that failed to start to the deployment's log. The lines keep their
 * streams, so that they are not mistaken for lines of ours. Never rejects: lines that cannot be read are
 * left out.
 */
async function tellLastWords(
  core: AppCore,
  deploymentId: string,
  workloadId: string,
  signal: AbortSignal,
): Promise<void> {
  const { streams, clock, logger } = core.deps;
  const log = `build:${deploymentId}` as const;
  const untilMs = clock.now() + lastWordsMs;
  try {
    await settleOutput(core, workloadId, signal);
    const lines = streams.reader.lastOf(core.logOf(workloadId), workloadId, untilMs, linesMax);
    if (lines.length === 0) {
      streams.write(log, 'The app itself wrote nothing.\n');
      return;
    }
    streams.write(log, 'What the app itself wrote last:\n');
    const atMs = clock.now();
    streams.copy(
      log,
      lines.map(({ stream, bytes }) => ({ atMs, stream, bytes: wholeLine(bytes) })),
    );
  } catch (error) {
    if (!isAborted(signal)) logger.warn({ workload: workloadId, err: error }, 'last_words_lost');
  }
}

/** Waits for the last output of a workload that ended; one that waits for its next start is stopped first. */
async function settleOutput(core: AppCore, workloadId: string, signal: AbortSignal): Promise<void> {
  const { driver } = core.deps;
  const workload = await driver.inspect(workloadId);
  if (workload?.state.phase === 'running') return;
  if (workload?.state.phase === 'waiting') await driver.stop(workloadId);
  await core.care.settled(workloadId, signal);
}

/** One line with its line end; a very long line is cut. */
function wholeLine(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= lineMaxBytes && bytes.at(-1) === 0x0a) return bytes;
  return Buffer.concat([bytes.subarray(0, lineMaxBytes), Buffer.from('\n')]);
}
