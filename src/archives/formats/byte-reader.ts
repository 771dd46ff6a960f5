/**
 * Owns reading bytes by count out of chunks of any size.
 *
 * 1. A chunk of the source is dead once the next one is asked for; what still has to be seen of it
 *    is copied before (never more than was peeked for).
 * 2. What `take` and `peek` return is valid until the next call that may ask the source.
 */
import { corrupt } from './refusals.ts';

export interface ByteSource {
  /** The next chunk, not empty; null at the end. */
  next(): Promise<Uint8Array | null>;
}

const nothing = new Uint8Array(0);

export class ByteReader {
  readonly #source: ByteSource;
  #head: Uint8Array = nothing;
  /** Follows `#head` when that is a copied rest. */
  #behind: Uint8Array | null = null;
  #ended = false;
  #position = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Bytes taken or skipped so far. */
  get position(): number {
    return this.#position;
  }

  /** What can be had at once: at least one byte, or null at the end. */
  async chunk(): Promise<Uint8Array | null> {
    if (this.#head.length > 0) return this.#head;
    return (await this.#more()) ? this.#head : null;
  }

  skip(bytes: number): void {
    this.#head = this.#head.subarray(bytes);
    this.#position += bytes;
    if (this.#head.length === 0 && this.#behind !== null) {
      this.#head = this.#behind;
      this.#behind = null;
    }
  }

  /** Exactly `count` bytes. Throws ARCHIVE_CORRUPT when the end comes before. */
  async take(count: number): Promise<Uint8Array> {
    const bytes = await this.peek(count);
    if (bytes === null) throw corrupt('it is cut off');
    let left = count;
    while (left > 0) {
      const step = Math.min(left, this.#head.length);
      this.skip(step);
      left -= step;
    }
    return bytes;
  }

  /** As `take`, without moving on; null when the end comes before. */
  async peek(count: number): Promise<Uint8Array | null> {
    while (this.#head.length < count) {
      if (this.#behind !== null && this.#head.length + this.#behind.length >= count) {
        const joined = new Uint8Array(count);
        joined.set(this.#head);
        joined.set(this.#behind.subarray(0, count - this.#head.length), this.#head.length);
        return joined;
      }
      if (!(await this.#more())) return null;
    }
    return this.#head.subarray(0, count);
  }

  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const rest = this.#head;
    const behind = this.#behind;
    if (rest.length > 0 || behind !== null) {
      const copy = new Uint8Array(rest.length + (behind?.length ?? 0));
      copy.set(rest);
      if (behind !== null) copy.set(behind, rest.length);
      this.#head = copy;
      this.#behind = null;
    }
    const chunk = await this.#source.next();
    if (chunk === null) {
      this.#ended = true;
      return false;
    }
    if (this.#head.length === 0) this.#head = chunk;
    else this.#behind = chunk;
    return true;
  }
}
