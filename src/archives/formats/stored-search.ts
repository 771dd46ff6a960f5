/**
 * Owns the finding of the end of stored zip data whose length nobody said: the first place where a
 * data descriptor stands that is true of all before it. That the guess was right shows when the
 * directory names the same length.
 */
import type { ByteReader } from './byte-reader.ts';
import { corrupt } from './refusals.ts';
import {
  asBuffer,
  descriptorBytesMax,
  descriptorBytesMin,
  descriptorLength,
} from './zip-records.ts';

const signature = Buffer.from([0x50, 0x4b, 0x07, 0x08]);

export class StoredSearch {
  readonly #reader: ByteReader;
  /** What was found so far; `take` keeps it. */
  readonly #found: { crc: number; size: number };

  constructor(reader: ByteReader, found: { crc: number; size: number }) {
    this.#reader = reader;
    this.#found = found;
  }

  /** Hands all data to `take` and leaves the reader at the descriptor. */
  async run(take: (bytes: Uint8Array, consumed: number) => void): Promise<void> {
    let consumed = 0;
    const pass = (bytes: Uint8Array): void => {
      consumed += bytes.length;
      take(bytes, consumed);
      this.#reader.skip(bytes.length);
    };
    for (;;) {
      const chunk = await this.#reader.chunk();
      if (chunk === null) throw corrupt('it is cut off');
      const at = asBuffer(chunk).indexOf(signature);
      if (at > 0) pass(chunk.subarray(0, at));
      else if (at < 0 && chunk.length > 3) pass(chunk.subarray(0, chunk.length - 3));
      else if (await this.#atDescriptor()) return;
      else {
        const next = await this.#reader.peek(1);
        if (next === null) throw corrupt('it is cut off');
        pass(next);
      }
    }
  }

  async #atDescriptor(): Promise<boolean> {
    const bytes =
      (await this.#reader.peek(descriptorBytesMax)) ??
      (await this.#reader.peek(descriptorBytesMin + 4));
    if (bytes === null || asBuffer(bytes).indexOf(signature) !== 0) return false;
    const { crc, size } = this.#found;
    return descriptorLength(bytes, { crc, packed: size, size }) !== null;
  }
}
