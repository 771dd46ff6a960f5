/**
 * Owns the live logs: which workloads feed them, and who watches them.
 *
 * 1. A workload is followed once into a log: a second feed of it waits for the end of the first.
 * 2. Lines are in the file before they reach a viewer.
 * 3. Two workloads may feed one log at a time, as while a new instance takes over.
 */
import type { Driver } from '../../drivers/driver.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogLine, LogName, LogReader, LogSource } from '../files/log.ts';
import type { LogWriter } from '../files/writer.ts';
import { type ChannelView, LogChannel, type WatchedLogs } from './channel.ts';
import type { LogStreams, StreamNotice } from './log-streams.ts';
import { runFeed } from './feed.ts';
import { ownLines } from './ring.ts';

const lineMaxBytes = 16 * 1024;
const writeMaxBytes = 64 * 1024;
const endedMax = 4_096;

export interface LogStreamsOptions {
  writer: LogWriter;
  logger: Logger;
  clock?: Clock;
  /** Memory for the ring of a watched log; default 512 KiB. */
  ringBytes?: number;
  /** Least time between two flushes of a log under load; default 50. */
  flushMs?: number;
  /** Time between two syncs of a log while lines come; default 200. */
  syncMs?: number;
}

interface RunningFeed {
  done: Promise<void>;
  stop: AbortController;
}

type NewLine = Omit<LogLine, 'offset'>;

/** The one owner of live logs in a process. */
export class LiveLogs implements LogStreams, WatchedLogs {
  readonly #options: LogStreamsOptions;
  readonly #clock: Clock;
  readonly #channels = new Map<LogName, LogChannel>();
  readonly #feeds = new Map<LogName, Map<string, RunningFeed>>();
  /** Logs that have ended and have no channel. The ones known for longest are forgotten. */
  readonly #ended = new Set<LogName>();
  #storageFailures = 0;
  #writeFailing = false;

  constructor(options: LogStreamsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get reader(): LogReader {
    return this.#options.writer;
  }

  /** For the metrics: watched logs, running feeds, and how often lines could not be stored. */
  stats(): { channels: number; feeds: number; storageFailures: number } {
    let feeds = 0;
    for (const running of this.#feeds.values()) feeds += running.size;
    return { channels: this.#channels.size, feeds, storageFailures: this.#storageFailures };
  }

  async feed(
    log: LogName,
    driver: Pick<Driver, 'follow' | 'acknowledge'>,
    workloadId: string,
    signal: AbortSignal,
    sourceId = workloadId,
  ): Promise<void> {
    const feeds = this.#feeds.get(log) ?? new Map<string, RunningFeed>();
    this.#feeds.set(log, feeds);
    const earlier = feeds.get(sourceId)?.done;
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const done = (async () => {
      await earlier;
      if (either.aborted) return;
      this.#reopen(log);
      await runFeed({
        log,
        driver,
        workloadId,
        sourceId,
        signal: either,
        writer: this.#options.writer,
        append: (entries, source) => this.#append(log, entries, source),
        clock: this.#clock,
        logger: this.#options.logger,
        syncMs: this.#options.syncMs ?? 200,
        onStorageFailure: () => {
          this.#storageFailures++;
        },
      });
    })();
    const running = { done, stop };
    feeds.set(sourceId, running);
    try {
      await done;
    } finally {
      if (feeds.get(sourceId) === running) feeds.delete(sourceId);
      if (feeds.size === 0 && this.#feeds.get(log) === feeds) this.#feeds.delete(log);
    }
  }

  write(log: LogName, text: string, source?: LogSource): void {
    if (source !== undefined && this.#options.writer.lastSeq(log, source.id) >= source.seq) return;
    this.#reopen(log);
    const atMs = this.#clock.now();
    const bytes = Buffer.from(text.endsWith('\n') ? text : `${text}\n`);
    let lines: NewLine[] = [];
    let heldBytes = 0;
    for (let from = 0; from < bytes.length;) {
      const newline = bytes.indexOf(0x0a, from);
      const to = Math.min(newline + 1, from + lineMaxBytes);
      lines.push({ atMs, stream: 'system', bytes: bytes.subarray(from, to) });
      heldBytes += to - from;
      from = to;
      if (heldBytes >= writeMaxBytes || from === bytes.length) {
        if (!this.#tryAppend(log, lines, source)) return;
        lines = [];
        heldBytes = 0;
      }
    }
  }

  copy(log: LogName, lines: readonly Omit<LogLine, 'offset'>[]): void {
    this.#reopen(log);
    if (lines.length > 0) this.#tryAppend(log, lines);
  }

  notice(log: LogName, notice: StreamNotice): void {
    this.#channels.get(log)?.notice(notice);
  }

  /** Logs that are watched now, on any thread. */
  watched(): LogName[] {
    return [...this.#channels.keys()];
  }

  /** Ends the log's present viewers with `failure`. Later viewers begin anew. */
  fail(log: LogName, reason: string): void {
    const channel = this.#channels.get(log);
    this.#channels.delete(log);
    channel?.fail(reason);
  }

  end(log: LogName): void {
    this.#channels.get(log)?.end();
    this.#ended.delete(log);
    this.#ended.add(log);
    if (this.#ended.size > endedMax) {
      const [oldest] = this.#ended;
      if (oldest !== undefined) this.#ended.delete(oldest);
    }
    this.#options.writer
      .sync(log)
      .catch((error: unknown) =>
        this.#options.logger.error({ log, err: error }, 'log_sync_failed'),
      );
  }

  async drop(log: LogName): Promise<void> {
    const feeds = [...(this.#feeds.get(log)?.values() ?? [])];
    for (const feed of feeds) feed.stop.abort();
    const channel = this.#channels.get(log);
    this.#channels.delete(log);
    this.#ended.delete(log);
    channel?.drop();
    await Promise.all(feeds.map((feed) => feed.done));
    await this.#options.writer.drop(log);
  }

  attach(log: LogName, wake: () => void): ChannelView {
    return this.#channelOf(log).attach(wake);
  }

  /** As `attach`, for a viewer that takes no lines: none are kept in memory for it. */
  watch(log: LogName, wake: () => void): ChannelView {
    return this.#channelOf(log).attach(wake, false);
  }

  #channelOf(log: LogName): LogChannel {
    let channel = this.#channels.get(log);
    if (channel === undefined) {
      channel = new LogChannel({
        log,
        reader: this.#options.writer,
        clock: this.#clock,
        ringBytes: this.#options.ringBytes ?? 512 * 1024,
        flushMs: this.#options.flushMs ?? 50,
        onUnused: (unused) => {
          if (this.#channels.get(log) === unused) this.#channels.delete(log);
        },
      });
      if (this.#ended.has(log)) channel.end();
      this.#channels.set(log, channel);
    }
    return channel;
  }

  #reopen(log: LogName): void {
    this.#ended.delete(log);
    this.#channels.get(log)?.reopen();
  }

  #tryAppend(log: LogName, lines: readonly NewLine[], source?: LogSource): boolean {
    try {
      this.#append(log, lines, source);
      this.#writeFailing = false;
      return true;
    } catch (error) {
      // Our own lines have no source that could wait: they are lost, and this is logged once.
      if (!this.#writeFailing) {
        this.#options.logger.error({ log, err: error }, 'log_append_failed');
        this.#storageFailures++;
      }
      this.#writeFailing = true;
      return false;
    }
  }

  #append(log: LogName, lines: readonly NewLine[], source?: LogSource): void {
    const firstOffset = this.#options.writer.append(log, lines, source);
    const channel = this.#channels.get(log);
    if (channel === undefined) return;
    if (!channel.taken) {
      channel.appendedTo(firstOffset + lines.length);
      return;
    }
    channel.appended(ownLines(lines.map((line, i) => ({ ...line, offset: firstOffset + i }))));
  }
}
