/**
 * Owns the restores of one app or database, in its actor: how one begins, what keeps others from the target
 * meanwhile, and how it ends.
 *
 * 1. One restore of a target at a time. From `begin` on another one is refused with RESTORE_RUNNING.
 * 2. While the artifact arrives and is checked, the target goes on as ever. Then it is held: what is under way
 *    ends first, and nothing begins before the restore has ended. A deployment asked for meanwhile waits.
 * 3. What an artifact arrived as is removed with the end of its restore, and its recovery key forgotten.
 * 4. A restore that an earlier activation left ends as failed, and tells whose data is in place.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RestoreLog } from '../../backups/restores/restore-log.ts';
import { hasPassed } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { RestoreRunRecord } from '../../store/records/records.ts';
import { type Change, insert, put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { sentenceOf } from '../workload/work-failed.ts';
import type { RestoreCore } from './core.ts';
import { checkNotHeld } from './held.ts';
import { restoresKept, saveLogEveryMs } from './deps.ts';
import type { RestoreProtocol, RestoreRights } from './protocol.ts';
import { isTouching, type RestoreHost, recoverData, replaceData } from './restore-work.ts';

interface Current {
  run: RestoreRunRecord;
  readonly log: RestoreLog;
  /** Ends the wait for the artifact; null once nothing waits for it. */
  arrived: (() => void) | null;
  savedAtMs: number;
}

export class Restores {
  readonly #core: RestoreCore;
  readonly #host: RestoreHost;
  #current: Current | null = null;

  constructor(core: RestoreCore, host: RestoreHost) {
    this.#core = core;
    this.#host = host;
  }

  get handlers() {
    return {
      'restore-begin': async () => {
        const { run } = await this.#begin('receiving', null);
        const { root } = this.#core.deps.restores;
        await mkdir(root, { recursive: true, mode: 0o700 });
        return { run, dir: root, name: run.id };
      },
      'restore-commit': ({ restoreId, recoveryKey, rights }) => {
        const current = this.#arriving(restoreId);
        if (current === null) {
          throw new ServiceError(
            'CONFLICT',
            'The restore was interrupted. Send the artifact again.',
          );
        }
        this.#launch(current, { recoveryKey, rights });
        return true;
      },
      'restore-abort': async ({ restoreId, reason }) => {
        const current = this.#arriving(restoreId);
        if (current === null) return false;
        await this.#removeFile(restoreId);
        this.#end(current, reason);
        return true;
      },
      'restore-run': async ({ backupRunId, rights }) => {
        this.#requireStored(backupRunId);
        const current = await this.#begin('receiving', backupRunId);
        this.#launch(current, { recoveryKey: null, rights });
        return current.run;
      },
      'restore-news': ({ restoreId, from }) => this.#news(restoreId, from),
    } satisfies RestoreHandlers;
  }

  /** Takes up what an earlier activation left. Before anything of the target is started. */
  resume(): void {
    const { deps, context, id } = this.#core;
    for (const run of deps.reader.list(tables.restoreRuns, 'open', [id])) {
      const current = this.#currentOf(run);
      this.#current = current;
      if (isTouching(run)) this.#core.hold();
      context.work(`restore:${run.id}`, async (signal) => {
        const data = await recoverData(this.#partsOf(current), signal).catch(() => null);
        if (data === null || context.ended) return;
        await this.#removeFile(run.id);
        await context.report(() => {
          this.#say(current, data);
          this.#end(
            current,
            `Gangway ended while this was restored. ${data} (RESTORE_INTERRUPTED)`,
          );
        });
      });
    }
  }

  async #begin(phase: 'receiving', backupRunId: string | null): Promise<Current> {
    const { context, deps, kind } = this.#core;
    const { id: targetId, teamId } = this.#core.require();
    if (this.#current !== null) {
      const detail = `A restore is under way: ${this.#current.run.id}.`;
      throw new ServiceError('RESTORE_RUNNING', detail, { retryAfterS: 5 });
    }
    checkNotHeld(this.#core);
    const startedAtMs = deps.clock.now();
    const run: RestoreRunRecord = {
      id: newId('rst', startedAtMs),
      teamId,
      kind: kind.name,
      targetId,
      backupRunId,
      status: 'running',
      phase,
      log: [],
      logDropped: 0,
      error: null,
      startedAtMs,
      finishedAtMs: null,
    };
    const current = this.#currentOf(run);
    this.#current = current;
    if (backupRunId === null) this.#awaitArtifact(current);
    await context.commit([insert(tables.restoreRuns, run), ...this.#forgotten()]);
    return current;
  }

  #currentOf(run: RestoreRunRecord): Current {
    return { run, log: new RestoreLog(run), arrived: null, savedAtMs: 0 };
  }

  /** Keeps the actor active until the artifact is there. */
  #awaitArtifact(current: Current): void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const arrived = (): void => resolve(undefined);
    current.arrived = arrived;
    this.#core.context.work(`artifact:${current.run.id}`, async (signal) => {
      signal.addEventListener('abort', arrived, { once: true });
      await promise;
      signal.removeEventListener('abort', arrived);
    });
  }

  /** The restore that waits for this artifact. */
  #arriving(restoreId: string): Current | null {
    const current = this.#current;
    return current?.run.id === restoreId && current.arrived !== null ? current : null;
  }

  #launch(current: Current, given: { recoveryKey: string | null; rights: RestoreRights }): void {
    const { context, deps, id } = this.#core;
    const { run } = current;
    current.arrived?.();
    current.arrived = null;
    context.work(`restore:${run.id}`, async (activation) => {
      let error: string | null = null;
      try {
        await this.#inTurn(current, activation, (late) =>
          replaceData({ ...this.#partsOf(current), ...given }, { activation, late }),
        );
      } catch (thrown) {
        if (context.ended) return;
        deps.logger.warn({ target: id, restore: run.id, err: thrown }, 'restore_failed');
        error = reasonOf(thrown);
      }
      await this.#removeFile(run.id);
      await context.report(() => this.#end(current, error));
    });
  }

  /** `late` of the work aborts at the deadline of the restore. */
  async #inTurn(
    current: Current,
    activation: AbortSignal,
    work: (late: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { clock, restores } = this.#core.deps;
    const { turns, deadlineMs } = restores;
    if (turns.areTaken) this.#say(current, 'Waiting for other restores.');
    const leave = await turns.take(current.run.teamId, activation);
    const late = new AbortController();
    const cancel = clock.after(deadlineMs, () => late.abort(tooLong(deadlineMs)));
    try {
      await work(late.signal);
    } finally {
      cancel();
      leave();
    }
  }

  #partsOf(current: Current) {
    return {
      core: this.#core,
      host: this.#host,
      run: () => current.run,
      file: this.#fileOf(current.run.id),
      say: (line: string) => this.#say(current, line),
      enter: (phase: RestoreRunRecord['phase'], signal: AbortSignal) =>
        this.#core.context.report(() => this.#enter(current, phase), signal),
    };
  }

  #enter(current: Current, phase: RestoreRunRecord['phase']): Promise<void> {
    const touchedAtMs = this.#core.deps.clock.now();
    return this.#save(current, { phase, ...(phase === 'replacing' && { touchedAtMs }) });
  }

  #say(current: Current, line: string): void {
    const { clock } = this.#core.deps;
    current.log.add(line);
    if (current.run.status !== 'running') return;
    if (!hasPassed(clock, current.savedAtMs, saveLogEveryMs)) return;
    current.savedAtMs = clock.now();
    // Whoever restores hears of a failure by the next change.
    this.#core.context.report(() => this.#save(current, {})).catch(() => undefined);
  }

  async #save(current: Current, patch: Partial<RestoreRunRecord>): Promise<void> {
    if (current.run.status !== 'running') return;
    current.run = { ...current.run, ...patch, ...current.log.stored };
    await this.#core.context.commit([put(tables.restoreRuns, current.run)]);
  }

  #end(current: Current, error: string | null): void {
    const { context, deps, id } = this.#core;
    current.arrived?.();
    const ended: Partial<RestoreRunRecord> = {
      status: error === null ? 'success' : 'failed',
      phase: 'ended',
      error,
      finishedAtMs: deps.clock.now(),
    };
    void this.#save(current, ended);
    this.#current = null;
    const { status } = current.run;
    deps.logger.info({ target: id, restore: current.run.id, status }, 'restore_ended');
    if (!this.#core.isHeld) return;
    this.#core.letGo();
    context.afterCommit(() => void context.report(() => this.#host.released()));
  }

  #news(restoreId: string, from: number) {
    const current = this.#current?.run.id === restoreId ? this.#current : null;
    const run = current?.run ?? this.#core.deps.reader.get(tables.restoreRuns, restoreId);
    if (run?.targetId !== this.#core.id) throw new ServiceError('NOT_FOUND', 'No such restore.');
    const { lines, first } = (current?.log ?? new RestoreLog(run)).from(from);
    return { status: run.status, error: run.error, lines, next: first + lines.length };
  }

  /** RUN_NOT_FINISHED, ARTIFACT_GONE, NOT_FOUND. */
  #requireStored(backupRunId: string): void {
    const run = this.#core.deps.reader.get(tables.backupRuns, backupRunId);
    if (run?.targetId !== this.#core.id) throw new ServiceError('NOT_FOUND', 'No such backup.');
    if (run.status === 'running' || run.status === 'verifying') {
      throw new ServiceError('RUN_NOT_FINISHED', 'This backup is still under way.');
    }
    if (run.status === 'success' && run.artifact === 'stored') return;
    throw new ServiceError('ARTIFACT_GONE', 'This backup came to nothing: there is no artifact.');
  }

  /** Changes that forget the oldest restores of the target. */
  #forgotten(): Change[] {
    const { reader } = this.#core.deps;
    const prefix = [this.#core.id];
    const surplus = reader.count(tables.restoreRuns, 'target', prefix) - restoresKept + 1;
    if (surplus <= 0) return [];
    const oldest = reader.list(tables.restoreRuns, 'target', prefix, { limit: surplus });
    return oldest.map(({ id }) => remove(tables.restoreRuns, id));
  }

  #fileOf(restoreId: string): string {
    return join(this.#core.deps.restores.root, restoreId);
  }

  /** If this fails, the file goes with the next start. */
  async #removeFile(restoreId: string): Promise<void> {
    await rm(this.#fileOf(restoreId), { force: true }).catch((error: unknown) => {
      this.#core.deps.logger.warn({ restore: restoreId, err: error }, 'artifact_not_removed');
    });
  }
}

type RestoreHandlers = {
  [T in keyof RestoreProtocol]: (
    message: { type: T } & RestoreProtocol[T]['in'],
  ) => RestoreProtocol[T]['out'] | Promise<RestoreProtocol[T]['out']>;
};

function tooLong(deadlineMs: number): ServiceError {
  const minutes = String(Math.round(deadlineMs / 60_000));
  return new ServiceError('DEADLINE_EXCEEDED', `The restore took longer than ${minutes} minutes.`);
}

function reasonOf(thrown: unknown): string {
  const code = thrown instanceof ServiceError ? ` (${thrown.code})` : '';
  return `${sentenceOf(thrown)}${code}`;
}
