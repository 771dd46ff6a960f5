/** Owns the reader of a thread as the rest of the program sees it: its reads, and nothing else. */
import type { ListOptions, Reader } from '../reader-and-journal.ts';
import type { StoreReader } from './reader.ts';
import type { Key, KeyPart, Table } from '../records/table.ts';

export class OpenReader implements Reader {
  readonly #reader: StoreReader;

  constructor(reader: StoreReader) {
    this.#reader = reader;
  }

  get position(): number {
    return this.#reader.position;
  }

  get newestPosition(): number {
    return this.#reader.newestPosition;
  }

  get<R>(from: Table<R>, key: Key): Readonly<R> | undefined {
    return this.#reader.get(from, key);
  }

  find<R, I extends string>(
    from: Table<R, I>,
    index: I,
    key: readonly KeyPart[],
  ): Readonly<R> | undefined {
    return this.#reader.find(from, index, key);
  }

  list<R, I extends string>(
    from: Table<R, I>,
    index: I,
    prefix: readonly KeyPart[],
    options?: ListOptions,
  ): Readonly<R>[] {
    return this.#reader.list(from, index, prefix, options);
  }

  scan<R>(from: Table<R>): Iterable<Readonly<R>> {
    return this.#reader.scan(from);
  }

  count<R, I extends string>(from: Table<R, I>, index: I, prefix: readonly KeyPart[]): number {
    return this.#reader.count(from, index, prefix);
  }
}
