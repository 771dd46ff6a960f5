/**
 * Owns start and stop of a database, its way into trash, back and out of it, and what is picked up
 * when its actor becomes active.
 *
 * 1. A named workload stands in `run` until the driver has forgotten it: nothing runs unseen.
 * 2. What should run and does not is started again, with growing pauses.
 */
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { DatabaseRecord, DatabaseRun } from '../../store/records/records.ts';
import { insert, remove } from '../../store/records/table.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { isAborted } from '../app/running/health.ts';
import { leaveTrash, purging } from '../workload/trash.ts';
import { sentenceOf } from '../workload/work-failed.ts';
import { bringUp } from './running/bring-up.ts';
import type { DatabaseCore } from './core.ts';
import { create } from './settings/create.ts';
import type { Handlers } from './internal.ts';
import { finishRotation } from './settings/passwords.ts';
import { withoutSecrets } from './running/said.ts';
import { volumeOf } from './running/spec.ts';
import { endAll, leaving } from './running/workloads.ts';

type LifecycleHandlers = Handlers<
  | 'create'
  | 'set-running'
  | 'delete'
  | 'restore'
  | 'purge'
  | 'wake'
  | 'resume'
  | 'recover'
  | 'work-done'
  | 'init-named'
  | 'server-named'
  | 'server-left'
  | 'started'
  | 'start-failed'
  | 'gone'
>;

const recoverFirstMs = 15_000;
const recoverLastMs = 10 * 60_000;

export class Lifecycle {
  readonly handlers: LifecycleHandlers;
  readonly #core: DatabaseCore;
  /** Starts in a row that came to nothing. */
  #failures = 0;

  constructor(core: DatabaseCore) {
    this.#core = core;
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
      resume: (message) => {
        if (core.isOwn(message)) this.#resume();
        return true;
      },
      recover: () => {
        this.ensureRunning();
        return true;
      },
      'work-done': (message) => {
        if (!core.isOwn(message)) return false;
        core.work = null;
        this.ensureRunning();
        return true;
      },
      ...this.#reports(),
    };
  }

  #reports(): Handlers<
    'init-named' | 'server-named' | 'server-left' | 'started' | 'start-failed' | 'gone'
  > {
    const core = this.#core;
    return {
      'server-left': (message) => {
        if (!core.isOwn(message) || !this.#isStarting()) return false;
        core.save({ run: leaving(core.require().run, 'next') });
        endAll(core);
        return true;
      },
      'init-named': (message) => {
        if (!core.isOwn(message) || !this.#isStarting()) return null;
        return this.#name((run, initJob) => ({ ...leaving(run, 'initJob'), initJob }));
      },
      'server-named': (message) => {
        if (!core.isOwn(message) || !this.#isStarting()) return null;
        const { port, image, version } = message;
        core.save({ version });
        return this.#name((run, next) => ({
          ...leaving(leaving(run, 'initJob'), 'next'),
          next,
          port,
          image,
        }));
      },
      started: (message) => {
        const { run } = core.require();
        if (!core.isOwn(message) || run.next !== message.workloadId) return false;
        this.#failures = 0;
        const live = message.workloadId;
        core.save({ error: null, run: { ...run, made: true, live, next: null, crashing: false } });
        finishRotation(core);
        return true;
      },
      'start-failed': (message) => {
        if (!core.isOwn(message)) return false;
        this.#startFailed(message.error);
        return true;
      },
      gone: (message) => {
        const { record } = core;
        if (record === null || !core.isOwn(message)) return false;
        const { run } = record;
        core.busy.delete(message.workloadId);
        const ending = run.ending.filter((one) => one !== message.workloadId);
        core.save({ run: { ...run, ending } });
        if (record.deletedAtMs !== null) this.#endLog();
        return true;
      },
    };
  }

  /** Starts it when it should run and nothing does or is about to. */
  ensureRunning(): void {
    const core = this.#core;
    if (!core.isWanted || core.work !== null || core.record?.run.live !== null) return;
    const waits = core.deps.reader.get(tables.alarms, [core.context.address, 'recover']);
    if (waits !== undefined && waits.atMs > core.deps.clock.now()) return;
    this.#launch();
  }

  #start(): DatabaseRecord {
    const core = this.#core;
    const { run } = core.require();
    this.#failures = 0;
    const cleared = [core.context.clearAlarm('recover')];
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
      core.run('start', async () => {
        try {
          await bringUp(core, signal);
        } catch (error) {
          await this.#reportFailure(error, signal);
        } finally {
          resolve(undefined);
        }
        core.tellSelf({ type: 'work-done', epoch: core.context.epoch });
      });
    });
  }

  async #reportFailure(thrown: unknown, signal: AbortSignal): Promise<void> {
    const { logger } = this.#core.deps;
    if (isAborted(signal)) return;
    const error = withoutSecrets(this.#core, sentenceOf(thrown));
    logger.warn({ database: this.#core.id, err: thrown }, 'database_not_started');
    await this.#core.report({ type: 'start-failed', error }, signal).catch((failure: unknown) => {
      logger.warn({ database: this.#core.id, err: failure }, 'database_failure_not_stored');
    });
  }

  #startFailed(error: string): void {
    const core = this.#core;
    const { context, deps } = core;
    if (!core.isWanted) return;
    const { run } = core.require();
    const pauseMs = Math.min(recoverFirstMs * 2 ** this.#failures, recoverLastMs);
    this.#failures += 1;
    const retry = context.alarm('recover', deps.clock.now() + pauseMs, { type: 'recover' });
    // What was pulled may be what is wrong.
    const image = run.made ? run.image : null;
    core.save({ error, run: { ...leaving(leaving(run, 'next'), 'initJob'), image } }, [retry]);
    endAll(core);
  }

  #isStarting(): boolean {
    const { work, isWanted } = this.#core;
    return isWanted && work !== null && !work.signal.aborted;
  }

  #name(into: (run: DatabaseRun, workloadId: string) => DatabaseRun): string {
    const core = this.#core;
    const { run } = core.require();
    const seq = run.seq + 1;
    const workloadId = `${core.id}-${String(seq)}`;
    core.save({ run: { ...into(run, workloadId), seq } });
    endAll(core);
    return workloadId;
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
      context.clearAlarm('recover'),
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
    this.#endLog();
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

  /** The log of a database in trash ends when its last workload has. */
  #endLog(): void {
    const core = this.#core;
    const { record } = core;
    if (record?.deletedAtMs == null || record.run.ending.length > 0) return;
    core.context.afterCommit(() => {
      core.deps.streams.end(`db:${core.id}`);
    });
  }

  /** What an earlier activation left: ends, outputs, a start or a rotation under way. */
  #resume(): void {
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
