/**
 * A store in memory whose commits settle when the test says so: what the runtime needs of a store,
 * with every failure at hand. The real store has its own tests and is used everywhere else.
 */
import type { RuntimeStore } from '../../src/actors/runtime/runtime.ts';
import type { CommitRequest, JournalEntry } from '../../src/store/contract.ts';
import type { Key, KeyPart, Table } from '../../src/store/table.ts';

interface Pending {
  request: CommitRequest;
  resolve: (position: number) => void;
  reject: (error: unknown) => void;
}

export class ScriptedStore implements RuntimeStore {
  position = 0;
  /** Commits wait for `release` or `fail` instead of settling by themselves. */
  held = false;
  readonly entries: JournalEntry[] = [];
  readonly pending: Pending[] = [];
  readonly #records = new Map<string, Map<string, unknown>>();
  readonly #epochs = new Map<string, number>();
  readonly #listeners = new Set<(entry: JournalEntry) => void>();

  get newestPosition(): number {
    return this.position;
  }

  nextEpoch(actor: string): number {
    const epoch = (this.#epochs.get(actor) ?? 0) + 1;
    this.#epochs.set(actor, epoch);
    return epoch;
  }

  commit(request: CommitRequest): Promise<number> {
    return new Promise((resolve, reject) => {
      this.pending.push({ request, resolve, reject });
      if (!this.held)
        setImmediate(() => {
          this.release();
        });
    });
  }

  subscribe(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Makes everything that waits durable, as one group. */
  release(): void {
    for (const { request, resolve } of this.pending.splice(0)) {
      this.position += 1;
      for (const change of request.changes) {
        const records = this.#records.get(change.table) ?? new Map<string, unknown>();
        this.#records.set(change.table, records);
        const key = JSON.stringify(change.key);
        if (change.op === 'put' || change.op === 'insert') records.set(key, change.value);
        else records.delete(key);
      }
      const entry = { ...request, position: this.position, atMs: 0 };
      this.entries.push(entry);
      for (const listener of this.#listeners) listener(entry);
      resolve(this.position);
    }
  }

  /** Fails everything that waits, as one group. */
  fail(error: unknown): void {
    for (const { reject } of this.pending.splice(0)) reject(error);
  }

  get<R>(from: Table<R>, key: Key): R | undefined {
    return this.#records.get(from.name)?.get(JSON.stringify(key)) as R | undefined;
  }

  list<R, I extends string>(
    from: Table<R, I>,
    index: I,
    prefix: readonly KeyPart[],
    options: { limit?: number } = {},
  ): R[] {
    return [...this.scan(from)]
      .flatMap((record) => from.indexes[index].of(record).map((key) => ({ key, record })))
      .filter(({ key }) => prefix.every((part, i) => key[i] === part))
      .sort((a, b) => compareKeys(a.key, b.key))
      .slice(0, options.limit ?? 1000)
      .map(({ record }) => record);
  }

  find<R, I extends string>(from: Table<R, I>, index: I, key: readonly KeyPart[]): R | undefined {
    return this.list(from, index, key)[0];
  }

  *scan<R>(from: Table<R>): Iterable<R> {
    yield* (this.#records.get(from.name)?.values() ?? []) as Iterable<R>;
  }

  count<R, I extends string>(from: Table<R, I>, index: I, prefix: readonly KeyPart[]): number {
    return this.list(from, index, prefix).length;
  }
}

function compareKeys(a: readonly KeyPart[], b: readonly KeyPart[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left, right] = [a[i], b[i]];
    if (left === right || left == null || right == null) continue;
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
