/**
 * Owns an answer of unknown length. It writes each chunk at once and says when the socket is full. It
 * buffers nothing: the library keeps the part of the last chunk that the socket refused.
 */
import type { ResponseStream } from '../transport.ts';
import type { HttpResponse } from '../uws.ts';

/** The exchange that the stream answers. */
export interface StreamOwner {
  /** The callback of `onWritable` threw. */
  fail(error: unknown): void;
  /** Called once, at `end`, with the number of bytes written. */
  streamEnded(bytes: number): void;
}

/**
 * Corked writes of all streams of a gateway, through one function. A fan-out writes to thousands of
 * streams in a row, and a closure for each would have to be fetched from memory.
 */
export class CorkedWrites {
  readonly now: () => number;
  #response: HttpResponse | undefined;
  #chunk: Uint8Array | string = '';
  #taken = true;
  readonly #write = (): void => {
    if (this.#response !== undefined) this.#taken = this.#response.write(this.#chunk);
  };

  constructor(now: () => number) {
    this.now = now;
  }

  write(response: HttpResponse, chunk: Uint8Array | string): boolean {
    this.#response = response;
    this.#chunk = chunk;
    response.cork(this.#write);
    this.#response = undefined;
    this.#chunk = '';
    return this.#taken;
  }
}

export class OpenStream implements ResponseStream {
  readonly #response: HttpResponse;
  readonly #writes: CorkedWrites;
  readonly #owner: StreamOwner;
  #closed = false;
  #bytes = 0;
  #stalledSinceMs: number | null = null;
  #writable: (() => void) | undefined;

  constructor(response: HttpResponse, writes: CorkedWrites, owner: StreamOwner) {
    this.#response = response;
    this.#writes = writes;
    this.#owner = owner;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** When the socket became full; null while it takes bytes. */
  get stalledSinceMs(): number | null {
    return this.#stalledSinceMs;
  }

  /** Called inside the cork that wrote the head. */
  begin(): void {
    this.#response.onWritable(() => {
      if (this.#closed) return true;
      this.#stalledSinceMs = null;
      try {
        this.#writable?.();
      } catch (error) {
        this.#owner.fail(error);
      }
      return true;
    });
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#closed || chunk.length === 0) return !this.#closed;
    this.#bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
    const taken = this.#writes.write(this.#response, chunk);
    if (taken) this.#stalledSinceMs = null;
    else this.#stalledSinceMs ??= this.#writes.now();
    return taken;
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  end(lastChunk?: Uint8Array | string): void {
    if (this.#closed) return;
    if (lastChunk !== undefined) this.write(lastChunk);
    this.#closed = true;
    this.#response.cork(() => {
      // Not with the library's flag to close, which would write a header field into the chunked body.
      // When the service drains, the connection is closed as an idle one.
      this.#response.end();
    });
    this.#owner.streamEnded(this.#bytes);
  }

  /** The client has left: nothing may be written any more. */
  close(): void {
    this.#closed = true;
  }
}
