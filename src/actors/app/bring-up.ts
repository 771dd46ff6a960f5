/**
 * Owns starting a release: name an instance, start it, wait until it is healthy, give it the
 * traffic. The instance before it serves until then.
 *
 * 1. The instance is journaled before the driver hears of it, so that a crash finds it again.
 */
import type { Workload, WorkloadSpec } from '../../drivers/driver.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Instance, ReleasePlan } from '../../store/records.ts';
import { serviceCommand, serviceEnvironment } from './build/environment.ts';
import type { AppCore } from './core.ts';
import { awaitHealth, checkOverNetwork } from './health.ts';
import { follow } from './instances.ts';
import { reach } from './reach.ts';
import { openVariables } from './variables.ts';

/** Why a release did not start; the message is for people. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed';
}

export interface BringUp {
  deploymentId: string;
  /** The release's folder by name. */
  release: string;
  plan: ReleasePlan;
  /** Tells the deployment's log. */
  say: (line: string) => void;
  signal: AbortSignal;
}

// A port can be taken by somebody else between its choice and its use.
const portsTried = 3;
const notWanted = 'It is not wanted any more.';

/** Resolves when the new instance has the traffic. Rejects with StartFailed, or when aborted. */
export async function bringUp(core: AppCore, options: BringUp): Promise<void> {
  const { driver, clock, logger } = core.deps;
  const { say, signal } = options;
  let instance = await findStarted(core, options);
  for (let tried = 1; ; tried++) {
    instance ??= await startNext(core, options);
    const { workloadId, port } = instance;
    const app = core.require();
    const health = await awaitHealth({
      driver,
      clock,
      check: core.deps.check ?? checkOverNetwork,
      workloadId,
      port,
      path: app.build.healthPath,
      hostHeader: core.deps.options.hostOf(app.slug),
      timeoutMs: core.deps.options.healthTimeoutMs,
      signal,
    });
    switch (health.kind) {
      case 'healthy':
        say('It is healthy. Switching the traffic to it.');
        if (await core.report({ type: 'instance-live', workloadId, host: health.host })) return;
        throw new StartFailed(notWanted);
      case 'failed':
        throw new StartFailed(health.reason);
      case 'foreign':
        logger.warn({ app: core.id, workload: workloadId, port }, 'app_port_taken');
        if (tried >= portsTried) {
          throw new StartFailed('Another program listens on the port that was chosen for the app.');
        }
        instance = null;
    }
  }
}

/** The instance an earlier activation started for this, when it still runs. */
async function findStarted(
  core: AppCore,
  { deploymentId, signal }: BringUp,
): Promise<Instance | null> {
  const next = core.app?.run.next ?? null;
  if (next?.deploymentId !== deploymentId) return null;
  const { driver, clock } = core.deps;
  const workload = await reach(clock, signal, () => driver.inspect(next.workloadId));
  if (workload === undefined || workload.state.phase === 'ended') return null;
  follow(core, next.workloadId);
  return next;
}

async function startNext(core: AppCore, options: BringUp): Promise<Instance> {
  const { driver, clock } = core.deps;
  const { deploymentId, say, signal } = options;
  await core.folders.ensure();
  const port = await reach(clock, signal, () => driver.freePort());
  const instance = await core.report({ type: 'instance-next', deploymentId, port });
  if (instance === null) throw new StartFailed(notWanted);
  signal.throwIfAborted();
  say(`Starting the app on port ${String(port)}.`);
  const started = await reach(clock, signal, () => start(core, instance, options));
  follow(core, started.spec.id);
  return instance;
}

async function start(core: AppCore, instance: Instance, options: BringUp): Promise<Workload> {
  try {
    return await core.deps.driver.start(specOf(core, instance, options));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new StartFailed('The app could not be started.', { cause: error });
  }
}

function specOf(core: AppCore, instance: Instance, { release, plan }: BringUp): WorkloadSpec {
  const { deps, folders } = core;
  const { toolchain, stopGraceMs } = deps.options;
  const folder = folders.release(release);
  const variables = openVariables(deps.reader, deps.secrets, core.id, 'production');
  return {
    id: instance.workloadId,
    owner: core.id,
    kind: 'service',
    command: serviceCommand(plan, toolchain, folder),
    workingDir: folder,
    env: serviceEnvironment({ folders, toolchain, folder, variables }, instance.port),
    uid: core.uid,
    port: instance.port,
    container: null,
    resources: core.require().resources,
    deadlineMs: null,
    stopGraceMs,
  };
}
