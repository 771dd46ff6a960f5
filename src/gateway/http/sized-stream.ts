/**
 * Owns an answer whose length is told before its bytes come. The library keeps nothing of what the socket
 * refuses: the rest of one chunk waits here until there is room.
 *
 * 1. No more than the told bytes are written, and the answer ends with the last of them.
 * 2. One that ends before is cut off, so that nobody takes it for whole.
 */
import type { ResponseStream } from '../transport.ts';
import type { HttpResponse } from '../uws.ts';
import type { StreamOwner } from './open-stream.ts';

export interface SizedStreamOwner extends StreamOwner {
  /** Cuts the connection. */
  abort(): void;
}

export class SizedStream implements ResponseStream {
  readonly #response: HttpResponse;
  readonly #now: () => number;
  readonly #owner: SizedStreamOwner;
  readonly #length: number;
  #closed = false;
  #taken = 0;
  #waiting: Uint8Array = new Uint8Array();
  #stalledSinceMs: number | null = null;
  #writable: (() => void) | undefined;

  constructor(response: HttpResponse, now: () => number, owner: SizedStreamOwner, length: number) {
    this.#response = response;
    this.#now = now;
    this.#owner = owner;
    this.#length = length;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get bytes(): number {
    return this.#taken;
  }

  /** When the socket became full; null while it takes bytes. */
  get stalledSinceMs(): number | null {
    return this.#stalledSinceMs;
  }

  /** Called inside the cork that wrote the head. */
  begin(): void {
    this.#response.onWritable((offset) => {
      if (this.#closed) return true;
      this.#waiting = this.#waiting.subarray(offset - this.#taken);
      this.#taken = offset;
      if (!this.#send()) return false;
      try {
        this.#writable?.();
      } catch (error) {
        this.#owner.fail(error);
      }
      return true;
    });
  }

  /** A chunk that comes while one waits is a fault of the caller. */
  write(chunk: Uint8Array | string): boolean {
    if (this.#closed || chunk.length === 0) return !this.#closed;
    if (this.#waiting.length > 0) throw new Error('Cannot write: the socket is full');
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (this.#taken + bytes.length > this.#length) {
      throw new Error('Cannot write: there are more bytes than were told');
    }
    this.#waiting = bytes;
    return this.#send();
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  end(lastChunk?: Uint8Array | string): void {
    if (lastChunk !== undefined) this.write(lastChunk);
    // The last byte ends it, also one that waits.
    const given = this.#taken + this.#waiting.length;
    if (!this.#closed && given < this.#length) this.#owner.abort();
  }

  /** The client has left: nothing may be written any more. */
  close(): void {
    this.#closed = true;
    this.#waiting = new Uint8Array();
  }

  /** False when the socket did not take all that waits. */
  #send(): boolean {
    const outcome = { isTaken: false, isDone: false };
    this.#response.cork(() => {
      [outcome.isTaken, outcome.isDone] = this.#response.tryEnd(this.#waiting, this.#length);
    });
    const { isTaken, isDone } = outcome;
    if (isTaken || isDone) {
      this.#taken += this.#waiting.length;
      this.#waiting = new Uint8Array();
      this.#stalledSinceMs = null;
    } else this.#stalledSinceMs ??= this.#now();
    if (isDone) {
      this.close();
      this.#owner.streamEnded(this.#taken);
    }
    return isTaken || isDone;
  }
}
