/**
 * Owns start and stop of a database, what its removal takes with it, and what an activation takes up from
 * an earlier one.
 *
 * 1. A named workload stands in `run` until the driver has forgotten it: nothing runs unseen.
 * 2. A database that should run and does not is started again, with growing pauses.
 */
import type { DatabaseRecord } from '../../store/records/records.ts';
import type { Change } from '../../store/records/table.ts';
import { isAborted } from '../workload/reach.ts';
import { checkNotHeld } from '../restore/held.ts';
import type { RestoreHost } from '../restore/restore-work.ts';
import { Recovery } from '../workload/recovery.ts';
import { trashHandlers } from '../workload/trash.ts';
import { withVolumes } from '../workload/volumes.ts';
import { sentenceOf } from '../workload/work-failed.ts';
import { besideServer } from './running/beside.ts';
import { bringUp } from './running/bring-up.ts';
import type { DatabaseCore } from './core.ts';
import { create } from './settings/create.ts';
import type { DatabaseProtocol, Handlers } from './protocol.ts';
import { finishRotation } from './settings/passwords.ts';
import { withoutSecrets } from './running/said.ts';
import { serverOf } from './running/wellness.ts';
import { leaving } from './running/workloads.ts';

export class Lifecycle {
  readonly #core: DatabaseCore;
  readonly #recovery: Recovery<DatabaseProtocol>;
  /** Resolves when the latest start has released everything. An aborted start does so soon. */
  #settled: Promise<void> = Promise.resolve();

  constructor(core: DatabaseCore) {
    this.#core = core;
    this.#recovery = new Recovery(core.context, core.deps);
  }

  get handlers() {
    const core = this.#core;
    return {
      create: async ({ database }) => {
        const made = await create(core, database);
        this.ensureRunning();
        return made;
      },
      'set-running': ({ running }) => (running ? this.#start() : this.#stop()),
      ...trashHandlers(core, {
        stop: (patch, changes) => this.#halt(patch, changes),
        empty: (record) => this.#empty(record),
      }),
      wake: () => core.record !== null,
      recover: () => {
        this.ensureRunning();
        return true;
      },
    } satisfies Handlers;
  }

  /** Starts the database when it should run, does not run, and no start is under way. */
  ensureRunning(): void {
    const core = this.#core;
    if (!core.isWanted || core.hasStart || core.record?.run.live !== null) return;
    if (core.isHeld) return;
    if (this.#recovery.isWaiting) return;
    this.#launch();
  }

  #start(): DatabaseRecord {
    const core = this.#core;
    const { run } = core.require();
    checkNotHeld(core);
    this.#recovery.succeeded();
    const cleared = [this.#recovery.clear()];
    // While a start is tried, the error of the last one is not shown.
    const fresh = run.live === null ? { error: null } : {};
    const saved = core.save({ desired: 'running', ...fresh }, cleared);
    // After a start that was aborted and is still ending, another one follows.
    if (run.live === null && !core.hasStart) this.#launch();
    return saved;
  }

  #launch(): void {
    const core = this.#core;
    const signal = core.beginStart();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#settled = promise;
    core.context.afterCommit(() =>
      core.context.work('start', async () => {
        let reason: string | null = null;
        try {
          await bringUp(core, signal);
          this.#recovery.succeeded();
        } catch (error) {
          if (!isAborted(signal)) {
            core.deps.logger.warn({ database: core.id, err: error }, 'database_not_started');
            reason = withoutSecrets(core, sentenceOf(error));
          }
        } finally {
          resolve(undefined);
        }
        await core.context.report(() => {
          if (reason !== null && core.isStarting) this.#startFailed(reason);
          core.endStart();
          this.ensureRunning();
        });
      }),
    );
  }

  #startFailed(error: string): void {
    const core = this.#core;
    const { run } = core.require();
    this.#recovery.failed();
    const { alarm } = this.#recovery.next();
    // The pulled image may be the fault, so it is pulled again.
    const image = run.made ? run.image : null;
    core.save({ error, run: { ...leaving(leaving(run, 'next'), 'initJob'), image } }, [alarm]);
    core.endAll();
  }

  #stop(): DatabaseRecord {
    this.#core.require();
    checkNotHeld(this.#core);
    return this.#halt({ desired: 'stopped' });
  }

  #halt(patch: Partial<DatabaseRecord>, changes: readonly Change[] = []): DatabaseRecord {
    const core = this.#core;
    const { run } = core.require();
    const halted = leaving(leaving(leaving(run, 'live'), 'next'), 'initJob');
    const saved = core.save({ ...patch, error: null, run: { ...halted, crashing: false } }, [
      this.#recovery.clear(),
      ...changes,
    ]);
    core.abortStart();
    core.endAll();
    return saved;
  }

  /** What a restore does with the database. */
  get restoreHost(): RestoreHost {
    const core = this.#core;
    return {
      engine: () => core.require().engine,
      isIdle: () => !core.hasStart,
      stop: () => {
        const { run } = core.require();
        const halted = leaving(leaving(leaving(run, 'live'), 'next'), 'initJob');
        core.save({ run: { ...halted, crashing: false } }, [this.#recovery.clear()]);
        core.endAll();
      },
      isStopped: () => core.record?.run.ending.length === 0,
      start: (signal) => this.#startHeld(signal),
      released: () => this.ensureRunning(),
      useVolumes: (volumes, before) =>
        void core.save({ run: withVolumes(core.require().run, volumes, before) }),
      beside: (volume, work, signal) => besideServer(core, volume, work, signal),
    };
  }

  /** Starts the database for a restore, where it should run and does not. */
  async #startHeld(stop: AbortSignal): Promise<void> {
    const core = this.#core;
    const start = await core.context.report(() => {
      if (!core.isWanted || core.record?.run.live !== null) return null;
      return core.beginStart();
    }, stop);
    if (start === null) return;
    try {
      await bringUp(core, AbortSignal.any([stop, start]));
      const { live } = core.require().run;
      // Restored files may know an earlier password.
      if (live !== null) {
        await core.engine.setPassword(await serverOf(core, live), core.passwords.password, stop);
      }
    } finally {
      await core.context.report(() => core.endStart());
    }
  }

  async #empty({ run }: DatabaseRecord): Promise<readonly Change[]> {
    const core = this.#core;
    const { driver, streams } = core.deps;
    // The start was aborted when the database was deleted, and may still be writing.
    await this.#settled;
    for (const workloadId of run.ending) await driver.remove(workloadId);
    await driver.letPort?.(core.id);
    if (driver.runs === 'image') {
      await driver.removeVolumesOf(core.id);
      await driver.images?.keep(core.id, new Set());
    }
    await (await core.files()).remove();
    await streams.drop(`db:${core.id}`);
    return [];
  }

  /** Takes up what an earlier activation left: ends, outputs, a start or a rotation under way. */
  resume(): void {
    const core = this.#core;
    const { record } = core;
    if (record === null) return;
    core.endAll();
    if (record.deletedAtMs !== null) return;
    if (record.run.live !== null) {
      core.care.follow(record.run.live);
      finishRotation(core);
    }
    // A start that was under way continues at once, whatever pause an earlier failure asked for.
    if (!core.isHeld && core.isWanted && (record.run.next ?? record.run.initJob) !== null)
      this.#launch();
    else this.ensureRunning();
  }
}
