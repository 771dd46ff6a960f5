/**
 * Owns one console from its opening to its end: its terminal, who watches it, and what was shown last.
 *
 * 1. One viewer at a time: who comes back takes over. Without one it lives on for `keepMs`.
 * 2. A viewer that does not read makes the program wait; without a viewer the program goes on, and its
 *    last output is kept.
 * 3. It ends once, and its terminal with it.
 */
import type { Terminal } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import { sseEvent } from '../../protocol/sse.ts';
import type { FrameSink } from '../stream-session/viewer.ts';
import { ConsoleViewer } from './console-viewer.ts';
import type { OpenConsole } from './contract.ts';
import { RecentOutput } from './recent-output.ts';

/**
 * - `exited`: its program ended by itself, or with what it ran in
 * - `lost`: the place where it ran is not reached any more
 * - `closed`: by its opener; `idle`: nobody typed; `left`: nobody came back; `drained`: we go down
 * - `refused`: its opener may not use it any more; `gone`: what it ran in was deleted
 */
export type ConsoleEnd =
  'exited' | 'lost' | 'closed' | 'idle' | 'left' | 'drained' | 'refused' | 'gone';

export interface ConsoleTimes {
  /** How long it waits for its opener to come back. */
  keepMs: number;
  /** How long nobody has to type. */
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
  /** Its program runs no more. */
  onEnd: (why: ConsoleEnd) => void;
  /** No stream will show it any more; after `onEnd`. */
  onForgotten: () => void;
  /** The right to use it is to be looked at again. */
  onPing: () => void;
}

/** `over`: it has ended, but whoever opened it has not seen anything of it yet. */
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
  #watched = false;
  #overFrame: Buffer = exitFrame;
  #lastInputMs: number;
  #cancelKeep: (() => void) | undefined;
  #cancelIdle: (() => void) | undefined;

  constructor(options: ConsoleSessionOptions) {
    this.#options = options;
    this.id = options.id;
    this.opened = options.opened;
    this.#recent = new RecentOutput(options.recentBytes);
    this.#lastInputMs = options.clock.now();
    this.#keep();
    this.#watchIdle();
  }

  /** Whether its program runs. */
  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  /** Whether a stream may show it. */
  get mayBeWatched(): boolean {
    return this.#phase === 'open' || this.#phase === 'over';
  }

  /** Bytes of input that wait for the program. */
  get unwritten(): number {
    return this.#terminal?.unwritten ?? 0;
  }

  /** The terminal is there. */
  begin(terminal: Terminal): void {
    this.#terminal = terminal;
    // It may have ended meanwhile.
    if (this.#phase === 'opening') this.#phase = 'open';
    else terminal.close();
  }

  /** Output of the terminal; only borrowed. */
  output(bytes: Uint8Array): void {
    if (this.#phase !== 'open' && this.#phase !== 'opening') return;
    const chunk = Buffer.from(bytes);
    this.#recent.push(chunk);
    this.#viewer?.push(chunk);
    if (this.#viewer?.full === true) this.#terminal?.pause();
  }

  /** The terminal told its end. */
  exit(lost: boolean): void {
    if (lost) this.fail('lost', 'The server it ran on was lost.');
    else this.#finish('exited', exitFrame);
  }

  watch(sink: FrameSink): () => void {
    this.#cancelKeep?.();
    this.#takeOver();
    this.#watched = true;
    const viewer: ConsoleViewer = new ConsoleViewer({
      ...this.#options,
      sink,
      onRoom: () => {
        if (this.#viewer === viewer) this.#terminal?.resume();
      },
    });
    this.#viewer = viewer;
    viewer.begin(this.id, this.#recent.bytes());
    if (this.#phase === 'over') {
      viewer.finish(this.#overFrame);
      this.#forget();
    }
    return () => {
      this.#left(viewer);
    };
  }

  write(input: Uint8Array): void {
    this.#lastInputMs = this.#options.clock.now();
    this.#terminal?.write(input);
  }

  resize(cols: number, rows: number): void {
    this.#terminal?.resize(cols, rows);
  }

  /** Ends it with `exit`. */
  end(why: ConsoleEnd): void {
    this.#stop(why, exitFrame);
  }

  /** Ends it with `failure` and a sentence. */
  fail(why: ConsoleEnd, sentence: string): void {
    this.#stop(why, Buffer.from(sseEvent('failure', sentence)));
  }

  /** After all that was put out. */
  #finish(why: ConsoleEnd, lastFrame: Buffer): void {
    if (this.#phase === 'over' || this.#phase === 'ended') return;
    this.#phase = 'over';
    this.#cancelIdle?.();
    this.#options.onEnd(why);
    if (this.#watched) {
      this.#viewer?.finish(lastFrame);
      this.#forget();
    } else {
      // Its first viewer is on the way, and is to see what it said.
      this.#overFrame = lastFrame;
    }
  }

  #stop(why: ConsoleEnd, lastFrame: Buffer): void {
    if (this.#phase === 'ended') return;
    if (this.#phase !== 'over') {
      this.#phase = 'over';
      this.#terminal?.close();
      this.#options.onEnd(why);
    }
    this.#viewer?.end(lastFrame);
    this.#viewer = undefined;
    this.#forget();
  }

  #forget(): void {
    this.#phase = 'ended';
    this.#cancelKeep?.();
    this.#cancelIdle?.();
    this.#options.onForgotten();
  }

  #takeOver(): void {
    const before = this.#viewer;
    if (before === undefined) return;
    this.#viewer = undefined;
    before.end(Buffer.from(sseEvent('failure', 'The console was opened in another place.')));
    // Whatever kept the program waiting was that viewer.
    this.#terminal?.resume();
  }

  #left(viewer: ConsoleViewer): void {
    viewer.left();
    if (this.#viewer !== viewer) return;
    this.#viewer = undefined;
    if (this.#phase !== 'open') return;
    this.#keep();
    this.#terminal?.resume();
  }

  #keep(): void {
    this.#cancelKeep = this.#options.clock.after(this.#options.keepMs, () => {
      this.end('left');
    });
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
