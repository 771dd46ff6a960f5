/**
 * Owns one live log as its viewers see it: where it ends, its ring, its notices, and when viewers are
 * woken.
 *
 * 1. After a rest viewers are woken at once, and under load once every `flushMs`. A viewer that needs
 *    time to hand lines on says how much, and is woken that much earlier.
 * 2. Nothing is kept for a viewer. Without viewers that take lines the ring is empty.
 */
import type { Clock } from '../../lib/clock.ts';
import type { LogLine, LogName, LogRange, LogReader } from '../files/log.ts';
import type { StreamNotice, StreamView } from './log-streams.ts';
import { LogRing } from './ring.ts';

const noticesMax = 64;
const linesPerReadMax = 5_000;

export interface ChannelNotice {
  /** Ascends by one for each notice of a channel, from 1. */
  number: number;
  /** It happened before the line of this offset. */
  before: number;
  notice: StreamNotice;
}

/** Live logs, on whichever thread they are watched. */
export interface WatchedLogs {
  readonly reader: LogReader;
  /** Attaches a viewer. `wake` is called at most once a flush, when there is something to take. */
  attach(log: LogName, wake: () => void): ChannelView;
  /** For the metrics: how many logs are watched here. */
  stats(): { channels: number };
}

export interface ChannelOptions {
  log: LogName;
  reader: LogReader;
  clock: Clock;
  ringBytes: number;
  flushMs: number;
  /** Called when the last viewer has left. */
  onUnused: (channel: LogChannel) => void;
}

export type LogLife = 'open' | 'ended' | 'failed' | 'dropped';

export class LogChannel {
  readonly log: LogName;
  readonly #options: ChannelOptions;
  readonly #ring: LogRing;
  readonly #views = new Map<ChannelView, () => void>();
  #takers = 0;
  #life: LogLife = 'open';
  #failure: string | undefined;
  #nextOffset: number;
  #notices: ChannelNotice[] = [];
  #noticeNumber = 0;
  #flushedAtMs = -Infinity;
  #flushing = false;

  constructor(options: ChannelOptions) {
    this.log = options.log;
    this.#options = options;
    this.#ring = new LogRing(options.ringBytes);
    this.#nextOffset = options.reader.range(options.log)?.nextOffset ?? 1;
  }

  /** Offset of the next line to come. */
  get nextOffset(): number {
    return this.#nextOffset;
  }

  get life(): LogLife {
    return this.#life;
  }

  get ended(): boolean {
    return this.#life !== 'open';
  }

  /** Why it failed, for its viewers. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** False once it failed or its lines were dropped. Later lines belong to another channel. */
  get current(): boolean {
    return this.#life !== 'failed' && this.#life !== 'dropped';
  }

  /**
   * Whether any viewer here takes lines. For viewers that only want to know how far the log goes, none
   * are kept.
   */
  get taken(): boolean {
    return this.#takers > 0;
  }

  get noticeNumber(): number {
    return this.#noticeNumber;
  }

  range(): LogRange | undefined {
    return this.#life === 'dropped' ? undefined : this.#options.reader.range(this.log);
  }

  offsetAt(atMs: number): number {
    return this.#options.reader.offsetAt(this.log, atMs);
  }

  /** Lines that were just stored. */
  appended(lines: readonly LogLine[]): void {
    if (!this.current) return;
    if (this.taken) this.#ring.push(lines);
    this.#nextOffset = (lines.at(-1)?.offset ?? this.#nextOffset - 1) + 1;
    this.#life = 'open';
    this.#flushSoon();
  }

  /** Lines up to this offset were stored, and are read from disk by whoever wants them. */
  appendedTo(nextOffset: number): void {
    if (!this.current) return;
    // The ring holds the newest lines or none.
    this.#ring.clear();
    this.#nextOffset = nextOffset;
    this.#life = 'open';
    this.#flushSoon();
  }

  /** `before`: offset of the line before which it happened; default: the next line to come. */
  notice(notice: StreamNotice, before = this.#nextOffset): void {
    this.#noticeNumber++;
    this.#notices.push({ number: this.#noticeNumber, before, notice });
    if (this.#notices.length > noticesMax) this.#notices.shift();
    this.#flushSoon();
  }

  /** Notices after the one with this number. */
  noticesAfter(number: number): readonly ChannelNotice[] {
    return number === this.#noticeNumber ? [] : this.#notices.filter((n) => n.number > number);
  }

  /**
   * The offset at which a frame has to end: a notice is sent between the lines between which it came.
   */
  frameLimit(from: number): number {
    for (const { before } of this.#notices) if (before > from) return before;
    return this.#nextOffset;
  }

  reopen(): void {
    if (this.#life !== 'ended') return;
    this.#life = 'open';
    // Watchers on other threads have to hear that it has not ended.
    this.#flushSoon();
  }

  end(): void {
    if (this.#life === 'open') this.#life = 'ended';
    this.#flushSoon();
  }

  /** Viewers that have read everything are done, and are told why. */
  fail(reason: string): void {
    if (!this.current) return;
    this.#life = 'failed';
    this.#failure = reason;
    this.#flushSoon();
  }

  /** The lines are removed: viewers are done, however much they have read. */
  drop(): void {
    this.#life = 'dropped';
    this.#ring.clear();
    this.#flushSoon();
  }

  /** `takes`: whether this viewer takes lines, or only wants to know how far the log goes. */
  attach(wake: () => void, takes = true): ChannelView {
    const view = new ChannelView(this, (leaving) => {
      if (!this.#views.delete(leaving)) return;
      if (takes && --this.#takers === 0) this.#ring.clear();
      if (this.#views.size === 0) this.#options.onUnused(this);
    });
    this.#views.set(view, wake);
    if (takes) this.#takers++;
    return view;
  }

  take(from: number, maxBytes: number): { lines: LogLine[]; gap: number; nextOffset: number } {
    if (this.#life === 'dropped' || from >= this.#nextOffset) {
      return { lines: [], gap: 0, nextOffset: from };
    }
    if (from < this.#ring.firstOffset) {
      // The file may be ahead of this channel, and a notice may belong before its last lines.
      const limit = Math.min(linesPerReadMax, this.#nextOffset - from);
      return this.#options.reader.read(this.log, from, limit, maxBytes);
    }
    const lines = this.#ring.slice(from, maxBytes);
    return { lines, gap: 0, nextOffset: from + lines.length };
  }

  #flushSoon(): void {
    if (this.#flushing || this.#views.size === 0) return;
    this.#flushing = true;
    const { clock, flushMs } = this.#options;
    // The clock may have been set back: never wait longer than one flush.
    let pauseMs = flushMs;
    for (const { leadMs } of this.#views.keys()) pauseMs = Math.min(pauseMs, flushMs - leadMs);
    const waitMs = Math.min(pauseMs, this.#flushedAtMs + pauseMs - clock.now());
    if (waitMs > 0) clock.after(waitMs, this.#flush);
    else setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    this.#flushedAtMs = this.#options.clock.now();
    for (const wake of this.#views.values()) wake();
  };
}

/** A viewer's hold on a channel. */
export class ChannelView implements StreamView {
  /** How much earlier than after `flushMs` it wants to be woken. */
  leadMs = 0;
  readonly channel: LogChannel;
  readonly #leave: (view: ChannelView) => void;

  constructor(channel: LogChannel, leave: (view: ChannelView) => void) {
    this.channel = channel;
    this.#leave = leave;
  }

  /** When this is true and `take` gives nothing, nothing more will come. */
  get ended(): boolean {
    return this.channel.ended;
  }

  take(from: number, maxBytes: number): { lines: LogLine[]; gap: number; nextOffset: number } {
    return this.channel.take(from, maxBytes);
  }

  detach(): void {
    this.#leave(this);
  }
}
