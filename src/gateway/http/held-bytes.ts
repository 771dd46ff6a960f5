/**
 * Owns what came of bodies that nobody takes yet.
 *
 * 1. What the socket library read in full lies in a file, not in memory: whoever sends fast sends whole archives
 *    before anybody can say stop, because the library reads on in the same turn for as long as a client keeps up. The
 *    write is also what ends that turn soon: fresh memory of this size can take twenty times as long.
 * 2. The file has no name, and no length while nothing is held. Where it cannot be written, memory holds the bytes.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, ftruncateSync, mkdirSync, openSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { writeAllSync } from '../../lib/write-all.ts';

/** What the library reads at most at once. */
export const fullReadBytes = 512 * 1024;

/** The bytes, or their place in the file. */
export type Held = ArrayBuffer | number;

export class HeldBytes {
  readonly #dir: string | null;
  #fd: number | null = null;
  /** Places in the file, of which some are free. */
  #places = 0;
  #free: number[] = [];
  #lendable: ArrayBuffer | null = null;

  /** `dir`: where the file is made; null: memory holds everything. */
  constructor(dir: string | null) {
    this.#dir = dir;
  }

  /** Copies bytes that are only lent. */
  hold(lent: ArrayBuffer): Held {
    if (this.#dir === null || lent.byteLength !== fullReadBytes) return lent.slice(0);
    const place = this.#free.pop() ?? this.#places++;
    try {
      this.#fd ??= openUnnamed(this.#dir);
      writeAllSync(this.#fd, new Uint8Array(lent), place * fullReadBytes);
      return place;
    } catch {
      this.drop(place);
      return lent.slice(0);
    }
  }

  /** Lends what is held to `use`, and drops it then. Throws when it cannot be read back. */
  take<T>(held: Held, use: (bytes: ArrayBuffer) => T): T {
    if (typeof held !== 'number') return use(held);
    if (this.#fd === null) throw new Error('Cannot take what is held: its file is closed');
    const bytes = this.#lendable ?? new ArrayBuffer(fullReadBytes);
    this.#lendable = null;
    try {
      const count = readSync(
        this.#fd,
        new Uint8Array(bytes),
        0,
        fullReadBytes,
        held * fullReadBytes,
      );
      if (count !== fullReadBytes) throw new Error(`${count} bytes of a body came back`);
      return use(bytes);
    } finally {
      this.#lendable = bytes;
      this.drop(held);
    }
  }

  drop(held: Held): void {
    if (typeof held !== 'number') return;
    this.#free.push(held);
    if (this.#free.length < this.#places) return;
    [this.#places, this.#free] = [0, []];
    if (this.#fd !== null) ftruncateSync(this.#fd);
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

function openUnnamed(dir: string): number {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, `held-${randomUUID()}`);
  const fd = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return fd;
}
