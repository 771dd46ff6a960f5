/**
 * Owns the body of one request on its way from the socket to its reader.
 *
 * 1. What arrives before there is a reader is held (`held-bytes.ts`), and the socket is paused. It is also paused while the
 *    reader wants no more. A pause takes effect at the end of the turn: what the library reads until
 *    then goes to the reader all the same.
 * 2. The reader's limit counts the bytes that arrive; a declared length is checked before the first byte.
 * 3. No byte for `idleMs`, or less than `minBytesPerS` over `windowMs`, is REQUEST_TIMEOUT. Time in which
 *    the reader wants no more does not count.
 * 4. After `fail` or `end` the reader hears nothing more; what still arrives is dropped.
 */
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { BodyFlow, BodySink } from '../transport.ts';
import type { Framing } from './framing.ts';
import type { Held, HeldBytes } from './held-bytes.ts';

/** What the body needs of the socket. */
export interface BodySource {
  pause(): unknown;
  /** Call it only after `pause`: on a socket that is being read it stops the reading. */
  resume(): unknown;
}

/**
 * The library closes a socket without much traffic after about 10 s; reading anew starts that time
 * again.
 */
export function renewTimer(source: BodySource): void {
  source.pause();
  source.resume();
}

export interface BodyLimits {
  idleMs: number;
  minBytesPerS: number;
  windowMs: number;
}

/** Reading so many bytes costs less than a new connection. */
const shortRestBytes = 64 * 1024;

type Reader =
  | { kind: 'none' }
  | { kind: 'sink'; sink: BodySink; maxBytes: number; stopped: boolean }
  | { kind: 'done' };

const none: Reader = { kind: 'none' };
const done: Reader = { kind: 'done' };

export class RequestBody {
  readonly #source: BodySource;
  readonly #framing: Framing;
  readonly #limits: BodyLimits;
  #reader: Reader = none;
  #held: Held[] = [];
  #receivedBytes = 0;
  #arrived = false;
  #ended = false;
  #refusal: ServiceError | null = null;
  #paused = false;
  readonly #now: () => number;
  readonly #copies: HeldBytes;
  // Set when a reader begins: before that the client is not at fault.
  #lastByteMs = 0;
  #windowStartMs = 0;
  #windowBytes = 0;

  constructor(
    source: BodySource,
    framing: Framing,
    limits: BodyLimits,
    now: () => number,
    held: HeldBytes,
  ) {
    this.#source = source;
    this.#framing = framing;
    this.#limits = limits;
    this.#now = now;
    this.#copies = held;
    this.#arrived = framing.kind === 'none' || framing.kind === 'refused';
    this.#ended = this.#arrived;
  }

  /** Whether too much is still to come to be skipped on a connection that is kept. */
  hasLongRest(closes: boolean): boolean {
    if (this.#arrived) return false;
    if (closes || this.#framing.kind !== 'length') return true;
    return this.#framing.bytes - this.#receivedBytes > shortRestBytes;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Whether a reader still gets chunks. */
  get flowing(): boolean {
    return this.#reader.kind === 'sink';
  }

  /** Gives the body to its one reader. Nothing is called before the caller has returned. */
  read(maxBytes: number, sink: BodySink): BodyFlow {
    if (this.#reader.kind !== 'none') throw new Error('Cannot read a body: it has a reader');
    const reader = { kind: 'sink' as const, sink, maxBytes, stopped: false };
    this.#reader = reader;
    // The client is not at fault for the time in which nobody read.
    this.#restartTimers();
    const declared = this.#framing.kind === 'length' ? this.#framing.bytes : 0;
    const refusal = this.#arrived ? null : this.#refusal;
    if (refusal !== null) {
      queueMicrotask(() => this.fail(refusal));
    } else if (declared > maxBytes || this.#receivedBytes > maxBytes) {
      queueMicrotask(() => this.#failTooLarge(maxBytes));
    } else if (this.#paused || this.#ended || this.#held.length > 0) {
      queueMicrotask(() => this.#pump());
    }
    return {
      resume: () => {
        if (!reader.stopped) return;
        reader.stopped = false;
        this.#restartTimers();
        this.#pump();
      },
    };
  }

  /** Takes what the library read; `chunk` is only lent. */
  receive(chunk: ArrayBuffer, last: boolean): void {
    this.#receivedBytes += chunk.byteLength;
    this.#windowBytes += chunk.byteLength;
    if (last) this.#arrive();
    else this.#lastByteMs = this.#now();
    const reader = this.#reader;
    if (reader.kind === 'done') return;
    if (reader.kind === 'sink' && this.#receivedBytes > reader.maxBytes) {
      this.#failTooLarge(reader.maxBytes);
      return;
    }
    if (last && this.#lend(chunk, reader)) return;
    if (chunk.byteLength > 0) this.#deliver(chunk, reader);
    // Trailers may hide a second request in the bytes that the library is parsing now. If this request
    // were not answered before, the library would drop both.
    if (last && this.#framing.kind === 'chunked') setImmediate(() => this.#end());
    else if (last) this.#end();
    else this.#pump();
  }

  /** Holds a copy: the library reuses the bytes when its callback returns. */
  #deliver(chunk: ArrayBuffer, reader: Reader): void {
    if (reader.kind !== 'sink' || this.#held.length > 0) this.#held.push(this.#copies.hold(chunk));
    else if (!reader.sink.chunk(chunk)) reader.stopped = true;
  }

  /** A body of known length that came in one piece is lent to the reader without a copy. */
  #lend(chunk: ArrayBuffer, reader: Reader): boolean {
    const isWhole = chunk.byteLength === this.#receivedBytes && this.#framing.kind === 'length';
    if (!isWhole || reader.kind !== 'sink' || reader.stopped) return false;
    if (reader.sink.lent?.(chunk) !== true) return false;
    this.#ended = true;
    this.#reader = done;
    return true;
  }

  /** Takes no more of the body, and tells its reader, now or once there is one. A complete body is read. */
  refuse(reason: ServiceError): void {
    if (this.flowing) this.fail(reason);
    else this.#refusal = reason;
  }

  /** Ends the reading for a reason of ours or because the client left. */
  fail(reason: ServiceError | 'aborted'): void {
    const reader = this.#reader;
    this.#reader = done;
    this.#forget();
    if (reason === 'aborted') this.#arrived = true;
    else this.#setPaused(false);
    if (reader.kind === 'sink') reader.sink.fail(reason);
  }

  /** Lets what is left flow by and be dropped. */
  drop(): void {
    this.#reader = done;
    this.#forget();
    this.#setPaused(false);
  }

  #forget(): void {
    if (this.#held.length === 0) return;
    for (const one of this.#held) this.#copies.drop(one);
    this.#held = [];
  }

  /** Judges the client's pace; called every few seconds, also to renew the library's timer. */
  tick(): void {
    if (this.#paused) return;
    renewTimer(this.#source);
    if (this.#arrived || this.#reader.kind !== 'sink') return;
    const nowMs = this.#now();
    if (nowMs - this.#lastByteMs >= this.#limits.idleMs) {
      this.fail(new ServiceError('REQUEST_TIMEOUT', 'No byte of the body came for too long.'));
      return;
    }
    const windowMs = nowMs - this.#windowStartMs;
    if (windowMs < this.#limits.windowMs) return;
    if (this.#windowBytes < (this.#limits.minBytesPerS * windowMs) / 1000) {
      this.fail(new ServiceError('REQUEST_TIMEOUT', 'The body came in too slowly.'));
      return;
    }
    this.#restartTimers();
  }

  #restartTimers(): void {
    this.#lastByteMs = this.#windowStartMs = this.#now();
    this.#windowBytes = 0;
  }

  /** The socket must read on after the last byte, to notice a client that leaves. */
  #arrive(): void {
    this.#setPaused(false);
    this.#arrived = true;
  }

  #end(): void {
    this.#ended = true;
    this.#pump();
  }

  #pump(): void {
    const reader = this.#reader;
    if (reader.kind === 'sink') {
      this.#hand(reader);
      if (!this.#isCurrent(reader)) return;
      if (this.#ended && !reader.stopped && this.#held.length === 0) {
        this.#reader = done;
        reader.sink.end();
        return;
      }
      this.#setPaused(reader.stopped);
    } else if (reader.kind === 'none') {
      this.#setPaused(true);
    }
  }

  /** What is held, as far as the reader wants it. The reader may end the reading meanwhile. */
  #hand(reader: Reader & { kind: 'sink' }): void {
    while (!reader.stopped && this.#isCurrent(reader)) {
      const held = this.#held.shift();
      if (held === undefined) return;
      try {
        reader.stopped = !this.#copies.take(held, (chunk) => reader.sink.chunk(chunk));
      } catch (error) {
        this.fail(asServiceError(error));
      }
    }
  }

  #isCurrent(reader: Reader): boolean {
    return this.#reader === reader;
  }

  #setPaused(paused: boolean): void {
    if (this.#arrived || paused === this.#paused) return;
    this.#paused = paused;
    if (paused) this.#source.pause();
    else this.#source.resume();
  }

  #failTooLarge(maxBytes: number): void {
    this.fail(
      new ServiceError('PAYLOAD_TOO_LARGE', `The body is larger than ${maxBytes} bytes.`, {
        extensions: { maxBytes },
      }),
    );
  }
}
