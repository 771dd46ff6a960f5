/** A store as plain maps, slow and obviously right, to compare the real one with. */
import {
  table,
  type Change,
  type Key,
  type KeyPart,
  type Table,
} from '../../src/store/records/table.ts';

export interface Thing {
  id: string;
  slug: string | null;
  group: string;
  rank: number;
  tags: string[];
}

export interface Pair {
  left: string;
  right: number;
  label: string | null;
}

/** Tables with every kind of index: unique, optional, shared, several keys a record, nullable. */
export const modelTables = {
  things: table<Thing>()('things', (r) => r.id, {
    slug: { keys: (r) => (r.slug === null ? [] : [[r.slug]]), unique: 'This slug is taken.' },
    group: { keys: (r) => [[r.group, r.rank]] },
    tag: { keys: (r) => r.tags.map((tag) => [tag]) },
  }),
  pairs: table<Pair>()('pairs', (r) => [r.left, r.right], {
    label: { keys: (r) => [[r.label, r.left]] },
    both: { keys: (r) => [[r.left, r.label ?? '']], unique: 'This label is taken here.' },
  }),
} as const;

type AnyTable = Table<unknown>;

/** Why an entry is refused. */
interface Refusal {
  code: 'CONFLICT' | 'NOT_FOUND';
  message: string;
}

function rank(part: KeyPart): number {
  if (part === null) return 0;
  if (typeof part === 'boolean') return 1;
  return typeof part === 'number' ? 2 : 3;
}

function comparePart(a: KeyPart, b: KeyPart): number {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  // No difference: that of two infinities is no number.
  return Number(a) === Number(b) ? 0 : Number(a) < Number(b) ? -1 : 1;
}

export function compareKeys(a: readonly KeyPart[], b: readonly KeyPart[]): number {
  for (const [i, part] of a.entries()) {
    const other = b[i];
    if (other === undefined) return 1;
    const order = comparePart(part, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

const parts = (key: Key): readonly KeyPart[] => (typeof key === 'string' ? [key] : key);

export class ModelStore {
  #rows = new Map<string, Map<string, unknown>>();
  readonly #tables: ReadonlyMap<string, AnyTable>;
  position = 0;

  constructor(tables: Readonly<Record<string, { readonly name: string }>> = modelTables) {
    this.#tables = new Map(Object.values(tables).map((t) => [t.name, t as AnyTable] as const));
  }

  #table(name: string): Map<string, unknown> {
    if (!this.#tables.has(name)) throw new Error(`Cannot read ${name}: there is no such table`);
    let rows = this.#rows.get(name);
    if (rows === undefined) this.#rows.set(name, (rows = new Map<string, unknown>()));
    return rows;
  }

  reset(position: number): void {
    this.#rows = new Map();
    this.position = position;
  }

  /** Applies an entry; why, when it is refused, with nothing changed. */
  apply(changes: readonly Change[]): Refusal | undefined {
    const before = new Map([...this.#rows].map(([name, rows]) => [name, new Map(rows)] as const));
    const refusal = this.#tryAll(changes);
    if (refusal !== undefined) this.#rows = before;
    else this.position += 1;
    return refusal;
  }

  #tryAll(changes: readonly Change[]): Refusal | undefined {
    for (const change of changes) {
      const rows = this.#table(change.table);
      const id = JSON.stringify(change.key);
      if (change.op === 'insert' && rows.has(id))
        return { code: 'CONFLICT', message: 'This exists already.' };
      if (change.op === 'take' && !rows.has(id))
        return { code: 'NOT_FOUND', message: 'This does not exist.' };
      if (change.op === 'put' || change.op === 'insert') rows.set(id, change.value);
      else rows.delete(id);
    }
    for (const name of new Set(changes.map((change) => change.table))) {
      for (const spec of Object.values(this.#tables.get(name)?.indexes ?? {})) {
        if (spec.unique === undefined) continue;
        const keys = [...this.#table(name).values()].flatMap((r) => spec.keys(r));
        if (new Set(keys.map((key) => JSON.stringify(key))).size < keys.length)
          return { code: 'CONFLICT', message: spec.unique };
      }
    }
    return undefined;
  }

  get(from: string, key: Key): unknown {
    return this.#table(from).get(JSON.stringify(key));
  }

  scan(from: string): unknown[] {
    const keyOf = (record: unknown) => parts(this.#tables.get(from)?.keyOf(record) ?? []);
    return [...this.#table(from).values()].sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
  }

  list(
    from: string,
    index: string,
    prefix: readonly KeyPart[],
    options: { after?: readonly KeyPart[]; limit?: number; reverse?: boolean } = {},
  ): unknown[] {
    const t = this.#tables.get(from);
    if (t === undefined) return [];
    const starts = (key: readonly KeyPart[], start: readonly KeyPart[]) =>
      key.length >= start.length && start.every((part, i) => part === key[i]);
    const spec = specOf(t, index);
    let found = this.scan(from).flatMap((record) => {
      const seen = new Map<string, readonly KeyPart[]>();
      for (const key of spec.keys(record)) seen.set(JSON.stringify(key), key);
      // Where several records may share an index key, their own key tells the entries apart.
      const own = spec.unique === undefined ? parts(t.keyOf(record)) : [];
      return [...seen.values()]
        .map((key) => ({ key: [...key, ...own], record }))
        .filter(({ key }) => starts(key, prefix));
    });
    found.sort((a, b) => compareKeys(a.key, b.key));
    if (options.reverse === true) found.reverse();
    const { after } = options;
    if (after !== undefined) {
      const sign = options.reverse === true ? -1 : 1;
      found = found.filter(({ key }) => !starts(key, after) && sign * compareKeys(key, after) > 0);
    }
    return found.slice(0, Math.max(0, options.limit ?? 1000)).map(({ record }) => record);
  }
}

interface Spec {
  keys: (record: unknown) => readonly (readonly KeyPart[])[];
  unique?: string;
}

function specOf(t: AnyTable, index: string): Spec {
  const indexes: Readonly<Record<string, Spec>> = t.indexes;
  return indexes[index] ?? { keys: () => [] };
}
