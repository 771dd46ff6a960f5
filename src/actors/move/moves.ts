/**
 * Owns moving one app or database to another server, in its actor.
 *
 * 1. It is stopped while its files are copied, and is started on the other server. Where anything fails until it is well
 *    there, it goes on where it was, with the files that it had.
 * 2. The files of the place that it is not at are removed when the move is over. A server that is away then is asked
 *    again. Only another move waits for that, and not for long.
 * 3. While it is moved it is held: nothing builds, starts, stops or deletes it. A deployment asked for meanwhile waits.
 * 4. A move that a crash cut off while it copied ends; one that had only to start goes on.
 * 5. A server that drains by the end of the copy gets nothing: one that is to be removed drains, or has counted the move.
 */
import { hasPassed, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { LogName } from '../../logs/files/log.ts';
import { localServerId } from '../../places/local-place.ts';
import type { Place, TreeName } from '../../places/place.ts';
import type { Change } from '../../store/records/table.ts';
import type { MoveRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { checkServer } from '../app/settings/validate.ts';
import type { Protocol } from '../runtime/actor.ts';
import { checkNotHeld } from '../restore/held.ts';
import { counted, type RestoreHost } from '../restore/restore-work.ts';
import type { WorkloadCore, WorkloadRecord } from '../workload/core.ts';
import type { WorkloadDeps } from '../workload/deps.ts';
import { freeUid } from '../workload/free-uid.ts';
import { sentenceOf } from '../workload/work-failed.ts';
import { filesAt, leftoverOf } from './moved-files.ts';
import type { MoveProtocol } from './protocol.ts';

/** What apps and databases do differently. */
export interface MoveHost extends Pick<
  RestoreHost,
  'isIdle' | 'stop' | 'isStopped' | 'start' | 'released'
> {
  /** Rejects with why it cannot run at this place. */
  check: (to: Place, isForced: boolean) => Promise<void>;
  /** Trees that hardly change while it runs: they are tried before it is stopped. */
  fixed: () => readonly TreeName[];
  /** Lets go of workloads that are to end at a place that is not reached. */
  forget: () => void;
  /** It is at another place for good. */
  moved: () => readonly Change[];
  log: LogName;
}

const alarmName = 'move-tidy';
const pollMs = 100;
const tellEveryMs = 1_000;
const tidyAgainMs = 10 * 60_000;
/** Behind a crash of this process it is woken after so long. */
const wakeMs = 60_000;
/** How long it is waited for what has started at the other server to end there, before it goes back. */
const endMs = 30_000;
/** How long a move waits until what the last one left is removed. */
const tidyMs = 10_000;

export class Moves<
  R extends WorkloadRecord,
  P extends Protocol & MoveProtocol<R>,
  D extends WorkloadDeps,
> {
  readonly #core: WorkloadCore<R, P, D>;
  readonly #host: MoveHost;
  #cancel: AbortController | null = null;
  /** Resolves with whether what the last move left is gone; null: nobody removes it now. */
  #tidying: Promise<boolean> | null = null;

  constructor(core: WorkloadCore<R, P, D>, host: MoveHost) {
    this.#core = core;
    this.#host = host;
  }

  get handlers() {
    return {
      move: ({ serverId, isForced = false }: { serverId: string; isForced?: boolean }) =>
        this.#move(serverId, isForced),
      'move-tidy': () => this.#tidy(),
    };
  }

  /** Takes up what an earlier activation left. Before anything of it is started. */
  resume(): void {
    const move = this.#core.record?.move;
    if (move?.phase !== 'copying' && move?.phase !== 'starting') return;
    this.#core.hold('move');
    if (move.phase === 'starting') this.#launch((signal) => this.#finish(signal));
    else this.#launch(() => Promise.reject(interrupted()));
  }

  async #move(wanted: string, isForced: boolean): Promise<R> {
    const core = this.#core;
    const { serverId, move } = core.require();
    if (this.#cancel !== null) {
      if (wanted !== move?.fromServerId) throw busy();
      this.#cancel.abort(new ServiceError('CONFLICT', 'Somebody wanted it to stay where it was.'));
      return core.require();
    }
    checkNotHeld(core);
    const { reader } = core.deps;
    if (reader.count(tables.restoreRuns, 'open', [core.id]) > 0) {
      throw new ServiceError('RESTORE_RUNNING', 'A restore of it is under way.', {
        retryAfterS: 5,
      });
    }
    const toServerId = checkServer(reader, wanted);
    if (toServerId === serverId) throw new ServiceError('CONFLICT', 'It is on this server.');
    const [from, to] = [core.placeAt(serverId), core.placeAt(toServerId)];
    if (from.driver.runs !== 'host' || to.driver.runs !== 'host') {
      throw new ServiceError('CONFLICT', 'What runs in a container cannot be moved yet.');
    }
    await this.#host.check(to, isForced);
    if (move?.hasLeftover === true && !(await this.#isTidySoon(move))) throw leftover();
    const [, { uids }] = await Promise.all([from.machine(), to.machine()]);
    const fromUid = core.uid ?? 0;
    const range = uids?.[core.kind.name] ?? null;
    const toUid = range === null || fromUid === 0 ? await freeUid(reader, core.kind.table, range, 0) : fromUid; // prettier-ignore
    const nowMs = core.deps.clock.now();
    core.hold('move');
    const saved = this.#save(
      {
        ...{ fromServerId: serverId, toServerId, fromUid, toUid, phase: 'copying', bytes: 0 },
        ...{ error: null, hasLeftover: false, startedAtMs: nowMs, endedAtMs: null },
      },
      {},
      [this.#alarm(wakeMs)],
    );
    this.#launch((signal) => this.#copy(signal));
    return saved;
  }

  #launch(work: (signal: AbortSignal) => Promise<void>): void {
    const { context, deps, id } = this.#core;
    const cancel = new AbortController();
    this.#cancel = cancel;
    const signal = AbortSignal.any([context.signal, cancel.signal]);
    context.afterCommit(() =>
      context.work('move', async () => {
        try {
          await work(signal);
          await context.report(() => this.#end('done', null));
        } catch (error) {
          if (context.signal.aborted) return;
          const reason: unknown = cancel.signal.aborted ? cancel.signal.reason : error;
          deps.logger.warn({ owner: id, err: reason }, 'move_failed');
          await this.#goBack(sentenceOf(reason));
        }
      }),
    );
  }

  async #copy(signal: AbortSignal): Promise<void> {
    const { context, durable } = this.#core;
    const host = this.#host;
    await durable;
    await this.#until(() => host.isIdle(), signal);
    const { fromServerId, toServerId, fromUid, toUid } = this.#current;
    const [from, to] = await Promise.all([
      filesAt(this.#core, { serverId: fromServerId, uid: fromUid }),
      filesAt(this.#core, { serverId: toServerId, uid: toUid }),
    ]);
    // One that was never started has none yet.
    await from.ensure();
    this.#say('It is moved to another server: its files are copied.');
    const seen = this.#progress();
    const copy = (tree: TreeName): Promise<void> =>
      to.trees.fill(tree, counted(from.trees.pack(tree, signal), seen), signal);
    const changing: TreeName[] = [];
    for (const tree of host.fixed()) {
      await copy(tree).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') throw error;
        changing.push(tree);
      });
    }
    await context.report(() => host.stop(), signal);
    await this.#until(() => host.isStopped(), signal);
    for (const tree of [...changing, 'data']) await copy(tree);
    await context.report(() => {
      checkServer(this.#core.deps.reader, toServerId);
      const patch = { serverId: toServerId, uid: toUid };
      this.#save({ ...this.#current, phase: 'starting' }, patch);
    }, signal);
    await this.#finish(signal);
  }

  async #finish(signal: AbortSignal): Promise<void> {
    await this.#core.durable;
    this.#say('Its files are there. It is started.');
    await this.#host.start(signal);
  }

  async #goBack(error: string): Promise<void> {
    const core = this.#core;
    const { context, deps } = core;
    const { fromServerId, fromUid, phase } = this.#current;
    if (phase === 'starting') {
      await context.report(() => this.#host.stop());
      const late = new AbortController();
      const inTime = deps.clock.after(endMs, () => late.abort());
      const signal = AbortSignal.any([context.signal, late.signal]);
      await this.#until(() => this.#host.isStopped(), signal).catch(() => undefined);
      inTime();
    }
    if (context.signal.aborted) return;
    await context.report(() => {
      if (phase === 'starting') {
        // A server that is away ends it when it comes back: it is of another place then.
        this.#host.forget();
        core.save({ serverId: fromServerId, uid: fromUid });
      }
      this.#end('failed', error);
    });
    deps.logger.info({ owner: core.id, server: fromServerId }, 'move_went_back');
  }

  #end(phase: 'done' | 'failed', error: string | null): void {
    const core = this.#core;
    const { clock } = core.deps;
    this.#cancel = null;
    const changes = phase === 'done' ? this.#host.moved() : [];
    const ended = { ...this.#current, phase, error, hasLeftover: true, endedAtMs: clock.now() };
    this.#save(ended, {}, [...changes, this.#alarm(0)]);
    this.#say(phase === 'done' ? 'It is moved.' : `It is not moved: ${error ?? ''}`);
    core.letGo();
    this.#host.released();
  }

  /** Whether nothing is left to do. */
  #tidy(): boolean {
    const { context, record } = this.#core;
    const move = record?.move;
    if (move === undefined) return true;
    const isOver = move.endedAtMs !== null;
    if (isOver && !move.hasLeftover) return true;
    void context.commit([this.#alarm(wakeMs)]);
    if (isOver) void this.#isTidied(move);
    return false;
  }

  #isTidySoon(move: MoveRecord): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const cancel = this.#core.deps.clock.after(tidyMs, () => late.resolve(false));
    return Promise.race([this.#isTidied(move), late.promise]).finally(cancel);
  }

  #isTidied(move: MoveRecord): Promise<boolean> {
    if (this.#tidying !== null) return this.#tidying;
    const { context, deps, id } = this.#core;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#tidying = promise;
    const tidy = async (signal: AbortSignal): Promise<void> => {
      let isGone = true;
      try {
        await this.#removeLeftover(move, signal);
      } catch (err) {
        if (signal.aborted) return;
        deps.logger.warn({ owner: id, err }, 'move_not_tidied');
        isGone = false;
      }
      resolve(isGone);
      await context.report(() => {
        this.#tidying = null;
        // It may be deleted meanwhile, or moved again.
        if (this.#core.record?.move?.startedAtMs !== move.startedAtMs) return;
        if (isGone)
          this.#save({ ...move, hasLeftover: false }, {}, [context.clearAlarm(alarmName)]);
        else void context.commit([this.#alarm(tidyAgainMs)]);
      });
    };
    context.afterCommit(() => context.work(alarmName, tidy));
    return promise;
  }

  async #removeLeftover(move: MoveRecord, signal: AbortSignal): Promise<void> {
    const { deps, record } = this.#core;
    if (record === null) return;
    const left = leftoverOf({ serverId: record.serverId, move });
    if (left === null) return;
    if (record.serverId !== localServerId && !deps.reader.get(tables.servers, record.serverId)) {
      throw new ServiceError('CONFLICT', 'Its server was removed: what is left may be all of it.');
    }
    await (await filesAt(this.#core, left)).remove(signal);
  }

  get #current(): MoveRecord {
    const move = this.#core.record?.move;
    if (move === undefined) throw new Error('Cannot go on: there is no move');
    return move;
  }

  #save(move: MoveRecord, patch: Partial<WorkloadRecord> = {}, changes: readonly Change[] = []): R {
    return this.#core.save({ ...patch, move }, changes);
  }

  #alarm(inMs: number): Change {
    const { context, deps } = this.#core;
    return context.alarm(alarmName, deps.clock.now() + inMs, { type: alarmName });
  }

  async #until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    const { context, deps } = this.#core;
    while (!(await context.report(isSo, signal))) await pause(deps.clock, pollMs, signal);
  }

  /** How far it is, for who looks; it is stored as seldom as people can read. */
  #progress(): (bytes: number) => void {
    const { context, deps } = this.#core;
    let [bytes, told] = [0, deps.clock.now()];
    return (more) => {
      bytes += more;
      if (!hasPassed(deps.clock, told, tellEveryMs)) return;
      told = deps.clock.now();
      context.report(() => void this.#save({ ...this.#current, bytes })).catch(() => undefined);
    };
  }

  #say(line: string): void {
    this.#core.deps.streams.write(this.#host.log, line);
  }
}

function busy(): ServiceError {
  const detail = 'It is being moved. Move it to where it came from to end that.';
  return new ServiceError('CONFLICT', detail);
}

function leftover(): ServiceError {
  const detail =
    'What its last move left at the other server is still to be removed. Try again when that is done; a server that is away has to come back first, or to be removed.';
  return new ServiceError('CONFLICT', detail, { retryAfterS: 5 });
}

function interrupted(): ServiceError {
  return new ServiceError('CONFLICT', 'Gangway ended while its files were copied.');
}
