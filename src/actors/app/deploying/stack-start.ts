/**
 * Owns starting the services of a stack in their order.
 *
 * 1. A service starts when those it waits for have come as far as it asks.
 * 2. Starting again, after a crash, goes on with what runs already.
 */
import type { Driver } from '../../../drivers/driver.ts';
import type { Workload } from '../../../protocol/workload.ts';
import { type Clock, pause } from '../../../lib/clock.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { StackPart } from '../compose/parts.ts';
import type { StackService } from '../compose/stack.ts';
import { endOf } from '../../workload/ends.ts';
import { describeExit } from '../running/health.ts';

export interface StackStart {
  driver: Driver;
  clock: Clock;
  parts: readonly StackPart[];
  /** Over all waiting of one service for others. */
  timeoutMs: number;
  /** Called for each that was started. */
  started: (workloadId: string) => void;
  /** Tells the deployment's log. */
  say: (line: string) => void;
  signal: AbortSignal;
}

type Wait = StackService['after'][number];

const lookEveryMs = 200;

/** Resolves when all are started. Rejects with WorkFailed, with what `driver.start` throws, or when aborted. */
export async function startStack(start: StackStart): Promise<void> {
  const { driver, parts, say, signal } = start;
  for (const { service, spec } of parts) {
    for (const wait of service.after) await awaitOther(start, service.name, wait);
    signal.throwIfAborted();
    if ((await driver.inspect(spec.id)) === undefined) say(`Starting ${service.name}.`);
    await driver.start(spec);
    start.started(spec.id);
  }
}

/** Rejects with WorkFailed when a service of the stack did not come up. */
export async function checkStack(driver: Driver, parts: readonly StackPart[]): Promise<void> {
  for (const { service, spec } of parts) {
    if (service.runsOnce) continue;
    const failed = failureOf(await driver.inspect(spec.id));
    if (failed === null) continue;
    throw new WorkFailed(`${service.name}: ${failed}`, { workloadId: spec.id });
  }
}

async function awaitOther(start: StackStart, name: string, wait: Wait): Promise<void> {
  const { driver, clock, parts, timeoutMs, say, signal } = start;
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

/** Whether it has come as far as asked; a sentence when it never will. */
function hasCome(workload: Workload | undefined, { until }: Wait): boolean | string {
  const state = workload?.state;
  if (until === 'completed' && state?.phase === 'ended') {
    return state.exit.code === 0 || describeExit(state.exit);
  }
  const failed = failureOf(workload);
  if (failed !== null) return failed;
  if (until === 'completed' || state?.phase !== 'running') return false;
  if (state.health === undefined) return 'It has no health check to wait for.';
  return state.health === 'healthy';
}

function failureOf(workload: Workload | undefined): string | null {
  return endOf(workload, 'It is gone.', describeExit);
}
