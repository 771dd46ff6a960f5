/**
 * Owns what the driver reports of a database's live server: that it runs, that it ended, that it is well
 * again.
 *
 * 1. Only the driver's report about the live server itself counts, because a list may be older.
 * 2. Only an answer of its latest start makes the server well again.
 */
import type { Exit, Workload } from '../../../protocol/workload.ts';
import { describeEnd, describeExit, describeNext, endIn } from '../../workload/ends.ts';
import type { DatabaseCore } from '../core.ts';
import type { Handlers } from '../protocol.ts';
import { finishRotation, nextPassword } from '../settings/passwords.ts';
import { justBeforeMs, saidSince } from './said.ts';
import { look } from './wellness.ts';
import { leaving } from './workloads.ts';

export class LiveServer {
  readonly #core: DatabaseCore;
  readonly #ensureRunning: () => void;
  /** The latest end that no newer answer has followed; null: none. */
  #exitedAtMs: number | null = null;
  #toldEnd: string | null = null;

  /** `ensureRunning` is called when the database should run and nothing of it does. */
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
        const known = now && [now.live, now.next, now.initJob, core.beside, ...now.ending];
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
    if (workload.state.phase !== 'ended' && workload.state.portTaken === true) {
      this.#leavePort();
      return;
    }
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

  /**
   * Somebody else listens on its port, and may have been told the password by its clients: it gets another
   * port and another password, and those who refer to it are told.
   */
  #leavePort(): void {
    const core = this.#core;
    const { run, nextPasswordSealed } = core.require();
    core.deps.logger.warn({ database: core.id, port: run.port }, 'database_port_taken');
    const error = 'Another program listens on its port. It gets another port and another password.';
    core.context.afterCommit(() => core.deps.streams.write(`db:${core.id}`, error));
    core.save({
      error,
      nextPasswordSealed: nextPasswordSealed ?? nextPassword(core),
      run: { ...leaving(run, 'live'), port: null, crashing: false },
    });
    core.endAll();
    this.#ensureRunning();
  }

  /** Reports the end in the database's log, once. */
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

  /** Adds to the error what the server wrote as it ended. That may arrive after the news of the end. */
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

  /** The database is well again once the server that ended answers. */
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
      // The answer is from before the latest end. From here on every answer is newer, whatever the clocks
      // say.
      this.#exitedAtMs = null;
      this.#recheck(workloadId);
      return;
    }
    if (!run.crashing) return;
    core.save({ error: null, run: { ...run, crashing: false } });
    finishRotation(core);
  }
}
