/**
 * Owns start and stop of a database, its way into trash, back and out of it, and what is picked up
 * when its actor becomes active.
 *
 * 1. A named workload stands in `run` until the driver has forgotten it: nothing runs unseen.
 * 2. What should run and does not is started again, with growing pauses.
 */
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { DatabaseRecord } from '../../store/records/records.ts';
import { insert, remove } from '../../store/records/table.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { isAborted } from '../app/running/health.ts';
import { Recovery } from '../workload/recovery.ts';
import { leaveTrash, purging } from '../workload/trash.ts';
import { sentenceOf } from '../workload/work-failed.ts';
import { bringUp } from './running/bring-up.ts';
import type { DatabaseCore } from './core.ts';
import { create } from './settings/create.ts';
import type { DatabaseMessages, Handlers } from './internal.ts';
import { finishRotation } from './settings/passwords.ts';
import { withoutSecrets } from './running/said.ts';
import { volumeOf } from './running/spec.ts';
import { endAll, endLogOfDeleted, leaving } from './running/workloads.ts';

type LifecycleHandlers = Handlers<
  'create' | 'set-running' | 'delete' | 'restore' | 'purge' | 'wake' | 'recover'
>;

export class Lifecycle {
  readonly handlers: LifecycleHandlers;
  readonly #core: DatabaseCore;
  readonly #recovery: Recovery<DatabaseMessages>;

  constructor(core: DatabaseCore) {
    this.#core = core;
    this.#recovery = new Recovery(core.context, core.deps);
    this.handlers = {
      create: async ({ database }) => {
        const made = await create(core, database);
        this.ensureRunning();
        return made;
      },
      'set-running': ({ running }) => (running ? this.#start() : this.#stop()),
      delete: () => this.#delete(),
      restore: () => this.#restore(),
      purge: () => purging(core.context, core.deps, () => this.#purge()),
      wake: () => core.record !== null,
      recover: () => {
        this.ensureRunning();
        return true;
      },
    };
  }

  /** Starts it when it should run and nothing does or is about to. */
  ensureRunning(): void {
    const core = this.#core;
    if (!core.isWanted || core.work !== null || core.record?.run.live !== null) return;
    if (this.#recovery.isWaiting) return;
    this.#launch();
  }

  #start(): DatabaseRecord {
    const core = this.#core;
    const { run } = core.require();
    this.#recovery.succeeded();
    const cleared = [this.#recovery.clear()];
    // What kept it from running counts no more, as long as it is tried.
    const fresh = run.live === null ? { error: null } : {};
    const saved = core.save({ desired: 'running', ...fresh }, cleared);
    // A start that is on its way out is followed by another one.
    if (run.live === null && core.work === null) this.#launch();
    return saved;
  }

  #launch(): void {
    const core = this.#core;
    const cancel = new AbortController();
    core.work = cancel;
    const signal = AbortSignal.any([core.context.signal, cancel.signal]);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    core.settled = promise;
    core.context.afterCommit(() => {
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
          core.work = null;
          this.ensureRunning();
        });
      });
    });
  }

  #startFailed(error: string): void {
    const core = this.#core;
    const { run } = core.require();
    this.#recovery.failed();
    const { alarm } = this.#recovery.next();
    // What was pulled may be what is wrong.
    const image = run.made ? run.image : null;
    core.save({ error, run: { ...leaving(leaving(run, 'next'), 'initJob'), image } }, [alarm]);
    endAll(core);
  }

  #stop(): DatabaseRecord {
    const core = this.#core;
    core.require();
    const saved = this.#halt({ desired: 'stopped' });
    endAll(core);
    return saved;
  }

  #halt(patch: Partial<DatabaseRecord>, changes: readonly Change[] = []): DatabaseRecord {
    const core = this.#core;
    const { work, context } = core;
    if (work !== null) {
      context.afterCommit(() => {
        work.abort(new Error('stopped'));
      });
    }
    const { run } = core.require();
    const halted = leaving(leaving(leaving(run, 'live'), 'next'), 'initJob');
    return core.save({ ...patch, error: null, run: { ...halted, crashing: false } }, [
      this.#recovery.clear(),
      ...changes,
    ]);
  }

  #delete(): boolean {
    const core = this.#core;
    const { id, name, teamId } = core.require();
    const deletedAtMs = core.deps.clock.now();
    const purgeAtMs = deletedAtMs + core.deps.options.trashMs;
    this.#halt({ desired: 'stopped', deletedAtMs }, [
      insert(tables.trash, {
        id: newId('trs', deletedAtMs),
        teamId,
        kind: 'database',
        targetId: id,
        name,
        deletedAtMs,
        purgeAtMs,
      }),
      core.context.alarm('purge', purgeAtMs, { type: 'purge' }),
    ]);
    endAll(core);
    endLogOfDeleted(core);
    return true;
  }

  /** It comes back stopped. */
  #restore(): boolean {
    const core = this.#core;
    const { folderId } = this.#requireTrashed();
    // Its folder may have been deleted meanwhile.
    const isThere = folderId === null || core.deps.reader.get(tables.folders, folderId);
    const place = isThere ? {} : { folderId: null };
    core.save({ deletedAtMs: null, ...place }, this.#leaveTrash());
    return true;
  }

  /** Removes everything of a database in trash, for ever. The record goes last. */
  async #purge(): Promise<boolean> {
    const core = this.#core;
    const { uid, run } = this.#requireTrashed();
    const { driver, streams } = core.deps;
    // It was aborted as the database was deleted, and may still be writing.
    await core.settled;
    for (const workloadId of run.ending) await driver.remove(workloadId);
    if (driver.runs === 'image') {
      await driver.removeVolume(volumeOf(core.id));
      await driver.images?.keep(core.id, new Set());
    }
    await core.place.remove();
    await streams.drop(`db:${core.id}`);
    await core.context.commit([...this.#leaveTrash(), remove(tables.databases, core.id)]);
    core.deps.uids.giveBack(uid);
    core.adopt(null);
    return true;
  }

  #requireTrashed(): DatabaseRecord {
    const { record } = this.#core;
    if (record?.deletedAtMs == null) {
      throw new ServiceError('NOT_FOUND', 'No such database in trash.');
    }
    return record;
  }

  #leaveTrash(): Change[] {
    const { deps, id, context } = this.#core;
    return leaveTrash(context, deps.reader, id);
  }

  /** Picks up what an earlier activation left: ends, outputs, a start or a rotation under way. */
  resume(): void {
    const core = this.#core;
    const { record } = core;
    if (record === null) return;
    endAll(core);
    if (record.deletedAtMs !== null) return;
    if (record.run.live !== null) {
      core.care.follow(record.run.live);
      finishRotation(core);
    }
    // One that was being started is taken up at once, whatever pause a failure before it asked for.
    if (core.isWanted && (record.run.next ?? record.run.initJob) !== null) this.#launch();
    else this.ensureRunning();
  }
}
