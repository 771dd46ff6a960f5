/** A store in memory with the rules of the tables, for unit tests that need no disk. */
import { ServiceError } from '../../src/lib/errors.ts';
import type {
  CommitRequest,
  Journal,
  JournalEntry,
  ListOptions,
  Reader,
} from '../../src/store/contract.ts';
import type { Change, Key, KeyPart, Table } from '../../src/store/table.ts';
import { tables } from '../../src/store/tables.ts';

type AnyTable = Table<unknown>;

function rankOf(part: KeyPart): number {
  if (part === null) return 0;
  if (typeof part === 'boolean') return 1;
  return typeof part === 'number' ? 2 : 3;
}

function compareKeys(a: readonly KeyPart[], b: readonly KeyPart[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const left = a[i];
    const right = b[i];
    if (left === undefined || right === undefined) return a.length - b.length;
    if (left === right) continue;
    const rank = rankOf(left) - rankOf(right);
    if (rank !== 0) return rank;
    return (left as string) < (right as string) ? -1 : 1;
  }
  return 0;
}

export class MemoryStore implements Reader, Journal {
  #rows = new Map<string, Map<string, unknown>>();
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  #epoch = 0;
  position = 0;

  get newestPosition(): number {
    return this.position;
  }

  get<R>(from: Table<R>, key: Key): Readonly<R> | undefined {
    return this.#table(from.name).get(JSON.stringify(key)) as R | undefined;
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
    const found: { key: readonly KeyPart[]; row: R }[] = [];
    for (const row of this.#table(from.name).values() as Iterable<R>) {
      for (const key of from.indexes[index].of(row)) {
        if (compareKeys(key.slice(0, prefix.length), prefix) === 0) found.push({ key, row });
      }
    }
    found.sort((a, b) => compareKeys(a.key, b.key));
    if (options.reverse === true) found.reverse();
    const { after } = options;
    const sign = options.reverse === true ? -1 : 1;
    const rest = after
      ? found.filter(({ key }) => sign * compareKeys(key.slice(0, after.length), after) > 0)
      : found;
    return rest.slice(0, options.limit ?? 1_000).map(({ row }) => row);
  }

  scan<R>(from: Table<R>): Iterable<Readonly<R>> {
    return [...this.#table(from.name).values()] as R[];
  }

  count<R, I extends string>(from: Table<R, I>, index: I, prefix: readonly KeyPart[]): number {
    return this.list(from, index, prefix, { limit: Infinity }).length;
  }

  async commit(request: CommitRequest): Promise<number> {
    await Promise.resolve();
    return this.write(request.changes, request.actor, request.epoch);
  }

  nextEpoch(): number {
    return (this.#epoch += 1);
  }

  subscribe(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies at once; throws CONFLICT or NOT_FOUND with nothing changed. */
  write(changes: Change[], actor = 'test:1', epoch = 1): number {
    const before = new Map<string, Map<string, unknown>>();
    for (const [name, rows] of this.#rows) before.set(name, new Map(rows));
    try {
      for (const change of changes) this.#apply(change);
    } catch (thrown) {
      this.#rows = before;
      throw thrown;
    }
    this.position++;
    const entry = { position: this.position, actor, epoch, atMs: 0, changes };
    for (const listener of this.#listeners) listener(entry);
    return this.position;
  }

  #table(name: string): Map<string, unknown> {
    let rows = this.#rows.get(name);
    if (!rows) this.#rows.set(name, (rows = new Map<string, unknown>()));
    return rows;
  }

  #apply(change: Change): void {
    const rows = this.#table(change.table);
    const key = JSON.stringify(change.key);
    switch (change.op) {
      case 'take':
        if (!rows.delete(key)) throw new ServiceError('NOT_FOUND', 'No such record.');
        return;
      case 'delete':
        rows.delete(key);
        return;
      case 'insert':
        if (rows.has(key)) throw new ServiceError('CONFLICT', 'This exists.');
        break;
      case 'put':
        break;
    }
    const table = Object.values(tables).find((one) => one.name === change.table) as
      AnyTable | undefined;
    if (!table) throw new Error(`no table ${change.table}`);
    const value = structuredClone(change.value);
    for (const [name, index] of Object.entries(table.indexes)) {
      if (index.unique === undefined) continue;
      for (const wanted of index.of(value)) {
        const holder = this.find(table, name, wanted);
        if (holder !== undefined && JSON.stringify(table.keyOf(holder)) !== key) {
          throw new ServiceError('CONFLICT', index.unique);
        }
      }
    }
    rows.set(key, value);
  }
}
