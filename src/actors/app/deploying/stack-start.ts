/**
 * Owns the start of a compose file's release: its plan is made again, room is made for it, and its services
 * start in order.
 *
 * 1. A service starts when the services it waits for are as far as it asks.
 * 2. A second start, after a crash, leaves alone what runs already.
 */
import type { Driver } from '../../../drivers/driver.ts';
import { pause } from '../../../lib/clock.ts';
import type { Workload } from '../../../protocol/workload.ts';
import type { Instance, ReleasePlan, ReleaseStack } from '../../../store/records/records.ts';
import { endOf } from '../../workload/ends.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { partsOf, type StackPart } from '../compose/parts.ts';
import type { Stack, StackService } from '../compose/stack.ts';
import type { AppCore } from '../core.ts';
import { makeRoom, type NextInstance } from '../running/instances.ts';
import { beforeHealthy } from '../running/health.ts';
import { openVariables } from '../settings/variables.ts';

interface StackLog {
  /** Writes to the deployment's log. */
  say: (line: string) => void;
  signal: AbortSignal;
}

type Wait = StackService['after'][number];

const lookEveryMs = 200;
/** The pause between two checks for room. */
const roomEveryMs = 100;

/** The stack with the current variables. Rejects with WorkFailed. */
export async function stackOf(core: AppCore, { compose }: ReleaseStack): Promise<Stack> {
  const variables = openVariables(core.deps, core.require());
  const { readStack } = await import('../compose/stack.ts');
  return readStack(compose, { variables, port: core.require().build.port });
}

/** The services, as the actor is told of them before any of them starts. */
export function othersOf(
  { services }: Stack,
  { main, images }: ReleaseStack,
): NextInstance['stack'] {
  const others = services.flatMap(({ name }, at) =>
    name === main ? [] : [{ service: name, at, image: images[name]?.label ?? '' }],
  );
  return { main, others };
}

/** The parts that are started for an instance, in order. Rejects with WorkFailed. */
export async function stackParts(
  core: AppCore,
  { workloadId, port }: Instance,
  { stack }: ReleasePlan,
): Promise<StackPart[]> {
  if (stack === undefined) throw new Error('Cannot start services without a compose file');
  const read = await stackOf(core, stack);
  const missing = read.services.find(({ name }) => !Object.hasOwn(stack.images, name));
  if (missing !== undefined || read.main !== stack.main) {
    throw new WorkFailed('The variables of the app change what its services are. Deploy again.');
  }
  const app = core.require();
  const { slug, teamId, resources } = app;
  return partsOf(read, {
    app,
    workloadId,
    port,
    images: Object.fromEntries(
      Object.entries(stack.images).map(([service, { name }]) => [service, name]),
    ),
    network: { team: teamId, aliases: [slug] },
    resources,
    stopGraceMs: core.deps.options.stopGraceMs,
  });
}

/** Ends what runs of the app, because its services would share their volumes with the next ones. */
export async function awaitRoom(
  core: AppCore,
  deploymentId: string,
  signal: AbortSignal,
): Promise<void> {
  await core.context.report(() => makeRoom(core, deploymentId));
  while ((core.record?.run.draining.length ?? 0) > 0) {
    await pause(core.deps.clock, roomEveryMs, signal);
  }
}

/**
 * Resolves when all are started. Rejects with WorkFailed, with what `driver.start` throws, or when aborted.
 */
export async function startStack(
  core: AppCore,
  parts: readonly StackPart[],
  { say, signal }: StackLog,
): Promise<void> {
  const { driver } = core.deps;
  for (const { service, spec } of parts) {
    for (const wait of service.after) {
      await awaitOther(core, parts, service.name, wait, { say, signal });
    }
    signal.throwIfAborted();
    if ((await driver.inspect(spec.id)) === undefined) say(`Starting ${service.name}.`);
    await driver.start(spec);
    core.care.follow(spec.id);
  }
}

/** Rejects with WorkFailed when a service of the stack did not start. */
export async function checkStack(driver: Driver, parts: readonly StackPart[]): Promise<void> {
  for (const { service, spec } of parts) {
    if (service.runsOnce) continue;
    const failed = failureOf(await driver.inspect(spec.id));
    if (failed === null) continue;
    throw new WorkFailed(`${service.name}: ${failed}`, { workloadId: spec.id });
  }
}

/** Waits as long as an app may take to be healthy. */
async function awaitOther(
  core: AppCore,
  parts: readonly StackPart[],
  name: string,
  wait: Wait,
  { say, signal }: StackLog,
): Promise<void> {
  const { driver, clock } = core.deps;
  const { healthTimeoutMs: timeoutMs } = core.deps.options;
  const other = parts.find(({ service }) => service.name === wait.service);
  if (other === undefined || wait.until === 'started') return;
  const deadlineMs = clock.now() + timeoutMs;
  let told = false;
  for (;;) {
    const workload = await driver.inspect(other.spec.id);
    const met = hasCome(workload, wait);
    if (met === true) return;
    const { id: workloadId } = other.spec;
    if (met !== false) throw new WorkFailed(`${wait.service}: ${met}`, { workloadId });
    if (clock.now() >= deadlineMs) {
      const seconds = String(Math.round(timeoutMs / 1000));
      const waited = `${name} waited ${seconds} s for ${wait.service} to be ${wait.until}.`;
      throw new WorkFailed(waited, { workloadId });
    }
    if (!told) say(`${name} waits for ${wait.service} to be ${wait.until}.`);
    told = true;
    await pause(clock, lookEveryMs, signal);
  }
}

/** Whether the service is as far as asked; a sentence when it never will be. */
function hasCome(workload: Workload | undefined, { until }: Wait): boolean | string {
  const state = workload?.state;
  if (until === 'completed' && state?.phase === 'ended') {
    return state.exit.code === 0 || beforeHealthy(state.exit);
  }
  const failed = failureOf(workload);
  if (failed !== null) return failed;
  if (until === 'completed' || state?.phase !== 'running') return false;
  if (state.health === undefined) return 'It has no health check to wait for.';
  return state.health === 'healthy';
}

function failureOf(workload: Workload | undefined): string | null {
  return endOf(workload, 'It is gone.', beforeHealthy);
}
