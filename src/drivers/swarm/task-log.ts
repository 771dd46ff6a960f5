/**
 * Owns reading the log of one task to its end, ahead of who takes its entries by a bounded amount.
 *
 * 1. Entries are numbered as they stand in the task's log: see `LogReading`.
 * 2. A reading that breaks is taken up behind the last entry that was read.
 */
import { Readable } from 'node:stream';

import type Dockerode from 'dockerode';

import type { Logger } from '../../lib/log.ts';
import type { LogEntry } from '../../protocol/workload.ts';
import { isBroken, pause, statusOf } from '../docker/engine/engine.ts';
import type { Engine } from '../docker/engine/engine.ts';
import { FrameReader, RawLogReader } from '../docker/logs/stream-frames.ts';
import type { Frame } from '../docker/logs/stream-frames.ts';
import { LogReading, timed } from '../docker/logs/log-cursor.ts';
import type { Position } from '../docker/logs/log-cursor.ts';

export interface TaskLogParts {
  engine: Engine;
  logger: Logger;
  taskId: string;
  /** Its container, where that is on this node; else the swarm fetches the log. */
  containerId: string | null;
  hasTerminal: boolean;
  /** Where to go on; null: at the beginning. */
  from: Position | null;
  /** So many entries were told: where its place is gone, what is left is new. */
  told: number;
  /** It has ended, so its log is whole. */
  over: boolean;
  /** Called when there is something new to take, or nothing will come any more. */
  changed: () => void;
  signal: AbortSignal;
}

export interface TaskEntry extends Omit<LogEntry, 'seq'> {
  /** Within the task. */
  nth: number;
  time: string;
  arrivedAtMs: number;
  /** Known for some. */
  position: Position | null;
}

const aheadMax = { entries: 4096, bytes: 1024 * 1024 };
const retryMs = 50;

export class TaskLog {
  readonly #parts: TaskLogParts;
  #entries: TaskEntry[] = [];
  #taken = 0;
  #bytes = 0;
  #at: Position | null;
  #lost = false;
  #over: boolean;
  #done = false;
  #roomAgain: (() => void) | null = null;
  /** Nothing came since then. */
  quietSinceMs: number;

  constructor(parts: TaskLogParts, nowMs: number) {
    this.#parts = parts;
    this.#at = parts.from;
    this.#over = parts.over;
    this.quietSinceMs = nowMs;
    void this.#run();
  }

  get taskId(): string {
    return this.#parts.taskId;
  }

  /** Nothing is left, and nothing will come. */
  get done(): boolean {
    return this.#done && this.head === undefined;
  }

  get head(): TaskEntry | undefined {
    return this.#entries[this.#taken];
  }

  take(): TaskEntry | undefined {
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

  /** The task has ended: what is in its log now is all. */
  setOver(): void {
    this.#over = true;
  }

  async #run(): Promise<void> {
    const { signal, changed, logger, taskId } = this.#parts;
    while (!signal.aborted) {
      // Known before it is read: what has ended writes no more.
      const over = this.#over;
      try {
        if ((await this.#read(over)) && over) break;
      } catch (error) {
        if (!this.#isAborted() && !isBroken(error)) {
          logger.error({ err: error, task: taskId }, 'task_log_not_read');
          break;
        }
      }
      await pause(retryMs, signal);
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
      const stream = await this.#open(reading.since, over, signal);
      // No container was ever made for it, or the engine has removed it.
      if (!stream) return true;
      return await this.#queueAll(stream, reading, over);
    } finally {
      stop.abort();
    }
  }

  async #queueAll(
    stream: AsyncIterable<Buffer>,
    reading: LogReading,
    over: boolean,
  ): Promise<boolean> {
    const { hasTerminal, signal } = this.#parts;
    const frames = hasTerminal ? new RawLogReader() : new FrameReader();
    for await (const chunk of stream) {
      if (!this.#queue(frames.push(chunk), reading)) return this.#lose();
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
      this.#bytes += bytes.length;
      this.#entries.push({
        ...{ nth, atMs, stream, bytes },
        ...{ time: next.time, arrivedAtMs, position: null },
      });
    }
    if (reading.seeking) return true;
    this.#at = reading.position();
    const last = this.#entries.at(-1);
    if (last && last.nth === this.#at?.seq) last.position = this.#at;
    this.#lost = false;
    this.#parts.changed();
    return true;
  }

  #lose(): false {
    this.#parts.logger.warn({ task: this.#parts.taskId }, 'task_log_rotated_away');
    this.#lost = true;
    return false;
  }

  async #open(
    since: string,
    over: boolean,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | undefined> {
    const { engine, containerId, taskId } = this.#parts;
    // Followed as well when it has ended: only so the answer comes as a stream.
    const options = {
      follow: true,
      stdout: true,
      stderr: true,
      timestamps: true,
      since: since as unknown as number,
    } as const;
    try {
      if (containerId !== null) {
        const here = (docker: Dockerode) => docker.getContainer(containerId).logs(options);
        return (await engine.begin(here, signal)) as unknown as AsyncIterable<Buffer>;
      }
      const there = (docker: Dockerode) => {
        const task = docker.getTask(taskId) as unknown as { logs(given: object): Promise<unknown> };
        return task.logs({ ...options, follow: !over });
      };
      // Of what has ended it comes in one piece.
      const answer = await (over
        ? engine.ask(there, { timeoutMs: Infinity, signal })
        : engine.begin(there, signal));
      return Buffer.isBuffer(answer) ? Readable.from([answer]) : (answer as Readable);
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
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
