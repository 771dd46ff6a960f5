/**
 * Owns an answer without a known end. It writes what it is given, says when the socket is full, and
 * holds nothing of its own: the library keeps the part of the last chunk that the socket refused.
 */
import type { ResponseStream } from './contract.ts';
import type { HttpResponse } from './uws.ts';

export interface OpenStreamOptions {
  response: HttpResponse;
  now: () => number;
  /** The callback of `onWritable` threw. */
  failed: (error: unknown) => void;
  /** Called once when `end` has been called; with the bytes written. */
  ended: (bytes: number) => void;
}

export class OpenStream implements ResponseStream {
  readonly #options: OpenStreamOptions;
  #closed = false;
  #bytes = 0;
  #stalledSinceMs: number | null = null;
  #writable: (() => void) | undefined;
  // One function for all writes: a fan-out writes to thousands of streams at a time.
  #chunk: Uint8Array | string = '';
  #taken = true;
  readonly #write = (): void => {
    this.#taken = this.#options.response.write(this.#chunk);
  };

  constructor(options: OpenStreamOptions) {
    this.#options = options;
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
    this.#options.response.onWritable(() => {
      if (this.#closed) return true;
      this.#stalledSinceMs = null;
      try {
        this.#writable?.();
      } catch (error) {
        this.#options.failed(error);
      }
      return true;
    });
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#closed || chunk.length === 0) return !this.#closed;
    this.#bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
    this.#chunk = chunk;
    this.#options.response.cork(this.#write);
    this.#chunk = '';
    if (this.#taken) this.#stalledSinceMs = null;
    else this.#stalledSinceMs ??= this.#options.now();
    return this.#taken;
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  end(lastChunk?: Uint8Array | string): void {
    if (this.#closed) return;
    if (lastChunk !== undefined) this.write(lastChunk);
    this.#closed = true;
    this.#options.response.cork(() => {
      // Never with the library's flag to close: it writes a header field into the chunked body. When
      // the service drains, the connection is closed as an idle one.
      this.#options.response.end();
    });
    this.#options.ended(this.#bytes);
  }

  /** The client has left: nothing may be written any more. */
  close(): void {
    this.#closed = true;
  }
}
