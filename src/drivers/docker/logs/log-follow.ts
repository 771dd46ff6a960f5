/**
 * Owns following the log of one container, over its restarts, those of the daemon and our own.
 *
 * 1. Numbers ascend by one, and an entry keeps its number (see `LogReading`).
 * 2. The log is read only as fast as the sink takes entries; the daemon keeps it in files.
 * 3. It ends when the workload has ended and everything was delivered, or when the workload is removed.
 *    A daemon that is away is waited for.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { LogEntry, Workload } from '../../../protocol/workload.ts';
import { isAway, isBroken, pause, statusOf } from '../engine/engine.ts';
import type { Engine } from '../engine/engine.ts';
import { FrameReader, RawLogReader } from './stream-frames.ts';
import type { Frame } from './stream-frames.ts';
import { LogReading, timed } from './log-cursor.ts';
import type { Position } from './log-cursor.ts';
import type { Names } from '../engine/names.ts';
import type { LogPositions } from './log-positions.ts';

export interface LogFollowParts {
  engine: Pick<Engine, 'begin' | 'closed'>;
  names: Pick<Names, 'container'>;
  positions: LogPositions;
  logger: Logger;
  inspect: (id: string) => Promise<Workload | undefined>;
  /** Whether the container has a terminal. Then its log has no frames. */
  hasTerminal: (id: string) => Promise<boolean>;
  /** Resolves with the next change of this workload, or when aborted. */
  nextChange: (id: string, signal: AbortSignal) => Promise<void>;
}

export type Sink = (entries: readonly LogEntry[]) => void | Promise<void>;

/**
 * `whole`: read to the end of the log; `passed`: the position is no longer in the log; `rotated`: the
 * log was to be read from its beginning, and that is no longer there; `broken`: the stream broke off.
 */
type Outcome = 'whole' | 'passed' | 'rotated' | 'broken';

const retryMs = 200;

export class LogFollow {
  readonly #parts: LogFollowParts;
  readonly #id: string;
  readonly #afterSeq: number;
  readonly #sink: Sink;
  readonly #signal: AbortSignal;
  #at: Position | null;
  #lost = false;

  constructor(
    parts: LogFollowParts,
    id: string,
    afterSeq: number,
    sink: Sink,
    signal: AbortSignal,
  ) {
    this.#parts = parts;
    this.#id = id;
    this.#afterSeq = afterSeq;
    this.#sink = sink;
    this.#signal = AbortSignal.any([signal, parts.engine.closed]);
    this.#at = parts.positions.before(id, afterSeq);
  }

  async run(): Promise<void> {
    let known = false;
    while (!this.#signal.aborted) {
      const workload = await this.#look();
      if (this.#isOver()) return;
      if (workload === 'away') continue;
      if (!workload) {
        if (known) return;
        throw new ServiceError('NOT_FOUND', 'There is no such workload.');
      }
      known = true;
      // The phase is asked for before the log is read: an ended workload writes no more.
      const { phase } = workload.state;
      // So is the next change, so that none is missed while the log is read.
      const change = new AbortController();
      const changed = this.#parts.nextChange(
        this.#id,
        AbortSignal.any([this.#signal, change.signal]),
      );
      try {
        const outcome = await this.#read(phase === 'ended');
        if (this.#settle(outcome, phase === 'ended')) return;
        if (phase === 'waiting') await Promise.race([changed, pause(retryMs * 5, this.#signal)]);
        else if (outcome === 'broken') await pause(retryMs, this.#signal);
        else if (outcome !== 'passed') await pause(retryMs / 4, this.#signal);
      } finally {
        change.abort();
      }
    }
  }

  /** Whether everything was read. */
  #settle(outcome: Outcome, ended: boolean): boolean {
    switch (outcome) {
      case 'whole':
        return ended;
      case 'passed':
        this.#lose();
        return false;
      case 'rotated':
        this.#at = this.#parts.positions.oldest(this.#id);
        if (!this.#at) this.#lose();
        return false;
      case 'broken':
        return false;
    }
  }

  /**
   * The position is lost: all entries left in the log count as new, after those that were delivered.
   */
  #lose(): void {
    this.#parts.logger.warn({ workload: this.#id }, 'container_log_rotated_away');
    this.#lost = true;
  }

  async #look(): Promise<Workload | undefined | 'away'> {
    try {
      return await this.#parts.inspect(this.#id);
    } catch (error) {
      if (isAway(error)) return 'away';
      if (statusOf(error) === undefined) throw error;
      await pause(retryMs, this.#signal); // A daemon that is ending refuses requests, too.
      return 'away';
    }
  }

  async #read(ended: boolean): Promise<Outcome> {
    const reading = new LogReading(this.#at, this.#lost, this.#afterSeq);
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    try {
      const stream = await this.#open(reading.since, signal);
      if (!stream) return 'whole'; // The container was never made, so there is no log.
      const outcome = await this.#deliver(stream, reading);
      if (outcome !== 'whole') return outcome;
      // The log of an ended workload was read whole, and the position was not in it.
      return reading.seeking && ended ? 'passed' : 'whole';
    } catch (error) {
      if (this.#signal.aborted || isBroken(error)) return 'broken';
      throw error;
    } finally {
      stop.abort();
    }
  }

  async #open(since: string, signal: AbortSignal): Promise<NodeJS.ReadableStream | undefined> {
    const { engine, names } = this.#parts;
    try {
      return await engine.begin(
        (docker) =>
          docker.getContainer(names.container(this.#id)).logs({
            follow: true,
            stdout: true,
            stderr: true,
            timestamps: true,
            since: since as unknown as number,
          }),
        signal,
      );
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  async #deliver(stream: NodeJS.ReadableStream, reading: LogReading): Promise<Outcome> {
    const hasTerminal = await this.#parts.hasTerminal(this.#id);
    const frames = hasTerminal ? new RawLogReader() : new FrameReader();
    // Once the log is known to be cut, its first entry is not looked at again.
    let isBeginning = this.#at === null && !this.#lost;
    for await (const chunk of stream) {
      const read = frames.push(chunk as Buffer);
      const [first] = read;
      if (isBeginning && first && this.#isCut(first)) return 'rotated';
      if (first) isBeginning = false;
      const outcome = await this.#pass(read, reading);
      if (outcome !== null) return outcome;
    }
    return (await this.#pass(frames.end(), reading)) ?? 'whole';
  }

  /** Whether the log's first entry was another one before, and entries of it were delivered. */
  #isCut(first: Frame): boolean {
    const { positions } = this.#parts;
    if (positions.beginsAt(this.#id, timed(first).time)) return false;
    return this.#afterSeq > 0 || positions.oldest(this.#id) !== null;
  }

  /** Null: read on. */
  async #pass(frames: readonly Frame[], reading: LogReading): Promise<Outcome | null> {
    const { positions } = this.#parts;
    const entries: LogEntry[] = [];
    for (const frame of frames) {
      const entry = reading.take(timed(frame));
      if (entry === 'passed') return 'passed';
      if (!entry) continue;
      if (this.#lost) this.#pin(reading.position());
      if (entry.seq > this.#afterSeq) entries.push(entry);
    }
    if (reading.seeking) return null;
    if (entries.length > 0) await this.#sink(entries);
    if (this.#isOver()) return 'broken';
    const at = reading.position();
    if (!at || at.seq === this.#at?.seq) return null;
    this.#at = at;
    positions.delivered(this.#id, at);
    return null;
  }

  #pin(first: Position | null): void {
    if (first) this.#parts.positions.pin(this.#id, first);
    this.#lost = false;
  }

  #isOver(): boolean {
    return this.#signal.aborted;
  }
}
