/**
 * Owns following the logs of a workload as one, over restarts of its containers, of the daemon and our own.
 *
 * 1. Numbers ascend by one and stay: what was merged once is merged again in the same way, from the
 *    journal. Only what stands behind it is merged anew, and written there before it is delivered.
 * 2. Logs are read only as fast as the sink takes entries; the daemon keeps them in files.
 * 3. It ends when the workload has ended and everything was delivered, or when the workload is removed.
 *    A daemon that is away is waited for.
 */
import type { Clock } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { LogEntry } from '../../../protocol/workload.ts';
import type { Driver } from '../../driver.ts';
import { type Engine, isAway, pause, statusOf } from '../engine/engine.ts';
import { type ContainerEntry, ContainerLog, type LogSource } from './container-log.ts';
import type { MergeJournal, Plan, Run } from './merge-journal.ts';
import { nextBatch } from './merging.ts';

/** What a workload has of logs. */
export interface WorkloadLogs {
  /** Whether it has ended: its logs are whole, and there will be no others. */
  ended: boolean;
  sources: readonly LogSource[];
}

export interface LogFollowParts {
  engine: Pick<Engine, 'begin' | 'closed'>;
  journal: Pick<MergeJournal, 'after' | 'append' | 'keep'>;
  logger: Logger;
  clock: Clock;
  /** Undefined when there is no such workload. */
  look: () => Promise<WorkloadLogs | undefined>;
  /** Calls back on every change of the workload. */
  watch: (changed: () => void) => () => void;
}

export type Sink = Parameters<Driver['follow']>[2];

const retryMs = 200;

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
      const found = await this.#look();
      if (found === 'away') continue;
      if (!found) {
        if (known) return;
        throw new ServiceError('NOT_FOUND', 'There is no such workload.');
      }
      known = true;
      if (await this.#session(found)) return;
    }
  }

  async #look(): Promise<WorkloadLogs | undefined | 'away'> {
    try {
      return await this.#parts.look();
    } catch (error) {
      if (this.#signal.aborted) return 'away';
      if (!isAway(error) && statusOf(error) === undefined) throw error;
      await pause(retryMs, this.#signal); // A daemon that is ending refuses requests, too.
      return 'away';
    }
  }

  /** Until all is delivered (true), or somebody else merged meanwhile and it has to begin anew. */
  async #session(found: WorkloadLogs): Promise<boolean> {
    const plan = this.#parts.journal.after(this.#delivered);
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    const look = (): Promise<WorkloadLogs | undefined | 'away'> => this.#look();
    const session = new Session({ ...this.#parts, look }, this.#id, plan, signal);
    const unwatch = this.#parts.watch(() => session.changed());
    try {
      session.learn(found);
      const merged = await this.#repeat(session, plan);
      return await this.#goOn(session, merged);
    } finally {
      unwatch();
      stop.abort();
    }
  }

  /** Delivers what was merged before, in the same order. Returns the number of its last entry. */
  async #repeat(session: Session, plan: Plan): Promise<number> {
    let { seq } = plan;
    for (const run of plan.runs) {
      const batch: LogEntry[] = [];
      for (const entry of await session.planned(run)) {
        seq++;
        // An entry that its log has lost keeps its number.
        if (entry && seq > this.#delivered) batch.push(numbered(entry, seq));
      }
      await this.#deliver(batch);
      if (this.#signal.aborted) return seq;
    }
    return seq;
  }

  async #goOn(session: Session, merged: number): Promise<boolean> {
    const { clock, journal } = this.#parts;
    let seq = merged;
    for (;;) {
      if (this.#signal.aborted) return true;
      if (!(await session.update())) return true;
      const next = nextBatch(session.logs, clock);
      if (next.kind === 'wait') {
        if (session.isWhole) return true;
        await session.change(next.untilMs);
        continue;
      }
      const { entries, records } = next.batch;
      if (!journal.append(seq, ...records)) return false;
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

function numbered({ atMs, stream, bytes }: ContainerEntry, seq: number): LogEntry {
  return { seq, atMs, stream, bytes };
}

interface SessionParts extends Omit<LogFollowParts, 'look'> {
  look: () => Promise<WorkloadLogs | undefined | 'away'>;
}

/** The logs that are open at a time, and what is known of their containers. */
class Session {
  readonly #parts: SessionParts;
  readonly #workload: string;
  readonly #plan: Plan;
  readonly #signal: AbortSignal;
  readonly #logs = new Map<string, ContainerLog>();
  /** How many entries of each log the plan has passed: they were told already. */
  readonly #passed: Map<string, number>;
  #ended = false;
  /** Whether the workload is to be looked at again. */
  #isDue = false;
  #wake: (() => void) | null = null;

  constructor(parts: SessionParts, workload: string, plan: Plan, signal: AbortSignal) {
    this.#parts = parts;
    this.#workload = workload;
    this.#plan = plan;
    this.#signal = signal;
    this.#passed = new Map(Object.entries(plan.counts));
  }

  get logs(): ContainerLog[] {
    const logs = [...this.#logs.values()];
    for (const log of logs) skipBefore(log, (this.#passed.get(log.id) ?? 0) + 1);
    return logs;
  }

  /** Whether all was told of a workload that has ended. */
  get isWhole(): boolean {
    return this.#ended && [...this.#logs.values()].every((log) => log.done);
  }

  /** The workload has another state. */
  changed(): void {
    for (const log of this.#logs.values()) log.hurry();
    this.#lookAgain();
  }

  /** Looks at the workload again when that is due. False: it is gone. */
  async update(): Promise<boolean> {
    if (!this.#isDue) return true;
    this.#isDue = false;
    const found = await this.#parts.look();
    if (found === undefined || found === 'away') this.#isDue = true;
    else this.learn(found);
    return found !== undefined;
  }

  learn({ ended, sources }: WorkloadLogs): void {
    this.#ended = ended;
    for (const source of sources) {
      if (source.isOver) this.#logs.get(source.id)?.setOver();
      if (!this.#logs.has(source.id)) this.#logs.set(source.id, this.#open(source));
    }
    this.#parts.journal.keep(new Set(sources.map(({ id }) => id)));
  }

  /** The next entries of a log, as they were merged before; undefined for each that is lost. */
  async planned([id, count]: Run): Promise<(ContainerEntry | undefined)[]> {
    const entries: (ContainerEntry | undefined)[] = [];
    const from = this.#passed.get(id) ?? 0;
    const log = this.#logs.get(id);
    for (let nth = from + 1; nth <= from + count; nth++) {
      if (log && !log.head && !(await this.#comes(log))) return entries;
      if (log) skipBefore(log, nth);
      entries.push(log?.head?.nth === nth ? log.take() : undefined);
    }
    this.#passed.set(id, from + count);
    const lost = entries.filter((entry) => !entry).length;
    const fields = { workload: this.#workload, log: id, lost };
    if (lost > 0) this.#parts.logger.warn(fields, 'container_log_gone');
    return entries;
  }

  /** Whether the log has an entry or comes to its end before the workload is gone. */
  async #comes(log: ContainerLog): Promise<boolean> {
    for (;;) {
      if (this.#signal.aborted || !(await this.update())) return false;
      // What came while the workload was looked at has woken nobody.
      if (log.done || log.head) return true;
      await this.change(null);
    }
  }

  /** Resolves with the next thing that comes, or at that time; at once when a look is due. */
  change(untilMs: number | null): Promise<void> {
    const { clock } = this.#parts;
    return new Promise((resolve) => {
      const done = (): void => {
        cancel?.();
        this.#wake = null;
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = untilMs === null ? null : clock.after(untilMs - clock.now(), done);
      this.#wake = done;
      this.#signal.addEventListener('abort', done);
      if (this.#signal.aborted || this.#isDue) done();
    });
  }

  #lookAgain(): void {
    this.#isDue = true;
    this.#wake?.();
  }

  #open(source: LogSource): ContainerLog {
    const { engine, logger, clock } = this.#parts;
    const parts = {
      ...{ engine, logger, source, workload: this.#workload, signal: this.#signal },
      from: this.#plan.positions[source.id] ?? null,
      told: this.#plan.told[source.id] ?? 0,
      changed: () => this.#wake?.(),
      readingEnded: () => this.#lookAgain(),
    };
    return new ContainerLog(parts, clock.now());
  }
}

function skipBefore(log: ContainerLog, nth: number): void {
  while (log.head && log.head.nth < nth) log.take();
}
