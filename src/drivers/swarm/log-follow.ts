/**
 * Owns following the logs of a workload's tasks as one, over restarts of tasks, of the daemon and our own.
 *
 * 1. Numbers ascend by one and stay: what was merged once is merged again in the same way, from the
 *    journal; only what stands behind it is merged anew, and written there before it is delivered.
 * 2. Logs are read only as fast as the sink takes; the nodes keep them in files meanwhile.
 * 3. It ends when the workload has ended and all was delivered, or is gone; a daemon that is away is
 *    waited for.
 */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogEntry, Workload } from '../../protocol/workload.ts';
import { isAway, pause, statusOf } from '../docker/engine/engine.ts';
import type { Engine } from '../docker/engine/engine.ts';
import type { Sink } from '../docker/logs/log-follow.ts';
import type { MergeJournal, Plan, Run } from './merge-journal.ts';
import { nextBatch } from './merging.ts';
import type { SeenService } from './services.ts';
import { begun, isAlive } from './states.ts';
import { TaskLog } from './task-log.ts';
import type { TaskEntry } from './task-log.ts';
import { containerOf, isOver } from './tasks.ts';
import type { TaskView } from './tasks.ts';

export interface LogFollowParts {
  engine: Engine;
  journal: MergeJournal;
  logger: Logger;
  clock: Clock;
  see: (id: string) => Promise<SeenService | undefined>;
  /** What failed before there was a service. */
  inspect: (id: string) => Promise<Workload | undefined>;
  /** Calls back on every change of this workload. */
  watch: (id: string, changed: () => void) => () => void;
}

const retryMs = 200;
/** Tasks on other nodes come and go without an event. */
const lookEveryMs = 1000;

export class LogFollow {
  readonly #parts: LogFollowParts;
  readonly #id: string;
  readonly #sink: Sink;
  readonly #signal: AbortSignal;
  #delivered: number;

  constructor(
    parts: LogFollowParts,
    id: string,
    afterSeq: number,
    sink: Sink,
    signal: AbortSignal,
  ) {
    this.#parts = parts;
    this.#id = id;
    this.#sink = sink;
    this.#signal = AbortSignal.any([signal, parts.engine.closed]);
    this.#delivered = afterSeq;
  }

  async run(): Promise<void> {
    let known = false;
    while (!this.#signal.aborted) {
      const seen = await this.#look();
      if (seen === 'away') continue;
      if (!seen) {
        if (known || (await this.#parts.inspect(this.#id))) return;
        throw new ServiceError('NOT_FOUND', 'There is no such workload.');
      }
      known = true;
      if (await this.#session(seen)) return;
    }
  }

  async #look(): Promise<SeenService | undefined | 'away'> {
    try {
      return await this.#parts.see(this.#id);
    } catch (error) {
      if (this.#signal.aborted) return 'away';
      if (!isAway(error) && statusOf(error) === undefined) throw error;
      await pause(retryMs, this.#signal); // A daemon on its way down refuses for reasons of its own.
      return 'away';
    }
  }

  /** Until all is delivered (true), or somebody else merged meanwhile and it has to begin anew. */
  async #session(seen: SeenService): Promise<boolean> {
    const { journal } = this.#parts;
    const stop = new AbortController();
    const plan = journal.after(this.#delivered);
    const session = new Session(this.#parts, plan, AbortSignal.any([this.#signal, stop.signal]));
    const unwatch = this.#parts.watch(this.#id, () => session.lookAgain());
    try {
      session.learn(seen);
      const merged = await this.#repeat(session, plan);
      return await this.#goOn(session, merged);
    } finally {
      unwatch();
      stop.abort();
    }
  }

  /** What was merged before, in the same order; the number of its last entry. */
  async #repeat(session: Session, plan: Plan): Promise<number> {
    let { seq } = plan;
    let batch: LogEntry[] = [];
    const flush = async (): Promise<void> => {
      if (batch.length > 0) await this.#deliver(batch);
      batch = [];
    };
    for (const run of plan.runs) {
      for (const entry of await session.planned(run)) {
        seq++;
        // What its task's log has lost has no entry any more; its number stays its own.
        if (entry && seq > this.#delivered) batch.push(numbered(entry, seq));
      }
      if (this.#signal.aborted) return seq;
      if (batch.length > 0) await flush();
    }
    return seq;
  }

  async #goOn(session: Session, merged: number): Promise<boolean> {
    const { clock, journal } = this.#parts;
    let seq = merged;
    for (;;) {
      if (this.#signal.aborted) return true;
      if (session.isDue) {
        const seen = await this.#look();
        if (!seen) return true;
        if (seen !== 'away') session.learn(seen);
      }
      const next = nextBatch(session.logs, clock);
      if (next.kind === 'wait') {
        if (session.isWhole) return true;
        await session.change(next.untilMs);
        continue;
      }
      const { entries, runs, positions } = next.batch;
      if (!journal.append(seq, { runs, positions })) return false;
      const first = seq + 1;
      seq += entries.length;
      const fresh = entries.map((entry, at) => numbered(entry, first + at));
      await this.#deliver(fresh.filter((entry) => entry.seq > this.#delivered));
    }
  }

  async #deliver(entries: readonly LogEntry[]): Promise<void> {
    const last = entries.at(-1);
    if (!last || this.#signal.aborted) return;
    await this.#sink(entries);
    this.#delivered = last.seq;
  }
}

function numbered({ atMs, stream, bytes }: TaskEntry, seq: number): LogEntry {
  return { seq, atMs, stream, bytes };
}

/** The logs that are open at a time, and what is known of their tasks. */
class Session {
  readonly #parts: LogFollowParts;
  readonly #plan: Plan;
  readonly #signal: AbortSignal;
  readonly #logs = new Map<string, TaskLog>();
  /** Of what the plan names: entries before were told already. */
  readonly #told = new Map<string, number>();
  #seen: SeenService | undefined;
  #ended = false;
  #nextLookAtMs = 0;
  #wake: (() => void) | null = null;

  constructor(parts: LogFollowParts, plan: Plan, signal: AbortSignal) {
    this.#parts = parts;
    this.#plan = plan;
    this.#signal = signal;
    for (const [task, count] of Object.entries(plan.counts)) this.#told.set(task, count);
  }

  get logs(): TaskLog[] {
    const logs = [...this.#logs.values()];
    for (const log of logs) this.#skipTold(log);
    return logs;
  }

  /** Whether the tasks are to be looked at again. */
  get isDue(): boolean {
    return this.#parts.clock.now() >= this.#nextLookAtMs;
  }

  /** Whether all was told of a workload that has ended. */
  get isWhole(): boolean {
    return this.#ended && [...this.#logs.values()].every((log) => log.done);
  }

  lookAgain(): void {
    this.#nextLookAtMs = 0;
    this.#wake?.();
  }

  learn(seen: SeenService): void {
    this.#seen = seen;
    this.#ended = seen.workload.state.phase === 'ended';
    this.#nextLookAtMs = this.#ended ? Infinity : this.#parts.clock.now() + lookEveryMs;
    for (const task of seen.tasks) {
      if (this.#isOver(task)) this.#logs.get(task.ID)?.setOver();
      if (begun(task, seen)) this.#open(task);
    }
    this.#parts.journal.keep(new Set(seen.tasks.map(({ ID: id }) => id)));
  }

  /** The next entries of a task, as they were merged before; undefined for each that is lost. */
  async planned([taskId, count]: Run): Promise<(TaskEntry | undefined)[]> {
    const entries: (TaskEntry | undefined)[] = [];
    const from = this.#told.get(taskId) ?? 0;
    const log = this.#logs.get(taskId);
    for (let nth = from + 1; nth <= from + count; nth++) {
      while (log && !log.done && !log.head && !this.#signal.aborted) await this.change(null);
      if (this.#signal.aborted) break;
      if (log) this.#skipBefore(log, nth);
      entries.push(log?.head?.nth === nth ? log.take() : undefined);
    }
    this.#told.set(taskId, from + count);
    const lost = entries.filter((entry) => !entry).length;
    if (lost > 0) this.#parts.logger.warn({ task: taskId, lost }, 'task_log_gone');
    return entries;
  }

  /** Resolves with the next thing that comes, or at that time, or when a look is due. */
  change(untilMs: number | null): Promise<void> {
    const { clock } = this.#parts;
    const atMs = Math.min(untilMs ?? Infinity, this.#nextLookAtMs);
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = null;
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      const delayMs = Math.max(1, Math.min(atMs - clock.now(), lookEveryMs));
      const timer = setTimeout(done, delayMs);
      this.#wake = done;
      this.#signal.addEventListener('abort', done);
      if (this.#signal.aborted) done();
    });
  }

  #isOver(task: TaskView): boolean {
    const seen = this.#seen;
    if (!seen) return false;
    return isOver(task) || (begun(task, seen) && !isAlive(task, seen));
  }

  #open(task: TaskView): void {
    if (this.#logs.has(task.ID) || !this.#seen) return;
    const { engine, logger, clock } = this.#parts;
    const container = containerOf(task);
    const { service, containers } = this.#seen;
    const template = service.Spec.TaskTemplate as { ContainerSpec?: { TTY?: boolean } };
    const log = new TaskLog(
      {
        engine,
        logger,
        taskId: task.ID,
        containerId: container !== null && containers.has(container) ? container : null,
        hasTerminal: template.ContainerSpec?.TTY ?? false,
        from: this.#plan.positions[task.ID] ?? null,
        told: this.#plan.counts[task.ID] ?? 0,
        over: this.#isOver(task),
        changed: () => this.#wake?.(),
        signal: this.#signal,
      },
      clock.now(),
    );
    this.#logs.set(task.ID, log);
  }

  #skipTold(log: TaskLog): void {
    this.#skipBefore(log, (this.#told.get(log.taskId) ?? 0) + 1);
  }

  #skipBefore(log: TaskLog, nth: number): void {
    while (log.head && log.head.nth < nth) log.take();
  }
}
