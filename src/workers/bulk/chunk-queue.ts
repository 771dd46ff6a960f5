/**
 * Owns the chunks of one transfer between their arrival and the moment nobody needs them.
 *
 * 1. A chunk has two users, the disk and the reader; when the last one lets go its memory goes back
 *    to be used again, or is freed at once without waiting for the garbage collector.
 * 2. Chunks that come after `stop` are freed unseen.
 */
import type { ByteSource } from '../../protocol/archive/byte-reader.ts';
import { reusedBytes } from '../messages.ts';

/** So many bytes are done with; their buffer, when it is worth using again. */
export type Credit = (bytes: number, buffer?: ArrayBuffer) => void;

interface Held {
  bytes: Uint8Array<ArrayBuffer>;
  users: number;
}

export class ChunkQueue implements ByteSource {
  readonly #credit: Credit;
  readonly #waiting: Held[] = [];
  #reading: Held | null = null;
  #state: 'open' | 'ended' | 'stopped' = 'open';
  #wake: (() => void) | null = null;

  constructor(credit: Credit) {
    this.#credit = credit;
  }

  /** Takes a chunk; the returned function says that the disk needs it no more. */
  push(buffer: ArrayBuffer): () => void {
    const held: Held = { bytes: new Uint8Array(buffer), users: 2 };
    if (this.#state === 'open' && held.bytes.length > 0) {
      this.#waiting.push(held);
      this.#wake?.();
    } else held.users--;
    return () => {
      this.#release(held);
    };
  }

  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#wake?.();
  }

  /** The reader is gone, for whatever reason. */
  stop(): void {
    this.#state = 'stopped';
    this.#letGo();
    for (const held of this.#waiting.splice(0)) this.#release(held);
    this.#wake?.();
  }

  async next(): Promise<Uint8Array | null> {
    this.#letGo();
    for (;;) {
      if (this.#state === 'stopped') return null;
      this.#reading = this.#waiting.shift() ?? null;
      if (this.#reading !== null) return this.#reading.bytes;
      if (this.#state === 'ended') return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  #letGo(): void {
    if (this.#reading === null) return;
    this.#release(this.#reading);
    this.#reading = null;
  }

  #release(held: Held): void {
    if (--held.users > 0) return;
    const { length, buffer } = held.bytes;
    if (length === reusedBytes) {
      this.#credit(length, buffer);
      return;
    }
    // Detaching into nothing frees the memory now; otherwise it waits for a collection.
    buffer.transfer(0);
    this.#credit(length);
  }
}
