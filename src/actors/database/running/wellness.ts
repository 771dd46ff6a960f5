/**
 * Owns the check whether a database answers: its own process listens on its port, and its engine reports
 * that it is well.
 */
import { describeExit, endOf } from '../../workload/ends.ts';
import { loopback } from '../settings/address.ts';
import type { DatabaseCore } from '../core.ts';
import type { Server, Wellness } from '../engines/engine.ts';
import { openNext } from '../settings/secrets.ts';
import { pause } from '../../../lib/clock.ts';

export type Answer =
  | { kind: 'well' }
  /** Another process listens on the port. */
  | { kind: 'foreign' }
  | { kind: 'failed'; reason: string };

const firstDelayMs = 50;
const lastDelayMs = 500;
const execTimeoutMs = 30_000;
const execOutputMax = 16 * 1024;
const gone = 'It is gone: the driver does not know it any more.';

/** The server that runs under this id, as its engine sees it. Rejects with AGENT_UNREACHABLE. */
export async function serverOf(core: DatabaseCore, workloadId: string): Promise<Server> {
  const { driver, place } = core.deps;
  const files = await core.files();
  const { databaseName, username, run } = core.require();
  const port = run.port ?? 0;
  return {
    databaseName,
    username,
    ...core.passwords,
    host: loopback,
    port,
    ownPort: driver.runs === 'image' ? core.engine.image.port : port,
    socket: driver.runs === 'image' ? null : (core.engine.host?.socket(files, port) ?? null),
    connect: (to, signal) => place.connect({ workload: workloadId, ...to }, signal),
    exec: ({ command, env }, signal) => {
      const spec = { command, env, timeoutMs: execTimeoutMs, maxBytes: execOutputMax };
      return driver.exec(workloadId, spec, signal);
    },
  };
}

/** Resolves once the result is known; rejects when `signal` aborts or the driver cannot be reached. */
export async function awaitAnswer(
  core: DatabaseCore,
  workloadId: string,
  signal: AbortSignal,
  makesFiles = !core.require().run.made,
): Promise<Answer> {
  const { driver, clock, options } = core.deps;
  const { healthTimeoutMs, startingTimeoutMs, makingTimeoutMs } = options;
  // The first start of an image makes the files, and accepts no clients before they exist.
  let isMaking = driver.runs === 'image' && makesFiles;
  let beganAtMs = clock.now();
  let limitMs = isMaking ? Math.max(makingTimeoutMs, healthTimeoutMs) : healthTimeoutMs;
  let seen = 'nothing listened on its port';
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 1.5, lastDelayMs)) {
    signal.throwIfAborted();
    const ended = endOf(await driver.inspect(workloadId), gone, (exit) => describeExit(exit, 'It'));
    const probe = await driver.probe(workloadId);
    // A server that cannot listen ends as well.
    if (ended !== null && probe !== 'foreign') return { kind: 'failed', reason: ended };
    if (probe === 'foreign') return { kind: 'foreign' };
    if (probe === 'listening') {
      if (isMaking) beganAtMs = clock.now();
      isMaking = false;
      const wellness = await look(core, workloadId, signal);
      if (wellness.kind === 'well') return { kind: 'well' };
      limitMs = wellness.kind === 'starting' ? startingTimeoutMs : healthTimeoutMs;
      seen = wellness.seen;
    }
    if (clock.now() - beganAtMs >= limitMs) {
      const seconds = String(Math.round(limitMs / 1000));
      return { kind: 'failed', reason: `It did not answer within ${seconds} s: ${seen}.` };
    }
    await pause(clock, delayMs, signal);
  }
}

export async function look(
  core: DatabaseCore,
  workloadId: string,
  signal: AbortSignal,
): Promise<Wellness> {
  try {
    const server = await serverOf(core, workloadId);
    const seen = await core.engine.check(server, signal);
    const { nextPasswordSealed } = core.require();
    if (seen.kind !== 'unwell' || nextPasswordSealed === null) return seen;
    // The server may have taken the new password already.
    const password = openNext(core.deps.secrets, core.id, nextPasswordSealed);
    return await core.engine.check({ ...server, password }, signal);
  } catch (error) {
    signal.throwIfAborted();
    core.deps.logger.warn({ database: core.id, err: error }, 'database_not_checked');
    return { kind: 'unwell', seen: 'it could not be asked' };
  }
}
