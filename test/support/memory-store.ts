/** A store in memory with the rules of the tables, for unit tests that need no disk. */
import { ServiceError } from '../../src/lib/errors.ts';
import type {
  CommitRequest,
  Journal,
  JournalEntry,
  ListOptions,
  Reader,
} from '../../src/store/reader-and-journal.ts';
import type { Change, Key, KeyPart, Table } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { ModelStore } from './model-store.ts';

export class MemoryStore implements Reader, Journal {
  readonly #model: ModelStore;
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  readonly #epochs = new Map<string, number>();

  constructor(of: Readonly<Record<string, { readonly name: string }>> = tables) {
    this.#model = new ModelStore(of);
  }

  get position(): number {
    return this.#model.position;
  }

  get newestPosition(): number {
    return this.position;
  }

  get<R>(from: Table<R>, key: Key): Readonly<R> | undefined {
    return this.#model.get(from.name, key) as R | undefined;
  }

  find<R, I extends string>(
    from: Table<R, I>,
    index: I,
    key: readonly KeyPart[],
  ): Readonly<R> | undefined {
    return this.list(from, index, key)[0];
  }

  list<R, I extends string>(
    from: Table<R, I>,
    index: I,
    prefix: readonly KeyPart[],
    options: ListOptions = {},
  ): Readonly<R>[] {
    return this.#model.list(from.name, index, prefix, options) as R[];
  }

  scan<R>(from: Table<R>): Iterable<Readonly<R>> {
    return this.#model.scan(from.name) as R[];
  }

  count<R, I extends string>(from: Table<R, I>, index: I, prefix: readonly KeyPart[]): number {
    return this.list(from, index, prefix, { limit: Infinity }).length;
  }

  async commit({ changes, actor, epoch }: CommitRequest): Promise<number> {
    const kept = copyOf(changes);
    await Promise.resolve();
    return this.write(kept, actor, epoch);
  }

  nextEpoch(actor = 'test:1'): number {
    const epoch = (this.#epochs.get(actor) ?? 0) + 1;
    this.#epochs.set(actor, epoch);
    return epoch;
  }

  subscribe(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies at once; throws CONFLICT or NOT_FOUND with nothing changed. */
  write(changes: Change[], actor = 'test:1', epoch = 1): number {
    const kept = copyOf(changes);
    const refusal = this.#model.apply(kept);
    if (refusal !== undefined) throw new ServiceError(refusal.code, refusal.message);
    const entry = { position: this.position, actor, epoch, atMs: 0, changes: kept };
    for (const listener of this.#listeners) listener(entry);
    return this.position;
  }
}

/** What was handed in may be changed by whoever did; what is read may not. */
export function copyOf(changes: readonly Change[]): Change[] {
  return changes.map((change) =>
    'value' in change ? { ...change, value: frozen(structuredClone(change.value)) } : change,
  );
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
