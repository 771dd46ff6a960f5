/**
 * Owns bytes both ways that survive the stream which carries them: what was sent and not yet acknowledged is kept, and
 * sent again on the next one. Both ends are the same.
 *
 * 1. Every byte arrives once and in order, over any number of streams; each end ends once.
 * 2. What is kept is bounded: who writes waits while `windowBytes` are not acknowledged. What is answered to an end that
 *    reads nothing is bounded, too.
 * 3. Without a stream it lives for `keepMs`; then, and when the other end has given it up, it breaks.
 */
import { Duplex } from 'node:stream';

import type { Clock } from './clock.ts';
import { lumpedPush } from './small-pieces.ts';

export interface ResumableOptions {
  windowBytes: number;
  keepMs: number;
  clock: Clock;
  /** What it breaks with where nobody here broke it. */
  broken: () => Error;
  /** It has no stream any more, and is not over. */
  onDetached?: () => void;
}

interface Kept {
  bytes: Uint8Array;
  /** Of its first byte, among all that were ever written. */
  at: number;
}

/** With a number of 6 bytes. `acknowledged`: so many bytes have come. `over`: the sender has given up. */
const frames = { data: 0, acknowledged: 1, end: 2, ended: 3, over: 4 } as const;
const headBytes = 7;
/** Bytes that come until they are acknowledged. */
const lumpBytes = 32 * 1024;

export class ResumableDuplex extends Duplex {
  readonly #options: ResumableOptions;
  #stream: Duplex | null = null;
  readonly #push = lumpedPush(this);
  readonly #kept: Kept[] = [];
  #written = 0;
  #acknowledged = 0;
  #received = 0;
  #told = 0;
  /** Who writes, and waits for room. */
  #waiting: (() => void) | null = null;
  /** Who has written the last byte, and waits until all have come. */
  #finishing: (() => void) | null = null;
  #hasEnded = false;
  /** Whether that was said on this stream. */
  #isEndTold = false;
  readonly #head = Buffer.alloc(headBytes);
  #headFilled = 0;
  /** Bytes of the piece that is arriving. */
  #left = 0;
  #cancelKeep: () => void;

  constructor(options: ResumableOptions) {
    super({ allowHalfOpen: true, autoDestroy: true });
    this.#options = options;
    this.#cancelKeep = this.#keep();
  }

  /** What the other end has to know to go on. */
  get received(): number {
    return this.#received;
  }

  /** Goes on over this stream, of whose other end `theirs` bytes of ours have come. */
  attach(stream: Duplex, theirs: number): void {
    if (this.destroyed) {
      stream.destroy();
      return;
    }
    if (theirs > this.#written) {
      this.destroy(this.#options.broken());
      stream.destroy();
      return;
    }
    if (theirs < this.#acknowledged) {
      // It was asked for over a connection that was lost since, and comes behind the stream that followed it.
      stream.destroy();
      return;
    }
    const before = this.#stream;
    this.#stream = null;
    before?.destroy();
    // What waits for room is written by this, and goes behind all that is kept.
    this.#acknowledge(theirs);
    this.#stream = stream;
    this.#cancelKeep();
    this.#headFilled = 0;
    this.#left = 0;
    this.#told = this.#received;
    this.#isEndTold = false;
    stream.on('error', () => undefined); // 'close' follows.
    stream.once('end', () => stream.destroy());
    stream.once('close', () => this.#detach(stream));
    stream.on('data', (chunk: Buffer) => {
      if (this.#stream === stream) this.#take(chunk);
    });
    stream.on('drain', () => this.#tellReceived());
    for (const { bytes } of this.#kept) this.#sendData(bytes);
    if (this.#finishing !== null) this.#send(frames.end, 0);
    if (stream.destroyed) this.#detach(stream);
  }

  override _read(): void {
    this.#stream?.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#kept.push({ bytes: chunk, at: this.#written });
    this.#written += chunk.length;
    this.#sendData(chunk);
    if (this.#written - this.#acknowledged < this.#options.windowBytes) done();
    else this.#waiting = done;
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#finishing = done;
    this.#send(frames.end, 0);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#cancelKeep();
    const stream = this.#stream;
    this.#stream = null;
    if (stream !== null) {
      const isOver = error === null && this.#hasEnded && this.writableFinished;
      if (!isOver) stream.write(headOf(frames.over, 0));
      // The other end may have more to say; nobody listens.
      stream.resume();
      stream.end();
    }
    this.#kept.length = 0;
    this.#waiting = null;
    this.#finishing = null;
    done(error);
  }

  #keep(): () => void {
    const { clock, keepMs, broken } = this.#options;
    return clock.after(keepMs, () => this.destroy(broken()));
  }

  #detach(stream: Duplex): void {
    if (this.#stream !== stream) return;
    this.#stream = null;
    if (this.destroyed) return;
    this.#cancelKeep = this.#keep();
    this.#options.onDetached?.();
  }

  #take(chunk: Buffer): void {
    let hasRoom = true;
    for (let at = 0; at < chunk.length && !this.destroyed;) {
      if (this.#left > 0) {
        const part = chunk.subarray(at, at + this.#left);
        this.#left -= part.length;
        this.#received += part.length;
        at += part.length;
        hasRoom = this.#push(part);
        continue;
      }
      this.#head[this.#headFilled++] = chunk[at++] ?? 0;
      if (this.#headFilled < headBytes) continue;
      this.#headFilled = 0;
      this.#hear(this.#head[0] ?? 0, this.#head.readUIntBE(1, 6));
    }
    this.#tellReceived();
    if (!hasRoom) this.#stream?.pause();
  }

  /** Later, with what has come by then, where the other end does not take what it is sent. */
  #tellReceived(): void {
    if (this.#received - this.#told < lumpBytes || this.#stream?.writableNeedDrain === true) return;
    this.#told = this.#received;
    this.#send(frames.acknowledged, this.#received);
  }

  #hear(frame: number, count: number): void {
    if (frame === frames.data) this.#left = count;
    else if (frame === frames.acknowledged && count <= this.#written) this.#acknowledge(count);
    else if (frame === frames.end) this.#end();
    else if (frame === frames.ended) this.#finish();
    else this.destroy(this.#options.broken());
  }

  #end(): void {
    // It may have been told on a stream that was lost.
    if (!this.#isEndTold) this.#send(frames.ended, 0);
    this.#isEndTold = true;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.push(null);
  }

  #finish(): void {
    const done = this.#finishing;
    this.#finishing = null;
    done?.();
  }

  #acknowledge(count: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, count);
    for (let first = this.#kept[0]; first !== undefined; first = this.#kept[0]) {
      const gone = this.#acknowledged - first.at;
      if (gone <= 0) break;
      if (gone >= first.bytes.length) {
        this.#kept.shift();
        continue;
      }
      first.bytes = first.bytes.subarray(gone);
      first.at = this.#acknowledged;
    }
    const done = this.#waiting;
    if (done === null || this.#written - this.#acknowledged >= this.#options.windowBytes) return;
    this.#waiting = null;
    done();
  }

  #sendData(bytes: Uint8Array): void {
    if (this.#stream === null || bytes.length === 0) return;
    this.#stream.cork();
    this.#stream.write(headOf(frames.data, bytes.length));
    this.#stream.write(bytes);
    this.#stream.uncork();
  }

  #send(frame: number, count: number): void {
    this.#stream?.write(headOf(frame, count));
  }
}

function headOf(frame: number, count: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head[0] = frame;
  head.writeUIntBE(count, 1, 6);
  return head;
}
