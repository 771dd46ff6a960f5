/**
 * Owns reading bytes by count from chunks of any size. A chunk of the source is invalid once the next one
 * is requested, so bytes that are still needed are copied before.
 */
import type { FileHandle } from 'node:fs/promises';
import { corrupt } from './refusals.ts';

export interface ByteSource {
  /** The next chunk, not empty; null at the end. */
  next(): Promise<Uint8Array | null>;
}

/** A file from its beginning, in chunks of `chunkBytes`. */
export function fileSource(file: FileHandle, chunkBytes: number): ByteSource {
  const buffer = new Uint8Array(chunkBytes);
  let position = 0;
  return {
    next: async () => {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, position);
      position += bytesRead;
      return bytesRead === 0 ? null : buffer.subarray(0, bytesRead);
    },
  };
}

export class ByteReader {
  readonly #source: ByteSource;
  #head: Uint8Array = new Uint8Array(0);
  #ended = false;
  #position = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Bytes taken or skipped so far. */
  get position(): number {
    return this.#position;
  }

  /** The bytes available at once: at least one, or null at the end. */
  async chunk(): Promise<Uint8Array | null> {
    return this.#head.length > 0 || (await this.#more()) ? this.#head : null;
  }

  skip(bytes: number): void {
    this.#head = this.#head.subarray(bytes);
    this.#position += bytes;
  }

  /** Exactly `count` bytes, valid as long as those of `peek`. Throws ARCHIVE_CORRUPT when fewer are left. */
  async take(count: number): Promise<Uint8Array> {
    const bytes = await this.peek(count);
    if (bytes === null) throw corrupt('it is cut off');
    this.skip(count);
    return bytes;
  }

  /** The next `count` bytes, valid until the next call that may ask the source; null when there are fewer. */
  async peek(count: number): Promise<Uint8Array | null> {
    while (this.#head.length < count) if (!(await this.#more())) return null;
    return this.#head.subarray(0, count);
  }

  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const rest = Buffer.from(this.#head);
    const chunk = await this.#source.next();
    if (chunk === null) this.#ended = true;
    this.#head = chunk === null ? rest : rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    return !this.#ended;
  }
}
