/** Owns the length and the SHA-256 of a stream, taken while it passes. */
import { createHash } from 'node:crypto';

export class Hashed implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #sha256: string | null = null;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  /** Bytes that have passed so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Hex, of the whole stream. Throws before its end. */
  get sha256(): string {
    if (this.#sha256 === null) throw new Error('Cannot tell the SHA-256: the stream has not ended');
    return this.#sha256;
  }

  /** May be asked for once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#source) {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      yield chunk;
    }
    this.#sha256 = this.#hash.digest('hex');
  }
}

/** The same chunks, counted and hashed. */
export function hashed(source: AsyncIterable<Uint8Array>): Hashed {
  return new Hashed(source);
}
