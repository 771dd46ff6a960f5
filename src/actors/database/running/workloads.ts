/**
 * Owns what the driver says of a database's workloads, and their way out.
 *
 * 1. Only the driver's own word for the live server counts: a list may be older than it.
 * 2. It is well again by an answer of its latest start alone.
 */
import type { Exit, Workload } from '../../../protocol/workload.ts';
import type { DatabaseRecord, DatabaseRun } from '../../../store/records/records.ts';
import { reach } from '../../app/running/reach.ts';
import { describeEnd, describeNext, endIn, lastWordsMs } from '../../workload/ends.ts';
import type { DatabaseCore } from '../core.ts';
import type { Handlers } from '../internal.ts';
import { finishRotation } from '../settings/passwords.ts';
import { justBeforeMs, saidSince } from './said.ts';
import { describeExit, look } from './wellness.ts';
import { pause } from '../../../lib/clock.ts';

export function workloadHandlers(
  core: DatabaseCore,
  ensureRunning: () => void,
): Handlers<'workload' | 'workloads'> {
  return {
    workload: ({ workload }) => {
      notice(core, workload, ensureRunning);
      return true;
    },
    workloads: ({ workloads }) => {
      const live = core.record?.run.live ?? null;
      const found = workloads.find(({ spec }) => spec.id === live);
      if (live !== null && found === undefined) confirmLost(core, live, ensureRunning);
      if (found !== undefined) noticeLive(core, found, ensureRunning);
      removeUnknown(core, workloads);
      return true;
    },
  };
}

/** Names the job that makes the files. Null: it is not wanted any more. */
export function nameInit(core: DatabaseCore): string | null {
  return nameNext(core, (run, initJob) => ({ ...leaving(run, 'initJob'), initJob }));
}

/** Names the server before the driver is told of it; `version` is what runs. */
export function nameServer(
  core: DatabaseCore,
  { port, image, version }: { port: number; image: string | null; version: string },
): string | null {
  const into = (run: DatabaseRun, next: string): DatabaseRun => ({
    ...leaving(leaving(run, 'initJob'), 'next'),
    ...{ next, port, image },
  });
  return nameNext(core, into, { version });
}

function nameNext(
  core: DatabaseCore,
  into: (run: DatabaseRun, workloadId: string) => DatabaseRun,
  patch: Partial<DatabaseRecord> = {},
): string | null {
  if (!core.isStarting) return null;
  const { run } = core.require();
  const seq = run.seq + 1;
  const workloadId = `${core.id}-${String(seq)}`;
  core.save({ ...patch, run: { ...into(run, workloadId), seq } });
  endAll(core);
  return workloadId;
}

/** Ends the server that was named and is not to be waited for, before another one is named. */
export function leaveNext(core: DatabaseCore): void {
  if (!core.isStarting) return;
  core.save({ run: leaving(core.require().run, 'next') });
  endAll(core);
}

/** It answers, and its user and database are there. False when it is not wanted any more. */
export function goLive(core: DatabaseCore, workloadId: string): boolean {
  const { run } = core.require();
  if (run.next !== workloadId) return false;
  const live = workloadId;
  core.save({ error: null, run: { ...run, made: true, live, next: null, crashing: false } });
  finishRotation(core);
  return true;
}

/** The driver has forgotten a workload. */
function forget(core: DatabaseCore, workloadId: string): void {
  const { record } = core;
  if (record === null) return;
  core.busy.delete(workloadId);
  const ending = record.run.ending.filter((id) => id !== workloadId);
  core.save({ run: { ...record.run, ending } });
  if (record.deletedAtMs !== null) endLogOfDeleted(core);
}

/** The log of a database in trash ends when its last workload has. */
export function endLogOfDeleted(core: DatabaseCore): void {
  const { record } = core;
  if (record?.deletedAtMs == null || record.run.ending.length > 0) return;
  core.context.afterCommit(() => {
    core.deps.streams.end(`db:${core.id}`);
  });
}

/** One that had ended by itself answers again, and runs since then. */
function recovered(core: DatabaseCore, workloadId: string, startedAtMs: number): void {
  const run = core.record?.run;
  if (run?.live !== workloadId) return;
  if (core.exitedAtMs !== null && startedAtMs < core.exitedAtMs) {
    // An answer from before the latest end. What is asked from here on is behind that, whatever the
    // clocks say.
    core.exitedAtMs = null;
    recheck(core, workloadId);
    return;
  }
  if (!run.crashing) return;
  core.save({ error: null, run: { ...run, crashing: false } });
  finishRotation(core);
}

function notice(core: DatabaseCore, workload: Workload, ensureRunning: () => void): void {
  if (core.record?.run.live === workload.spec.id) noticeLive(core, workload, ensureRunning);
}

/** `run` without a workload, which is to end at once. */
export function leaving(run: DatabaseRun, which: 'live' | 'next' | 'initJob'): DatabaseRun {
  const workloadId = run[which];
  if (workloadId === null) return run;
  return { ...run, [which]: null, ending: [...run.ending, workloadId] };
}

/** Sees every workload on its way out to its end. */
export function endAll(core: DatabaseCore): void {
  for (const workloadId of core.record?.run.ending ?? []) {
    if (core.busy.has(workloadId)) continue;
    core.busy.add(workloadId);
    core.context.afterCommit(() => {
      core.context.work(`end:${workloadId}`, async (signal) => {
        const told = (): Promise<void> =>
          core.context.report(() => {
            forget(core, workloadId);
          });
        await core.care.seeOff(workloadId, { told }, signal);
      });
    });
  }
}

/** What the driver says of the live server. */
function noticeLive(core: DatabaseCore, workload: Workload, ensureRunning: () => void): void {
  const { run } = core.require();
  tellEnd(core, workload);
  switch (workload.state.phase) {
    case 'running':
      core.care.follow(workload.spec.id);
      if (run.crashing) recheck(core, workload.spec.id);
      return;
    case 'waiting': {
      const { lastExit, restarts } = workload.state;
      const { code, signal } = lastExit;
      core.deps.logger.warn({ database: core.id, code, signal, restarts }, 'database_ended');
      core.exitedAtMs = lastExit.atMs;
      const error = `${describeExit(lastExit)} It is started again.`;
      core.save({ error, run: { ...run, crashing: true } });
      hearOut(core, workload.spec.id, lastExit);
      return;
    }
    case 'ended':
      core.deps.logger.warn({ database: core.id, workload: run.live }, 'database_lost');
      core.save({ run: { ...leaving(run, 'live'), crashing: false } });
      endAll(core);
      ensureRunning();
  }
}

/** In its log, once, behind its own last words as far as they come soon. */
function tellEnd(core: DatabaseCore, { spec, state }: Workload): void {
  const { clock, streams } = core.deps;
  const ended = endIn(state);
  if (ended === null) return;
  const end = `${spec.id} ${String(ended.ends)}`;
  if (core.toldEnd === end) return;
  core.toldEnd = end;
  const text = `${describeEnd(ended.exit, 'database')} ${describeNext(state, clock.now())}.`;
  core.context.work(`tell:${spec.id}`, async (signal) => {
    await pause(clock, lastWordsMs, signal).catch(() => undefined);
    streams.write(`db:${core.id}`, text, { id: `${spec.id}!`, seq: ended.ends });
  });
}

/** Adds to the error what the server said as it ended, which may come behind the news of it. */
function hearOut(core: DatabaseCore, workloadId: string, exit: Exit): void {
  core.context.work(`said:${workloadId}`, async (signal) => {
    const said = await saidSince(core, workloadId, exit.atMs - justBeforeMs, signal).catch(
      () => '',
    );
    if (said === '' || signal.aborted) return;
    const error = `${describeExit(exit)}${said} It is started again.`;
    await core.context.report(() => {
      const run = core.record?.run;
      const isLatest = run?.live === workloadId && core.exitedAtMs === exit.atMs;
      if (isLatest && run.crashing) core.save({ error });
    });
  });
}

function confirmLost(core: DatabaseCore, id: string, ensureRunning: () => void): void {
  const { driver, clock, logger } = core.deps;
  core.context.work(`confirm:${id}`, async (signal) => {
    try {
      const found = await reach(clock, signal, () => driver.inspect(id));
      const atMs = clock.now();
      const exit = { code: null, signal: null, reason: 'lost', detail: null, atMs } as const;
      const workload: Workload = found ?? {
        spec: { id, owner: core.id, kind: 'service', port: core.record?.run.port ?? null },
        state: { phase: 'ended', exit },
      };
      await core.context.report(() => {
        notice(core, workload, ensureRunning);
      });
    } catch (error) {
      if (!signal.aborted) {
        logger.warn({ database: core.id, workload: id, err: error }, 'database_not_found');
      }
    }
  });
}

/** It is well again once the server that ended answers. */
function recheck(core: DatabaseCore, workloadId: string): void {
  core.care.recheck(workloadId, {
    isWell: async (signal) => (await look(core, workloadId, signal)).kind === 'well',
    told: (startedAtMs) =>
      core.context.report(() => {
        recovered(core, workloadId, startedAtMs);
      }),
  });
}

/** Removes what a crash left at the driver and the journal does not know. */
function removeUnknown(core: DatabaseCore, workloads: readonly Workload[]): void {
  const run = core.record?.run;
  const known = new Set([run?.live, run?.next, run?.initJob, ...(run?.ending ?? [])]);
  const { driver, logger } = core.deps;
  for (const { spec } of workloads) {
    if (known.has(spec.id)) continue;
    logger.warn({ database: core.id, workload: spec.id }, 'workload_unknown');
    driver.remove(spec.id).catch((error: unknown) => {
      logger.warn({ workload: spec.id, err: error }, 'workload_not_removed');
    });
  }
}
