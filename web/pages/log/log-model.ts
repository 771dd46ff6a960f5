/**
 * Owns one log as a page follows it: what is held of it, what is read where it is looked at, and the live
 * stream of what comes.
 *
 * 1. The stream is open while the log is followed and the tab is seen. Else it is closed, and the log is looked
 *    at anew afterwards: what came meanwhile is read where it is shown, so nothing is lost and nothing waits.
 * 2. Who shows the log is told at most every `tellMs`, and where much comes every `busyTellMs`.
 */
import type { ApiError } from '../../api/errors.ts';
import { toApiError } from '../../api/errors.ts';
import { type LogPage, type LogSubject, readLog } from './ask.ts';
import { frameId, linesOf } from './frames.ts';
import { HeldLines, pageLines } from './held-lines.ts';

export type LogState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'paused' }
  /** The stream is away, and is tried again. */
  | { kind: 'away'; reason: string }
  | { kind: 'failed'; error: ApiError };

const tellMs = 100;
// Nobody reads what is gone from the screen at once.
const busyTellMs = 250;
const busyLines = 50;
const readAfterMs = 40;
const againMs = 4_000;
const firstLines = 500;
const crashesMax = 50;
const passing = new Set(['NETWORK', 'SHUTTING_DOWN', 'OVERLOADED', 'DEADLINE_EXCEEDED']);

/** What happened between two lines. */
export interface Marker {
  atMs: number;
  text: string;
}

/** Of those that the stream tells (docs/behaviour.md), these are shown. */
type Notice =
  | { kind: 'deployment'; status: string }
  | { kind: 'crash'; atMs: number; reason: string }
  | { kind: 'gap' | 'reachable' | 'unreachable' };

export class LogModel {
  readonly lines = new HeldLines();
  readonly subject: LogSubject;
  #state: LogState = { kind: 'connecting' };
  readonly #onDeployment: () => void;
  readonly #crashes: Marker[] = [];
  #version = 0;
  readonly #listeners = new Set<() => void>();
  #telling: number | null = null;
  #toldTo = 0;
  #isBusy = false;
  #stream: EventSource | null = null;
  #reading: { from: number; stop: AbortController } | null = null;
  #readTimer = 0;
  #againTimer = 0;
  #wanted: { from: number; until: number } = { from: 0, until: 0 };
  #isPaused = false;
  /** Of each start of following; what an earlier one brings is dropped. */
  #round = 0;

  /** `onDeployment`: told when one went live. */
  constructor(subject: LogSubject, onDeployment: () => void = () => undefined) {
    this.subject = subject;
    this.#onDeployment = onDeployment;
  }

  /** The last ends that nobody asked for, since the log is followed. */
  get crashes(): readonly Marker[] {
    return this.#crashes;
  }

  get state(): LogState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Changes with all that there is to show. */
  readonly version = (): number => this.#version;

  open(): void {
    document.addEventListener('visibilitychange', this.#onVisibility);
    void this.#follow();
  }

  close(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.#stopFollowing();
    this.#reading?.stop.abort();
    this.#reading = null;
    clearTimeout(this.#readTimer);
    this.#readTimer = 0;
    if (this.#telling !== null) clearTimeout(this.#telling);
    this.#telling = null;
  }

  pause(): void {
    this.#isPaused = true;
    this.#stopFollowing();
    this.#setState({ kind: 'paused' });
  }

  resume(): void {
    this.#isPaused = false;
    void this.#follow();
  }

  /** Lines that are shown: what is missing of them is read, once nobody scrolls on at once. */
  want(from: number, until: number): void {
    this.#wanted = { from, until };
    this.lines.trim((from + until) / 2);
    if (this.#readTimer === 0) this.#readTimer = window.setTimeout(this.#readWanted, readAfterMs);
  }

  /** The offset of the first line written at or after a time. */
  async offsetAt(time: Date): Promise<number | null> {
    const page = await readLog(this.subject, { tail: 1, at: time.toISOString() });
    this.#take(page);
    return page.nodes[0]?.offset ?? page.range?.nextOffset ?? null;
  }

  #onNotice(notice: Notice): void {
    if (notice.kind === 'deployment' && notice.status === 'ready') this.#onDeployment();
    if (notice.kind !== 'crash') return;
    this.#crashes.push({
      atMs: notice.atMs,
      text: `Ended by itself: ${notice.reason.replaceAll('_', ' ')}`,
    });
    if (this.#crashes.length > crashesMax) this.#crashes.shift();
    this.#tell();
  }

  readonly #onVisibility = (): void => {
    if (this.#isPaused) return;
    if (document.visibilityState === 'hidden') this.#stopFollowing();
    else if (this.#stream === null) void this.#follow();
  };

  async #follow(): Promise<void> {
    this.#stopFollowing();
    const round = this.#round;
    if (document.visibilityState === 'hidden') return;
    if (this.#state.kind !== 'live') this.#setState({ kind: 'connecting' });
    try {
      const page = await readLog(this.subject, { tail: firstLines });
      if (round !== this.#round) return;
      this.#take(page);
      this.#listen(page.range);
    } catch (error) {
      if (round === this.#round) this.#onFailure(error);
    }
  }

  /** What may pass is tried again; else it is told, and the log is not followed any more. */
  #onFailure(thrown: unknown): void {
    const error = toApiError(thrown);
    if (passing.has(error.code)) {
      this.#away(error.message);
      return;
    }
    this.#stopFollowing();
    this.#setState({ kind: 'failed', error });
  }

  #stopFollowing(): void {
    this.#round++;
    clearTimeout(this.#againTimer);
    this.#stream?.close();
    this.#stream = null;
  }

  #listen(range: LogPage['range']): void {
    const { appId, databaseId, container } = this.subject;
    const place = appId === undefined ? `databases/${databaseId ?? ''}` : `apps/${appId}`;
    const query = new URLSearchParams({ timestamps: '1', notices: '1', tail: '0' });
    if (container !== undefined) query.set('container', container);
    if (range !== null) query.set('after', `${range.generation}:${range.nextOffset - 1}`);
    const stream = new EventSource(`/api/${place}/logs?${query.toString()}`);
    this.#stream = stream;
    const round = this.#round;
    const on = (name: string, heard: (event: MessageEvent<string>) => void): void => {
      stream.addEventListener(name, (event) => {
        if (round === this.#round) heard(event as MessageEvent<string>);
      });
    };
    on('session', () => this.#setState({ kind: 'live' }));
    on('data', (event) => this.#onData(event));
    on('notice', ({ data }) => this.#onNotice(JSON.parse(data) as Notice));
    on('failure', ({ data }) => this.#away(String(JSON.parse(data))));
    on('exit', () => this.#away('The stream ended.'));
    stream.onerror = () => {
      if (round !== this.#round) return;
      // A browser tries again by itself, unless the stream was refused.
      if (stream.readyState === EventSource.CLOSED) this.#away('The stream is away.');
      else this.#setState({ kind: 'away', reason: 'The connection is lost.' });
    };
  }

  #away(reason: string): void {
    this.#stopFollowing();
    this.#setState({ kind: 'away', reason });
    this.#againTimer = window.setTimeout(() => void this.#follow(), againMs);
  }

  #onData({ data, lastEventId }: MessageEvent<string>): void {
    const id = frameId(lastEventId);
    const { range } = this.lines;
    if (id === null) return;
    if (range?.generation !== id.generation) {
      void this.#follow();
      return;
    }
    if (this.#state.kind !== 'live') this.#setState({ kind: 'live' });
    const from = range.nextOffset;
    if (id.offset < from) return;
    const lines = linesOf(String(JSON.parse(data)), id.offset + 1 - from);
    lines?.forEach((line, i) => this.lines.put(from + i, line));
    this.lines.setRange({ ...range, nextOffset: id.offset + 1 });
    this.lines.trim((this.#wanted.from + this.#wanted.until) / 2);
    this.#tell();
  }

  readonly #readWanted = (): void => {
    this.#readTimer = 0;
    const { from, until } = this.#wanted;
    const missing = this.lines.missing(from, until);
    if (missing === null) return;
    const flight = this.#reading;
    if (flight !== null) {
      // What is still looked at goes on to be read; what was scrolled past need not.
      if (flight.from + pageLines > from && flight.from < until) return;
      flight.stop.abort();
    }
    void this.#read(missing);
  };

  async #read({ from, count }: { from: number; count: number }): Promise<void> {
    const stop = new AbortController();
    this.#reading = { from, stop };
    try {
      const page = await readLog(this.subject, { tail: count, from }, stop.signal);
      if (stop.signal.aborted) return;
      this.#take(page, { from, count });
    } catch (error) {
      if (stop.signal.aborted) return;
      this.#reading = null;
      this.#onFailure(error);
      return;
    }
    this.#reading = null;
    // What is shown may be more than was read.
    this.want(this.#wanted.from, this.#wanted.until);
  }

  #take({ nodes, range }: LogPage, asked?: { from: number; count: number }): void {
    this.lines.setRange(range ?? null);
    let next = asked?.from ?? nodes[0]?.offset ?? 0;
    for (const { offset, at, text } of nodes) {
      for (; next < offset; next++) this.lines.put(next, null);
      this.lines.put(offset, { atMs: Date.parse(at), text });
      next = offset + 1;
    }
    // Of a page that brings nothing, nothing is there.
    if (asked && nodes.length === 0) {
      for (; next < asked.from + asked.count; next++) this.lines.put(next, null);
    }
    this.#tell();
  }

  #setState(state: LogState): void {
    this.#state = state;
    this.#tell();
  }

  #tell(): void {
    this.#telling ??= window.setTimeout(
      () => {
        this.#telling = null;
        const { nextOffset = 0 } = this.lines.range ?? {};
        this.#isBusy = nextOffset - this.#toldTo > busyLines;
        this.#toldTo = nextOffset;
        this.#version++;
        for (const listener of this.#listeners) listener();
      },
      this.#isBusy ? busyTellMs : tellMs,
    );
  }
}
