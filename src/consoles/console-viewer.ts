/**
 * Owns how the output of one console reaches the stream that shows it.
 *
 * 1. A frame goes out at once while there is little to send. A flood goes as one frame every `flushMs`,
 *    of `frameBytes` at most.
 * 2. Output is decoded as UTF-8 across all cuts. Bytes that are no UTF-8 become U+FFFD.
 * 3. The caller bounds what waits here: it stops when `full` is true and continues at `onRoom`. A
 *    caller that cannot stop calls `skip`.
 */
import type { Clock } from '../lib/clock.ts';
import { sseComment, sseEvent } from '../protocol/sse.ts';
import type { FrameSink } from '../logs/viewers/viewer.ts';

export interface ConsoleViewerOptions {
  sink: FrameSink;
  clock: Clock;
  /** Longest frame. */
  frameBytes: number;
  flushMs: number;
  pingMs: number;
  /** There is room again after `full` was true. */
  onRoom: () => void;
  /** Called with each ping. */
  onPing: () => void;
  /** Everything was sent, with the frame of `finish` at the end. */
  onDone: () => void;
}

/** How much goes out at once within `flushMs`. More is a flood. */
const promptBytes = 16 * 1024;
const promptFrames = 64;
const fullBytes = 128 * 1024;
const roomBytes = 32 * 1024;
const pingComment = Buffer.from(sseComment('ping'));

export class ConsoleViewer {
  readonly #options: ConsoleViewerOptions;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Text that was decoded and did not fit into a frame. */
  #text = '';
  #window = { startMs: -Infinity, bytes: 0, frames: 0 };
  #cancelFlush: (() => void) | undefined;
  #cancelPing: (() => void) | undefined;
  #lastFrame: Buffer | undefined;
  #phase: 'live' | 'stalled' | 'closed' = 'live';
  #wasFull = false;

  constructor(options: ConsoleViewerOptions) {
    this.#options = options;
    options.sink.onWritable(() => {
      if (this.#phase !== 'stalled') return;
      this.#phase = 'live';
      this.#send();
    });
    this.#arm();
  }

  /** Whether the caller has to stop until `onRoom`. */
  get full(): boolean {
    return this.#waitingBytes + this.#text.length > fullBytes;
  }

  /**
   * Begins with the console's id and its last output, and a comment where that ends. A terminal must
   * not answer questions of programs in the last output again. A browser that connects again by itself
   * names the id of that comment.
   */
  begin(sessionId: string, shown: Uint8Array): void {
    this.#write(Buffer.from(sseEvent('session', sessionId)));
    this.#text = this.#decoder.decode(shown, { stream: true });
    while (this.#text !== '') this.#sendFrame(this.#takeText());
    this.#write(Buffer.from(sseComment('live', sessionId)));
  }

  /** Takes a chunk that does not change any more. */
  push(chunk: Uint8Array): void {
    if (this.#phase === 'closed') return;
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.full) this.#wasFull = true;
    if (this.#phase === 'live' && this.#cancelFlush === undefined) this.#send();
  }

  /** Drops what waits. Only what is pushed from now on is sent. */
  skip(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#text = '';
  }

  /** Ends the stream with this frame, once everything was sent. */
  finish(lastFrame: Buffer): void {
    this.#lastFrame = lastFrame;
    if (this.#phase === 'live' && this.#cancelFlush === undefined) this.#send();
  }

  /** Ends the stream with this frame, whatever waits. */
  end(lastFrame: Buffer): void {
    if (this.#phase === 'closed') return;
    this.left();
    this.#options.sink.end(lastFrame);
  }

  /** Its client is gone. */
  left(): void {
    this.#phase = 'closed';
    this.#cancelFlush?.();
    this.#cancelPing?.();
    this.skip();
  }

  /** Sends what may be sent now, and sets a timer for the rest. */
  #send(): void {
    while (this.#phase === 'live') {
      if (this.#waitingBytes === 0 && this.#text === '') {
        if (this.#lastFrame !== undefined) this.#complete(this.#lastFrame);
        break;
      }
      const pauseMs = this.#pauseMs();
      if (pauseMs > 0) {
        this.#cancelFlush ??= this.#options.clock.after(pauseMs, () => {
          this.#cancelFlush = undefined;
          this.#send();
        });
        break;
      }
      const text = this.#takeText();
      if (text !== '') this.#sendFrame(text);
    }
    this.#tellRoom();
  }

  #complete(lastFrame: Buffer): void {
    // The beginning of a character whose rest never came.
    const text = this.#decoder.decode();
    if (text !== '') this.#sendFrame(text);
    this.end(lastFrame);
    this.#options.onDone();
  }

  /** How long the next frame has to wait. */
  #pauseMs(): number {
    const { clock, flushMs } = this.#options;
    const nowMs = clock.now();
    const sinceMs = nowMs - this.#window.startMs;
    // Below zero when the clock was set back.
    if (sinceMs >= flushMs || sinceMs < 0) {
      this.#window = { startMs: nowMs, bytes: 0, frames: 0 };
      return 0;
    }
    const { bytes, frames } = this.#window;
    return bytes > promptBytes || frames >= promptFrames ? flushMs - sinceMs : 0;
  }

  /** Text for one frame at most. The bytes of an incomplete character stay in the decoder. */
  #takeText(): string {
    if (this.#text !== '') {
      const text = this.#text;
      this.#text = '';
      return text;
    }
    const [first] = this.#waiting;
    const all = this.#waiting.length === 1 && first ? first : Buffer.concat(this.#waiting);
    const taken = all.subarray(0, this.#options.frameBytes);
    const rest = all.subarray(taken.length);
    this.#waiting = rest.length === 0 ? [] : [rest];
    this.#waitingBytes = rest.length;
    return this.#decoder.decode(taken, { stream: true });
  }

  #sendFrame(text: string): void {
    const frame = Buffer.from(sseEvent('data', text));
    if (frame.length > this.#options.frameBytes && text.length > 1) {
      // Escapes made it too long.
      const half = cutBefore(text, Math.ceil(text.length / 2));
      this.#text = text.slice(half) + this.#text;
      this.#sendFrame(text.slice(0, half));
      return;
    }
    this.#window.bytes += frame.length;
    this.#window.frames++;
    this.#write(frame);
  }

  #write(bytes: Buffer): void {
    if (this.#phase === 'closed') return;
    if (!this.#options.sink.write(bytes)) this.#phase = 'stalled';
  }

  #tellRoom(): void {
    if (!this.#wasFull || this.#waitingBytes + this.#text.length > roomBytes) return;
    this.#wasFull = false;
    this.#options.onRoom();
  }

  #arm(): void {
    const { clock, pingMs, onPing } = this.#options;
    this.#cancelPing = clock.after(pingMs, () => {
      // A full socket gets no ping: a client that never reads would fill our memory.
      if (this.#phase === 'live') this.#write(pingComment);
      this.#arm();
      onPing();
    });
  }
}

/** A cut that is not between the two halves of a surrogate pair. */
function cutBefore(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff && at > 1 ? at - 1 : at;
}
