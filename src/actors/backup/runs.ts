/**
 * Owns the runs of a target: begun, canceled, ended, removed.
 *
 * 1. Runs of one target go one after another; over the instance so many at a time, by turns of teams.
 * 2. A run that does not succeed is ended when what it wrote was removed. Where that does not work it is tried
 *    again later, for as long as the destination is there.
 * 3. Successful runs of a schedule beyond its `keep` are removed after the next success, the oldest first. Those of
 *    a clock that was ahead count as the oldest; the run that has just succeeded stays.
 */
import type { Artifact } from '../../backups/runs/artifact.ts';
import { RunTurns } from '../../backups/runs/run-turns.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { BackupRunRecord } from '../../store/records/records.ts';
import { type Change, insert, remove, removeAll, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { makeArtifact, removeArtifact } from './backup-work.ts';
import { type Backups, isUnderWay } from './backups.ts';
import type { Handlers } from './protocol.ts';

const cleanAlarm = 'clean';

type NewRun = Pick<BackupRunRecord, 'scheduleId' | 'destinationId'>;

export class Runs {
  readonly #backups: Backups;
  readonly #own = new RunTurns(1);
  /** What ends the runs that this activation works at, by their ids. */
  readonly #stops = new Map<string, AbortController>();

  constructor(backups: Backups) {
    this.#backups = backups;
  }

  get handlers() {
    return {
      run: async ({ destinationId }) => {
        this.#backups.requireDestination(destinationId);
        this.#backups.pastRestores();
        const under = this.#underWay((run) => run.destinationId === destinationId);
        if (under !== undefined) {
          const detail = `A backup to this destination is under way: ${under.id}.`;
          throw new ServiceError('BACKUP_RUNNING', detail);
        }
        return await this.begin({ scheduleId: null, destinationId });
      },
      cancel: ({ runId }) => this.#cancel(runId),
      'run-delete': ({ runId }) => this.#delete(runId),
      wake: () => true,
      clean: () => {
        this.resume();
        return true;
      },
    } satisfies Handlers;
  }

  /** Takes up what an earlier activation left; twice is fine. */
  resume(): void {
    for (const run of this.#backups.openRuns()) {
      if (this.#stops.has(run.id)) continue;
      if (isUnderWay(run) && run.artifact === 'none' && !run.canceled) this.#launch(run.id);
      else this.#tidy(run);
    }
  }

  /** Stores a run, with other changes, and begins it. */
  async begin(
    { scheduleId, destinationId }: NewRun,
    changes: Change[] = [],
  ): Promise<BackupRunRecord> {
    const run = this.#newRun({ scheduleId, destinationId });
    await this.#backups.context.commit([insert(tables.backupRuns, run), ...changes]);
    this.#launch(run.id);
    return run;
  }

  /** Stores that a run of a schedule was passed over, because one of it is under way; null: none is. */
  async skip(own: NewRun & { scheduleId: string }, changes: Change[]): Promise<boolean> {
    const under = this.#underWay((run) => run.scheduleId === own.scheduleId);
    if (under === undefined) return false;
    const { context, deps } = this.#backups;
    const run = this.#newRun(own);
    const skipped: BackupRunRecord = {
      ...run,
      status: 'canceled',
      error: `The run before it was still under way: ${under.id} (BACKUP_RUNNING)`,
      finishedAtMs: run.startedAtMs,
    };
    deps.logger.warn({ schedule: own.scheduleId, underWay: under.id }, 'backup_skipped');
    await context.commit([insert(tables.backupRuns, skipped), ...this.#forgotten(), ...changes]);
    return true;
  }

  #newRun({ scheduleId, destinationId }: NewRun): BackupRunRecord {
    const { deps, target } = this.#backups;
    const startedAtMs = deps.clock.now();
    return {
      id: newId('run', startedAtMs),
      teamId: this.#backups.teamAt(destinationId),
      ...target,
      scheduleId,
      destinationId,
      status: 'running',
      canceled: false,
      artifact: 'none',
      key: null,
      source: null,
      encrypted: false,
      sizeBytes: null,
      progressBytes: null,
      sha256: null,
      verifiedAtMs: null,
      error: null,
      startedAtMs,
      finishedAtMs: null,
    };
  }

  #underWay(
    fits: (run: Readonly<BackupRunRecord>) => boolean,
  ): Readonly<BackupRunRecord> | undefined {
    return this.#backups.openRuns().find((run) => isUnderWay(run) && fits(run));
  }

  async #cancel(runId: string): Promise<boolean> {
    const run = this.#backups.run(runId);
    if (!isUnderWay(run)) return false;
    await this.#backups.saveRun(run, { canceled: true });
    this.#stops.get(runId)?.abort(new Error('canceled'));
    return true;
  }

  async #delete(runId: string): Promise<boolean> {
    const run = this.#backups.run(runId);
    if (isUnderWay(run)) {
      throw new ServiceError('RUN_NOT_FINISHED', 'This backup is under way: cancel it first.');
    }
    if (run.artifact !== 'none' && !(await removeArtifact(this.#backups, run))) {
      throw new ServiceError(
        'DESTINATION_FAILED',
        'The destination did not remove the backup; nothing was changed.',
      );
    }
    await this.#backups.context.commit([take(tables.backupRuns, runId)]);
    return true;
  }

  #launch(runId: string): void {
    const { context } = this.#backups;
    const stop = new AbortController();
    this.#stops.set(runId, stop);
    context.work(`backup:${runId}`, async (activation) => {
      const signal = AbortSignal.any([activation, stop.signal]);
      let ending: Promise<unknown> = Promise.resolve();
      const leaves = (writing: Promise<unknown>): void => {
        ending = writing;
      };
      try {
        const artifact = await this.#inTurn(runId, signal, stop, leaves);
        await context.report(() => this.#succeeded(runId, artifact), signal);
      } catch (error) {
        if (context.ended) return;
        await this.#failed(runId, error, ending);
        return;
      } finally {
        this.#stops.delete(runId);
      }
      await this.#prune(runId);
    });
  }

  async #inTurn(
    runId: string,
    signal: AbortSignal,
    stop: AbortController,
    leaves: (ending: Promise<unknown>) => void,
  ): Promise<Artifact> {
    const { clock, turns, options } = this.#backups.deps;
    const leaveOwn = await this.#own.take('', signal);
    try {
      const leave = await turns.take(this.#backups.run(runId).teamId, signal);
      const cancel = clock.after(options.deadlineMs, () => stop.abort(tooLong(options.deadlineMs)));
      try {
        return await makeArtifact(this.#backups, runId, signal, leaves);
      } finally {
        cancel();
        leave();
      }
    } finally {
      leaveOwn();
    }
  }

  async #succeeded(runId: string, { sizeBytes }: Artifact): Promise<void> {
    const nowMs = this.#backups.deps.clock.now();
    await this.#backups.saveRun(this.#backups.run(runId), {
      status: 'success',
      artifact: 'stored',
      progressBytes: sizeBytes,
      verifiedAtMs: nowMs,
      finishedAtMs: nowMs,
    });
  }

  /** A run that an earlier activation did not end, or that left something. */
  #tidy(run: Readonly<BackupRunRecord>): void {
    this.#stops.set(run.id, new AbortController());
    this.#backups.context.work(`tidy:${run.id}`, async () => {
      try {
        await this.#failed(run.id, interrupted(), Promise.resolve());
      } finally {
        this.#stops.delete(run.id);
      }
    });
  }

  async #failed(runId: string, error: unknown, ending: Promise<unknown>): Promise<void> {
    const { context, deps } = this.#backups;
    const isClean = await removeArtifact(this.#backups, this.#backups.run(runId), ending);
    await context.report(async () => {
      const run = this.#backups.run(runId);
      const nowMs = deps.clock.now();
      const wasUnderWay = isUnderWay(run);
      const end: Partial<BackupRunRecord> = {
        status: run.canceled ? 'canceled' : 'failed',
        error: run.canceled ? null : reasonOf(error),
        finishedAtMs: nowMs,
      };
      const again = context.alarm(cleanAlarm, nowMs + deps.options.cleanAgainMs, { type: 'clean' });
      await this.#backups.saveRun(
        run,
        { ...(wasUnderWay && end), artifact: isClean ? 'none' : 'leaving' },
        [...this.#forgotten(), ...(isClean ? [] : [again])],
      );
      if (wasUnderWay && !run.canceled)
        deps.logger.warn({ run: runId, err: error }, 'backup_failed');
    });
  }

  /** Changes that forget the oldest runs that came to nothing. */
  #forgotten(): Change[] {
    const { reader, options } = this.#backups.deps;
    const prefix = [this.#backups.target.targetId];
    const surplus = reader.count(tables.backupRuns, 'lost', prefix) - options.lostMax;
    if (surplus <= 0) return [];
    const oldest = reader.list(tables.backupRuns, 'lost', prefix, { limit: surplus });
    return removeAll(
      tables.backupRuns,
      oldest.filter(({ artifact }) => artifact === 'none'),
    );
  }

  async #prune(runId: string): Promise<void> {
    const { context, deps } = this.#backups;
    const { scheduleId } = this.#backups.run(runId);
    const schedule =
      scheduleId === null ? undefined : deps.reader.get(tables.backupSchedules, scheduleId);
    if (schedule === undefined) return;
    const kept = deps.reader.list(tables.backupRuns, 'kept', [schedule.id], { limit: Infinity });
    const nowMs = deps.clock.now();
    const others = kept.filter(({ id }) => id !== runId);
    const ahead = others.filter(({ startedAtMs }) => startedAtMs > nowMs);
    const oldestFirst = [...ahead, ...others.filter(({ startedAtMs }) => startedAtMs <= nowMs)];
    for (const old of oldestFirst.slice(0, Math.max(0, kept.length - schedule.keep))) {
      // What cannot be removed now is among the oldest the next time, too.
      if (!(await removeArtifact(this.#backups, old))) return;
      await context.report(() => context.commit([remove(tables.backupRuns, old.id)]));
    }
  }
}

function reasonOf(thrown: unknown): string {
  const { message, code } = asServiceError(thrown);
  return `${message} (${code})`;
}

function interrupted(): ServiceError {
  return new ServiceError('BACKUP_INTERRUPTED', 'Gangway ended while this backup was being made.');
}

function tooLong(deadlineMs: number): ServiceError {
  const minutes = String(Math.round(deadlineMs / 60_000));
  return new ServiceError('DEADLINE_EXCEEDED', `The backup took longer than ${minutes} minutes.`);
}
