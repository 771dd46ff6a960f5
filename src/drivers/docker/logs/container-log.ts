/**
 * Owns reading the log of one container to its end, ahead of who takes its entries by a bounded amount.
 *
 * 1. Entries are numbered as they stand in the log: see `LogReading`.
 * 2. A reading that ends or breaks is taken up behind the last entry that was read.
 */
import type { Logger } from '../../../lib/log.ts';
import type { LogEntry } from '../../../protocol/workload.ts';
import { type Engine, isBroken, pause, statusOf } from '../engine/engine.ts';
import { LogReading, type Position, timed } from './log-cursor.ts';
import { type Frame, FrameReader, RawLogReader } from './stream-frames.ts';

/** One of the logs of a workload. */
export interface LogSource {
  /** The same over restarts of what writes it. */
  id: string;
  /** Id or name of the container; null: it has none any more. */
  container: string | null;
  /** Then its log has no frames. */
  hasTerminal: boolean;
  /** It has ended, so its log is whole. */
  isOver: boolean;
}

export interface ContainerLogParts {
  engine: Pick<Engine, 'begin'>;
  logger: Logger;
  workload: string;
  source: LogSource;
  /** Where to go on; null: at the beginning. */
  from: Position | null;
  /** How many entries were merged: where its place is gone, what is left is new. */
  told: number;
  /** Called when there is something new to take, or nothing will come any more. */
  changed: () => void;
  /** Called when a reading has ended: the container may have ended, too. */
  readingEnded: () => void;
  signal: AbortSignal;
}

export interface ContainerEntry extends Omit<LogEntry, 'seq'> {
  /** Within the log. */
  nth: number;
  time: string;
  arrivedAtMs: number;
  /** Known for some. */
  position: Position | null;
  /** The first of the log, or behind a gap: nothing behind it can be counted from before it. */
  isAnchor: boolean;
}

const aheadMax = { entries: 4096, bytes: 1024 * 1024 };
const retry = { minMs: 50, maxMs: 1000 };

export class ContainerLog {
  readonly #parts: ContainerLogParts;
  #entries: ContainerEntry[] = [];
  #taken = 0;
  #bytes = 0;
  #at: Position | null;
  #lost = false;
  #over: boolean;
  #done = false;
  #roomAgain: (() => void) | null = null;
  /** Ends the pause between two readings. */
  #resting = new AbortController();
  /** Nothing came since then. */
  quietSinceMs: number;

  constructor(parts: ContainerLogParts, nowMs: number) {
    this.#parts = parts;
    this.#at = parts.from;
    this.#over = parts.source.isOver;
    this.quietSinceMs = nowMs;
    void this.#run();
  }

  get id(): string {
    return this.#parts.source.id;
  }

  /** Nothing is left, and nothing will come. */
  get done(): boolean {
    return this.#done && this.head === undefined;
  }

  get head(): ContainerEntry | undefined {
    return this.#entries[this.#taken];
  }

  take(): ContainerEntry | undefined {
    const entry = this.head;
    if (!entry) return undefined;
    this.#taken++;
    this.#bytes -= entry.bytes.length;
    if (this.#taken === this.#entries.length || this.#taken > aheadMax.entries) {
      this.#entries = this.#entries.slice(this.#taken);
      this.#taken = 0;
    }
    if (this.#roomAgain && !this.#isFull()) this.#roomAgain();
    return entry;
  }

  /** The container has ended: what is in its log now is all. */
  setOver(): void {
    this.#over = true;
  }

  /** Reads again at once. */
  hurry(): void {
    this.#resting.abort();
  }

  async #run(): Promise<void> {
    const { signal, changed, readingEnded, logger } = this.#parts;
    let pauseMs = retry.minMs;
    while (!signal.aborted) {
      // Known before it is read: a container that has ended writes no more.
      const over = this.#over;
      const before = this.#at;
      try {
        if ((await this.#read(over)) && over) break;
      } catch (error) {
        if (!this.#isAborted() && !isBroken(error)) {
          logger.error({ err: error, ...this.#fields() }, 'container_log_not_read');
          break;
        }
      }
      readingEnded();
      pauseMs = this.#at === before ? Math.min(pauseMs * 2, retry.maxMs) : retry.minMs;
      this.#resting = new AbortController();
      await pause(pauseMs, AbortSignal.any([signal, this.#resting.signal]));
      if (this.#resting.signal.aborted) pauseMs = retry.minMs;
    }
    this.#done = true;
    changed();
  }

  /** Whether all of it was read. */
  async #read(over: boolean): Promise<boolean> {
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#parts.signal, stop.signal]);
    try {
      const reading = new LogReading(this.#at, this.#lost, this.#parts.told);
      const stream = await this.#open(reading.since, signal);
      // No container was ever made for it, or the daemon has removed it.
      if (!stream) return true;
      return await this.#queueAll(stream, reading, over);
    } finally {
      stop.abort();
    }
  }

  async #queueAll(
    stream: NodeJS.ReadableStream,
    reading: LogReading,
    over: boolean,
  ): Promise<boolean> {
    const { source, signal } = this.#parts;
    const frames = source.hasTerminal ? new RawLogReader() : new FrameReader();
    for await (const chunk of stream) {
      if (!this.#queue(frames.push(chunk as Buffer), reading)) return this.#lose();
      if (this.#isFull()) await this.#room();
      if (signal.aborted) return false;
    }
    if (!this.#queue(frames.end(), reading)) return this.#lose();
    // All of the log of what has ended was seen, and not what was looked for.
    return reading.seeking && over ? this.#lose() : true;
  }

  /** Whether the place to go on from is not gone. */
  #queue(frames: readonly Frame[], reading: LogReading): boolean {
    if (frames.length === 0) return true;
    const arrivedAtMs = Date.now();
    this.quietSinceMs = arrivedAtMs;
    for (const frame of frames) {
      const next = timed(frame);
      const entry = reading.take(next);
      if (entry === 'passed') return false;
      if (!entry) continue;
      const { seq: nth, atMs, stream, bytes } = entry;
      const isAnchor = this.#lost || this.#at === null;
      if (isAnchor) this.#at = reading.position();
      this.#lost = false;
      this.#bytes += bytes.length;
      this.#entries.push({
        ...{ nth, atMs, stream, bytes, isAnchor },
        ...{ time: next.time, arrivedAtMs, position: isAnchor ? this.#at : null },
      });
    }
    if (reading.seeking) return true;
    this.#at = reading.position();
    const last = this.#entries.at(-1);
    if (last && last.nth === this.#at?.seq) last.position = this.#at;
    this.#parts.changed();
    return true;
  }

  #lose(): false {
    this.#parts.logger.warn(this.#fields(), 'container_log_rotated_away');
    this.#lost = true;
    return false;
  }

  async #open(since: string, signal: AbortSignal): Promise<NodeJS.ReadableStream | undefined> {
    const { engine, source } = this.#parts;
    const { container } = source;
    if (container === null) return undefined;
    // Followed as well when it has ended: only so the answer comes as a stream.
    const options = {
      follow: true,
      stdout: true,
      stderr: true,
      timestamps: true,
      since: since as unknown as number,
    } as const;
    try {
      return await engine.begin((docker) => docker.getContainer(container).logs(options), signal);
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  #fields(): { workload: string; log: string } {
    return { workload: this.#parts.workload, log: this.id };
  }

  #isAborted(): boolean {
    return this.#parts.signal.aborted;
  }

  #isFull(): boolean {
    const { entries, bytes } = aheadMax;
    return this.#entries.length - this.#taken >= entries || this.#bytes >= bytes;
  }

  #room(): Promise<void> {
    const { signal } = this.#parts;
    return new Promise((resolve) => {
      const done = (): void => {
        this.#roomAgain = null;
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#roomAgain = done;
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }
}
