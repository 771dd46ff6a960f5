/**
 * Owns one console from its opening to its end: its terminal, its viewer, and its last output.
 *
 * 1. It has one viewer at a time; a new one takes over. Without a viewer it lives on for `keepMs`.
 * 2. A viewer that does not read makes the program wait. Without a viewer the program runs as fast as
 *    with one, and its last output is kept. An app's own program, when it is attached to, never waits.
 * 3. It ends once, together with its terminal. The last output of a program is kept for `keepMs`, or
 *    until its opener has seen it.
 */
import type { Terminal } from '../drivers/driver.ts';
import type { Clock } from '../lib/clock.ts';
import { sseEvent } from '../protocol/sse.ts';
import type { FrameSink, Person } from '../logs/viewers/viewer.ts';
import { ConsoleViewer } from './console-viewer.ts';
import type { OpenConsole } from './console-door.ts';
import { RecentOutput } from './recent-output.ts';

/**
 * - `exited`: its program ended by itself, or with what it ran in
 * - `lost`: the server where it ran is no longer reached
 * - `closed`: by its opener; `idle`: nobody typed; `left`: nobody came back; `drained`: we go down
 * - `refused`: its opener may no longer use it; `gone`: the app or database was deleted
 */
export type ConsoleEnd =
  'exited' | 'lost' | 'closed' | 'idle' | 'left' | 'drained' | 'refused' | 'gone';

export interface ConsoleTimes {
  /** How long it waits for its opener to come back. */
  keepMs: number;
  /** How long it stays open while nobody types. */
  idleMs: number;
  pingMs: number;
  flushMs: number;
}

export interface ConsoleSessionOptions extends ConsoleTimes {
  id: string;
  opened: OpenConsole;
  clock: Clock;
  frameBytes: number;
  recentBytes: number;
  /** Its program has ended. */
  onEnd: (why: ConsoleEnd) => void;
  /** No stream will show it any more; called after `onEnd`. */
  onForgotten: () => void;
  /** The right to use it has to be checked again. */
  onPing: () => void;
}

/** `over`: its program has ended, but its opener has not seen all output yet. */
type Phase = 'opening' | 'open' | 'over' | 'ended';

const exitFrame = Buffer.from(sseEvent('exit', ''));

export class ConsoleSession {
  readonly id: string;
  readonly opened: OpenConsole;
  readonly #options: ConsoleSessionOptions;
  readonly #recent: RecentOutput;
  #phase: Phase = 'opening';
  #terminal: Terminal | undefined;
  #viewer: ConsoleViewer | undefined;
  #person: Person;
  #lastFrame: Buffer = exitFrame;
  #window = { startMs: -Infinity, bytes: 0 };
  #cancelPace: (() => void) | undefined;
  #lastInputMs: number;
  #cancelKeep: (() => void) | undefined;
  #cancelIdle: (() => void) | undefined;

  constructor(options: ConsoleSessionOptions) {
    this.#options = options;
    this.id = options.id;
    this.opened = options.opened;
    this.#person = options.opened.person;
    this.#recent = new RecentOutput(options.recentBytes);
    this.#lastInputMs = options.clock.now();
    this.#keep();
    this.#watchIdle();
  }

  /** Whether its program runs. */
  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  /** Whether its program has ended, and its opener has not seen all output yet. */
  get isOver(): boolean {
    return this.#phase === 'over';
  }

  get isWatched(): boolean {
    return this.#viewer !== undefined;
  }

  /** Whether a stream may show it. */
  get mayBeWatched(): boolean {
    return this.#phase === 'open' || this.#phase === 'over';
  }

  /** Its opener, with the sign-in that watched it last. */
  get person(): Person {
    return this.#person;
  }

  /** Bytes of input that wait for the program. */
  get unwritten(): number {
    return this.#terminal?.unwritten ?? 0;
  }

  /** Takes the terminal once it is open. */
  begin(terminal: Terminal): void {
    this.#terminal = terminal;
    // The console may have ended meanwhile.
    if (this.#phase === 'opening') this.#phase = 'open';
    else terminal.close();
  }

  /** Output of the terminal. `bytes` may change after the call. */
  output(bytes: Uint8Array): void {
    if (this.#phase !== 'open' && this.#phase !== 'opening') return;
    const chunk = Buffer.from(bytes);
    this.#recent.push(chunk);
    if (this.#viewer === undefined) {
      this.#pace(chunk.length);
      return;
    }
    this.#viewer.push(chunk);
    if (!this.#viewer.full) return;
    if (this.#isOfTheApp) this.#viewer.skip();
    else this.#terminal?.pause();
  }

  /** The terminal has ended. */
  exit(lost: boolean): void {
    if (lost) this.#finish('lost', failureFrame('The server it ran on was lost.'));
    else this.#finish('exited', exitFrame);
  }

  watch(sink: FrameSink, person: Person): () => void {
    if (this.#phase === 'open') this.#cancelKeep?.();
    this.#takeOver();
    this.#person = person;
    const viewer: ConsoleViewer = new ConsoleViewer({
      ...this.#options,
      sink,
      onRoom: () => {
        if (this.#viewer === viewer) this.#terminal?.resume();
      },
      onDone: () => {
        if (this.#viewer === viewer) this.#forget();
      },
    });
    this.#viewer = viewer;
    viewer.begin(this.id, this.#recent.bytes());
    if (this.#phase === 'over') viewer.finish(this.#lastFrame);
    // The program may be waiting because of an earlier viewer, or because there was none.
    else this.#flow();
    return () => this.#left(viewer);
  }

  write(input: Uint8Array): void {
    this.#lastInputMs = this.#options.clock.now();
    this.#terminal?.write(input);
  }

  resize(cols: number, rows: number): void {
    this.#terminal?.resize(cols, rows);
  }

  /** Ends it with `exit`, or as its program ended before. */
  end(why: ConsoleEnd): void {
    this.#stop(why, this.#lastFrame);
  }

  /** Ends it with `failure` and a sentence. */
  fail(why: ConsoleEnd, sentence: string): void {
    this.#stop(why, failureFrame(sentence));
  }

  /** Ends it after all output, for a viewer that watches now or comes back in time. */
  #finish(why: ConsoleEnd, lastFrame: Buffer): void {
    if (!this.#over(why)) return;
    this.#lastFrame = lastFrame;
    this.#cancelKeep?.();
    this.#keep();
    this.#viewer?.finish(lastFrame);
  }

  #stop(why: ConsoleEnd, lastFrame: Buffer): void {
    if (this.#phase === 'ended') return;
    if (this.#over(why)) this.#terminal?.close();
    this.#viewer?.end(lastFrame);
    this.#forget();
  }

  /** False when its program had ended before. */
  #over(why: ConsoleEnd): boolean {
    if (this.#phase === 'over' || this.#phase === 'ended') return false;
    this.#phase = 'over';
    this.#cancelIdle?.();
    this.#cancelPace?.();
    this.#options.onEnd(why);
    return true;
  }

  #forget(): void {
    this.#phase = 'ended';
    this.#viewer = undefined;
    this.#cancelKeep?.();
    this.#options.onForgotten();
  }

  #takeOver(): void {
    const before = this.#viewer;
    if (before === undefined) return;
    this.#viewer = undefined;
    before.end(failureFrame('The console was opened in another place.'));
  }

  #left(viewer: ConsoleViewer): void {
    viewer.left();
    if (this.#viewer !== viewer) return;
    this.#viewer = undefined;
    if (this.#phase !== 'open') return;
    this.#keep();
    this.#flow();
  }

  /** Whether the console shows the app's own program: if that waited, so would the app. */
  get #isOfTheApp(): boolean {
    return this.opened.mode === 'attach';
  }

  #flow(): void {
    this.#cancelPace?.();
    this.#cancelPace = undefined;
    this.#terminal?.resume();
  }

  /** Bounds output without a viewer: it must not cost more work than with one. */
  #pace(count: number): void {
    const { clock, flushMs, frameBytes } = this.#options;
    const sinceMs = clock.now() - this.#window.startMs;
    // Below zero: the clock was set.
    if (sinceMs >= flushMs || sinceMs < 0) this.#window = { startMs: clock.now(), bytes: 0 };
    this.#window.bytes += count;
    if (this.#window.bytes < frameBytes || this.#isOfTheApp) return;
    this.#terminal?.pause();
    this.#cancelPace ??= clock.after(flushMs, () => this.#flow());
  }

  #keep(): void {
    this.#cancelKeep = this.#options.clock.after(this.#options.keepMs, () => this.end('left'));
  }

  #watchIdle(): void {
    const { clock, idleMs } = this.#options;
    const restMs = this.#lastInputMs + idleMs - clock.now();
    this.#cancelIdle = clock.after(Math.max(1, restMs), () => {
      if (clock.now() - this.#lastInputMs >= idleMs) this.end('idle');
      else this.#watchIdle();
    });
  }
}

function failureFrame(sentence: string): Buffer {
  return Buffer.from(sseEvent('failure', sentence));
}
