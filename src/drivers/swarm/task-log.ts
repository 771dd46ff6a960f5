/**
 * Owns reading the log of one task to its end, ahead of who takes its entries by a bounded amount.
 *
 * 1. Entries are numbered as they stand in the task's log: see `LogReading`.
 * 2. A reading that breaks is taken up behind the last entry that was read.
 */
import { Readable } from 'node:stream';

import type { Logger } from '../../lib/log.ts';
import type { LogEntry } from '../driver.ts';
import { isAway, pause, statusOf } from '../docker/engine.ts';
import type { Engine } from '../docker/engine.ts';
import { FrameReader, RawLogReader } from '../docker/frames.ts';
import { LogReading, timed } from '../docker/log-cursor.ts';
import type { Position } from '../docker/log-cursor.ts';

export interface TaskLogParts {
  engine: Engine;
  logger: Logger;
  taskId: string;
  /** Its container, where that is on this node; else the swarm fetches the log. */
  containerId: string | null;
  hasTerminal: boolean;
  /** Where to go on; null: at the beginning. */
  from: Position | null;
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
  #queue: TaskEntry[] = [];
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
    return this.#queue[this.#taken];
  }

  take(): TaskEntry | undefined {
    const entry = this.head;
    if (!entry) return undefined;
    this.#taken++;
    this.#bytes -= entry.bytes.length;
    if (this.#taken === this.#queue.length || this.#taken > aheadMax.entries) {
      this.#queue = this.#queue.slice(this.#taken);
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
          logger.error({ err: error, task: taskId }, 'task-log-not-read');
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
      const stream = await this.#open(new LogReading(this.#at, this.#lost).since, over, signal);
      // No container was ever made for it, or the engine has removed it.
      if (!stream) return true;
      return await this.#queueAll(stream, over);
    } finally {
      stop.abort();
    }
  }

  async #queueAll(stream: AsyncIterable<Buffer>, over: boolean): Promise<boolean> {
    const { hasTerminal, logger, taskId, signal } = this.#parts;
    const reading = new LogReading(this.#at, this.#lost);
    const frames = hasTerminal ? new RawLogReader() : new FrameReader();
    for await (const chunk of stream) {
      const arrivedAtMs = Date.now();
      this.quietSinceMs = arrivedAtMs;
      for (const frame of frames.push(chunk)) {
        const next = timed(frame);
        const entry = reading.take(next);
        if (entry === 'passed') return this.#lose(taskId, logger);
        if (!entry) continue;
        const { seq: nth, atMs, stream: output, bytes } = entry;
        this.#bytes += bytes.length;
        this.#queue.push({
          ...{ nth, atMs, stream: output, bytes },
          ...{ time: next.time, arrivedAtMs, position: null },
        });
      }
      if (reading.seeking) continue;
      this.#at = reading.position();
      const last = this.#queue.at(-1);
      if (last && last.nth === this.#at?.seq) last.position = this.#at;
      this.#lost = false;
      this.#parts.changed();
      if (this.#isFull()) await this.#room();
      if (signal.aborted) return false;
    }
    // All of the log of what has ended was seen, and not what was looked for.
    if (reading.seeking && over) return this.#lose(taskId, logger);
    return true;
  }

  #lose(task: string, logger: Logger): false {
    logger.warn({ task }, 'task-log-rotated-away');
    this.#lost = true;
    return false;
  }

  async #open(
    since: string,
    over: boolean,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | undefined> {
    const { engine, containerId, taskId } = this.#parts;
    const docker = await engine.client();
    // Followed as well when it has ended: only so the answer comes as a stream.
    const options = {
      follow: true,
      stdout: true,
      stderr: true,
      timestamps: true,
      since: since as unknown as number,
      abortSignal: signal,
    } as const;
    try {
      if (containerId !== null) return heard(await docker.getContainer(containerId).logs(options));
      const logs = docker.getTask(taskId) as unknown as { logs(options: object): Promise<unknown> };
      const answer = await logs.logs({ ...options, follow: !over });
      return Buffer.isBuffer(answer) ? Readable.from([answer]) : heard(answer as Readable);
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
    return this.#queue.length - this.#taken >= entries || this.#bytes >= bytes;
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

/** An answer that breaks when nobody reads it any more must not end the process. */
function heard(stream: NodeJS.ReadableStream): AsyncIterable<Buffer> {
  stream.on('error', () => undefined);
  return stream as unknown as AsyncIterable<Buffer>;
}

/** What a daemon that goes, or a container that is just being removed, does to a reading. */
function isBroken(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== undefined) return status >= 500 || status === 409;
  const { code, name } = error as NodeJS.ErrnoException;
  return isAway(error) || name === 'AbortError' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}
