/**
 * Owns the live logs of a gateway thread, as its viewers see them. Home feeds the logs and says how far
 * they go (`log-watches.ts`); the lines come from the files.
 *
 * 1. A log is watched from its first viewer here to its last one.
 * 2. A viewer that was attached before a log was dropped ends with it. It never shows what is written
 *    under the log's name later, even when the new files are seen before the drop is announced.
 * 3. A move for a watch that has ended changes nothing.
 */
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { LogName, LogReader } from '../logs/files/log.ts';
import { type ChannelView, LogChannel, type WatchedLogs } from '../logs/live/channel.ts';
import { GenerationReader } from '../logs/live/generation-reader.ts';
import type { LogMove, UnwatchLog, WatchLog } from './log-watches.ts';
import { ownLines } from '../logs/live/ring.ts';

export interface MirroredLogsOptions {
  /** Reads the files on this thread (`LogFiles`). */
  reader: LogReader;
  logger: Logger;
  /** Tells home (`LogWatches`); messages arrive in order. */
  watch: (message: WatchLog) => void;
  unwatch: (message: UnwatchLog) => void;
  /** Cost of the ring of a log that is watched; default 512 KiB. */
  ringBytes?: number;
}

interface Mirror {
  watch: number;
  log: LogName;
  reader: GenerationReader;
  channel: LogChannel;
  /** Whether it held lines when it began to be watched. */
  begun: boolean;
}

export class MirroredLogs implements WatchedLogs {
  readonly #options: MirroredLogsOptions;
  readonly #ringBytes: number;
  /** The current mirror of each log; a new one replaces it when it is outdated. */
  readonly #mirrors = new Map<LogName, Mirror>();
  readonly #byWatch = new Map<number, Mirror>();
  #lastWatch = 0;

  constructor(options: MirroredLogsOptions) {
    this.#options = options;
    this.#ringBytes = options.ringBytes ?? 512 * 1024;
  }

  get reader(): LogReader {
    return this.#options.reader;
  }

  stats(): { channels: number } {
    return { channels: this.#mirrors.size };
  }

  attach(log: LogName, wake: () => void): ChannelView {
    // Looking at the files drops a mirror of older ones.
    this.#mirrors.get(log)?.reader.range(log);
    const mirror = this.#mirrors.get(log) ?? this.#begin(log);
    return mirror.channel.attach(wake);
  }

  /** Takes what home tells of the watched logs. */
  moved(moves: readonly LogMove[]): void {
    for (const move of moves) {
      const mirror = this.#byWatch.get(move.watch);
      if (mirror !== undefined) this.#move(mirror, move);
    }
  }

  #begin(log: LogName): Mirror {
    const reader = new GenerationReader(this.#options.reader, () => this.#drop(mirror));
    const channel = new LogChannel({
      log,
      reader,
      clock: systemClock,
      ringBytes: this.#ringBytes,
      // Moves come once a flush.
      flushMs: 0,
      onUnused: () => this.#end(mirror),
    });
    const begun = reader.generation !== null;
    const watch = ++this.#lastWatch;
    const mirror: Mirror = { watch, log, reader, channel, begun };
    this.#mirrors.set(log, mirror);
    this.#byWatch.set(watch, mirror);
    this.#options.watch({ watch, log });
    return mirror;
  }

  #end({ watch, log }: Mirror): void {
    if (!this.#byWatch.delete(watch)) return;
    this.#mirrors.delete(log);
    this.#options.unwatch({ watch });
  }

  #drop(mirror: Mirror): void {
    this.#end(mirror);
    mirror.channel.drop();
  }

  #move(mirror: Mirror, { generation, nextOffset, life, failure, notices }: LogMove): void {
    const { channel, reader } = mirror;
    // A log that was empty when home said this may hold lines by now.
    const renewed = generation === null ? mirror.begun : !reader.isOf(generation);
    if (renewed || life === 'dropped' || nextOffset < channel.nextOffset) {
      this.#drop(mirror);
      return;
    }
    if (nextOffset > channel.nextOffset) this.#takeIn(mirror, nextOffset);
    for (const { before, notice } of notices) channel.notice(notice, before);
    if (failure !== undefined) {
      this.#end(mirror);
      channel.fail(failure);
      return;
    }
    if (life === 'ended') channel.end();
    else channel.reopen();
  }

  #takeIn(mirror: Mirror, to: number): void {
    const { log, channel, reader } = mirror;
    const from = channel.nextOffset;
    try {
      const { lines, nextOffset } = reader.read(log, from, to - from, this.#ringBytes);
      if (lines[0]?.offset === from && nextOffset === to) {
        channel.appended(ownLines(lines));
        return;
      }
    } catch (error) {
      // Viewers meet the same error when they read, and report it.
      this.#options.logger.warn({ log, err: error }, 'log_move_not_read');
    }
    // Too many for the ring, or some of them are gone.
    channel.appendedTo(to);
  }
}
