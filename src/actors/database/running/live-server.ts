/**
 * Owns what the driver says of a database's live server: that it runs, that it ended, that it is well
 * again.
 *
 * 1. Only the driver's own word for the live server counts: a list may be older than it.
 * 2. It is well again by an answer of its latest start alone.
 */
import type { Exit, Workload } from '../../../protocol/workload.ts';
import { describeEnd, describeExit, describeNext, endIn } from '../../workload/ends.ts';
import type { DatabaseCore } from '../core.ts';
import type { Handlers } from '../protocol.ts';
import { finishRotation } from '../settings/passwords.ts';
import { justBeforeMs, saidSince } from './said.ts';
import { look } from './wellness.ts';
import { leaving } from './workloads.ts';

export class LiveServer {
  readonly #core: DatabaseCore;
  readonly #ensureRunning: () => void;
  /** The latest end by itself that nothing newer was asked about; null: none. */
  #exitedAtMs: number | null = null;
  #toldEnd: string | null = null;

  /** `ensureRunning` is called when nothing of the database runs and something should. */
  constructor(core: DatabaseCore, ensureRunning: () => void) {
    this.#core = core;
    this.#ensureRunning = ensureRunning;
  }

  get handlers() {
    const core = this.#core;
    return {
      workload: ({ workload }) => {
        this.#notice(workload);
        return true;
      },
      workloads: ({ workloads }) => {
        const run = core.record?.run;
        const live = run?.live ?? null;
        const found = workloads.find(({ spec }) => spec.id === live);
        if (found !== undefined) this.#notice(found);
        else if (live !== null) {
          core.care.confirm(live, run?.port ?? null, (workload) => this.#notice(workload));
        }
        const now = core.record?.run;
        const known = now && [now.live, now.next, now.initJob, ...now.ending];
        core.care.removeUnknown(workloads, new Set(known));
        return true;
      },
    } satisfies Handlers;
  }

  #notice(workload: Workload): void {
    const core = this.#core;
    const { id } = workload.spec;
    if (core.record?.run.live !== id) return;
    const { run } = core.require();
    this.#tellEnd(workload);
    switch (workload.state.phase) {
      case 'running':
        core.care.follow(id);
        if (run.crashing) this.#recheck(id);
        return;
      case 'waiting': {
        const { lastExit, restarts } = workload.state;
        const { code, signal } = lastExit;
        core.deps.logger.warn({ database: core.id, code, signal, restarts }, 'database_ended');
        this.#exitedAtMs = lastExit.atMs;
        const error = `${describeExit(lastExit, 'It')} It is started again.`;
        core.save({ error, run: { ...run, crashing: true } });
        this.#hearOut(id, lastExit);
        return;
      }
      case 'ended':
        core.deps.logger.warn({ database: core.id, workload: id }, 'database_lost');
        core.save({ run: { ...leaving(run, 'live'), crashing: false } });
        core.endAll();
        this.#ensureRunning();
    }
  }

  /** In its log, once. */
  #tellEnd({ spec, state }: Workload): void {
    const { id, care, deps } = this.#core;
    const { clock, streams } = deps;
    const ended = endIn(state);
    if (ended === null) return;
    const end = `${spec.id} ${String(ended.ends)}`;
    if (this.#toldEnd === end) return;
    this.#toldEnd = end;
    const text = `${describeEnd(ended.exit, 'The database')} ${describeNext(state, clock.now())}.`;
    care.tellEnd(spec.id, () =>
      streams.write(`db:${id}`, text, { id: `${spec.id}!`, seq: ended.ends }),
    );
  }

  /** Adds to the error what the server said as it ended, which may come behind the news of it. */
  #hearOut(workloadId: string, exit: Exit): void {
    const core = this.#core;
    core.context.work(`said:${workloadId}`, async (signal) => {
      const sinceMs = exit.atMs - justBeforeMs;
      const said = await saidSince(core, workloadId, sinceMs, signal).catch(() => '');
      if (said === '' || signal.aborted) return;
      const error = `${describeExit(exit, 'It')}${said} It is started again.`;
      await core.context.report(() => {
        const run = core.record?.run;
        const isLatest = run?.live === workloadId && this.#exitedAtMs === exit.atMs;
        if (isLatest && run.crashing) core.save({ error });
      });
    });
  }

  /** It is well again once the server that ended answers. */
  #recheck(workloadId: string): void {
    const core = this.#core;
    core.care.recheck(workloadId, {
      isWell: async (signal) => (await look(core, workloadId, signal)).kind === 'well',
      recovered: (startedAtMs) => this.#recovered(workloadId, startedAtMs),
    });
  }

  #recovered(workloadId: string, startedAtMs: number): void {
    const core = this.#core;
    const run = core.record?.run;
    if (run?.live !== workloadId) return;
    if (this.#exitedAtMs !== null && startedAtMs < this.#exitedAtMs) {
      // An answer from before the latest end. What is asked from here on is behind that, whatever the
      // clocks say.
      this.#exitedAtMs = null;
      this.#recheck(workloadId);
      return;
    }
    if (!run.crashing) return;
    core.save({ error: null, run: { ...run, crashing: false } });
    finishRotation(core);
  }
}
