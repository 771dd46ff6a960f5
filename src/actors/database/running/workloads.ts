/**
 * Owns what the driver says of a database's workloads, and their way out.
 *
 * 1. Only the driver's own word for the live server counts: a list may be older than it.
 * 2. It is well again by an answer of its latest start alone.
 */
import type { Exit, Workload } from '../../../protocol/workload.ts';
import type { DatabaseRun } from '../../../store/records/records.ts';
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
): Handlers<'workload' | 'workloads' | 'recovered' | 'said'> {
  return {
    said: (message) => {
      const run = core.record?.run;
      if (!core.isOwn(message) || run?.live !== message.workloadId || !run.crashing) return false;
      if (core.exitedAtMs !== message.exitedAtMs) return false;
      core.save({ error: message.error });
      return true;
    },
    workload: ({ workload }) => {
      if (core.record?.run.live !== workload.spec.id) return false;
      noticeLive(core, workload, ensureRunning);
      return true;
    },
    workloads: ({ workloads }) => {
      const live = core.record?.run.live ?? null;
      const found = workloads.find(({ spec }) => spec.id === live);
      if (live !== null && found === undefined) confirmLost(core, live);
      if (found !== undefined) noticeLive(core, found, ensureRunning);
      removeUnknown(core, workloads);
      return true;
    },
    recovered: (message) => {
      const { record } = core;
      if (record?.run.live !== message.workloadId || !core.isOwn(message)) return false;
      if (core.exitedAtMs !== null && message.startedAtMs < core.exitedAtMs) {
        // An answer from before the latest end. What is asked from here on is behind that, whatever
        // the clocks say.
        core.exitedAtMs = null;
        recheck(core, message.workloadId);
        return false;
      }
      if (record.run.crashing) {
        core.save({ error: null, run: { ...record.run, crashing: false } });
        finishRotation(core);
      }
      return true;
    },
  };
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
      core.run(`end:${workloadId}`, async (signal) => {
        const told = (): Promise<unknown> => core.report({ type: 'gone', workloadId });
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
  core.run(`tell:${spec.id}`, async (signal) => {
    await pause(clock, lastWordsMs, signal).catch(() => undefined);
    streams.write(`db:${core.id}`, text, { id: `${spec.id}!`, seq: ended.ends });
  });
}

/** Adds to the error what the server said as it ended, which may come behind the news of it. */
function hearOut(core: DatabaseCore, workloadId: string, exit: Exit): void {
  core.run(`said:${workloadId}`, async (signal) => {
    const said = await saidSince(core, workloadId, exit.atMs - justBeforeMs, signal).catch(
      () => '',
    );
    if (said === '' || signal.aborted) return;
    const error = `${describeExit(exit)}${said} It is started again.`;
    await core.report({ type: 'said', workloadId, exitedAtMs: exit.atMs, error });
  });
}

function confirmLost(core: DatabaseCore, id: string): void {
  const { driver, clock, logger } = core.deps;
  core.run(`confirm:${id}`, async (signal) => {
    try {
      const found = await reach(clock, signal, () => driver.inspect(id));
      const atMs = clock.now();
      const exit = { code: null, signal: null, reason: 'lost', detail: null, atMs } as const;
      const workload: Workload = found ?? {
        spec: { id, owner: core.id, kind: 'service', port: core.record?.run.port ?? null },
        state: { phase: 'ended', exit },
      };
      core.tellSelf({ type: 'workload', workload });
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
    told: (startedAtMs) => core.report({ type: 'recovered', workloadId, startedAtMs }),
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
