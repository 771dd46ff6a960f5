import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { ServiceError } from '../../src/lib/errors.ts';
import type { Reader } from '../../src/store/reader-and-journal.ts';
import type { Store } from '../../src/store/store.ts';
import {
  insert,
  put,
  remove,
  take,
  type Change,
  type KeyPart,
} from '../../src/store/records/table.ts';
import { modelTables, ModelStore, type Pair, type Thing } from '../support/model-store.ts';
import { openedStore } from '../support/store-fixture.ts';

const { things, pairs } = modelTables;
const small = fc.constantFrom('', 'a', 'b', 'a\0', 'ab', 'é');
const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const ordinary = { noNullPrototype: true };
const thing: fc.Arbitrary<Thing> = fc.record(
  {
    id: ids,
    slug: fc.option(small),
    group: small,
    rank: fc.integer({ min: -2, max: 2 }),
    tags: fc.array(small, { maxLength: 3 }),
  },
  ordinary,
);
const pair: fc.Arbitrary<Pair> = fc.record(
  { left: ids, right: fc.integer({ min: -1, max: 1 }), label: fc.option(small) },
  ordinary,
);
const change: fc.Arbitrary<Change> = fc.oneof(
  thing.map((record) => put(things, record)),
  thing.map((record) => insert(things, record)),
  ids.map((id) => remove(things, id)),
  ids.map((id) => take(things, id)),
  pair.map((record) => put(pairs, record)),
  pair.map((record) => insert(pairs, record)),
  pair.map((record) => take(pairs, [record.left, record.right])),
);
/** Several entries at once, several changes each. */
const groups = fc.array(
  fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  { minLength: 1, maxLength: 8 },
);

interface Query {
  table: 'things' | 'pairs';
  index: string;
  prefix: KeyPart[];
  options: { after?: KeyPart[]; limit?: number; reverse?: boolean };
}

const key = fc.oneof(small, fc.constant(null), fc.integer({ min: -2, max: 2 }));
const query: fc.Arbitrary<Query> = fc
  .record({
    at: fc.constantFrom(
      ['things', 'slug'] as const,
      ['things', 'group'] as const,
      ['things', 'tag'] as const,
      ['pairs', 'label'] as const,
      ['pairs', 'both'] as const,
    ),
    prefix: fc.array(key, { maxLength: 2 }),
    after: fc.option(fc.array(key, { minLength: 1, maxLength: 2 }), { nil: undefined }),
    limit: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
    reverse: fc.boolean(),
  })
  .map(({ at: [table, index], prefix, after, limit, reverse }) => ({
    table,
    index,
    prefix,
    options: {
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
      reverse,
    },
  }));

function listOf(reader: Reader, { table, index, prefix, options }: Query): unknown[] {
  return reader.list(modelTables[table] as never, index as never, prefix, options);
}

/** Everything a reader can answer about the small world of the model. */
function compare(reader: Reader, model: ModelStore, queries: readonly Query[]): void {
  assert.equal(reader.position, model.position);
  assert.deepEqual([...reader.scan(things)], model.scan('things'));
  assert.deepEqual([...reader.scan(pairs)], model.scan('pairs'));
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    assert.deepEqual(reader.get(things, id), model.get('things', id));
  }
  for (const slug of ['', 'a', 'b', 'a\0', 'ab', 'é']) {
    assert.deepEqual(reader.find(things, 'slug', [slug]), model.list('things', 'slug', [slug])[0]);
  }
  for (const asked of queries) {
    const { table, index, prefix, options } = asked;
    assert.deepEqual(listOf(reader, asked), model.list(table, index, prefix, options));
    assert.equal(
      reader.count(modelTables[table] as never, index as never, prefix),
      model.list(table, index, prefix).length,
    );
  }
}

async function commitGroup(store: Store, model: ModelStore, entries: Change[][]): Promise<void> {
  const commits = entries.map((changes, i) => {
    const actor = `test:${String(i)}`;
    return store.commit({ actor, epoch: store.nextEpoch(actor), changes });
  });
  const expected = entries.map((changes) => model.apply(changes)?.code);
  const outcomes = await Promise.allSettled(commits);
  const codes = outcomes.map((o) =>
    o.status === 'fulfilled' ? undefined : o.reason instanceof ServiceError && o.reason.code,
  );
  assert.deepEqual(codes, expected);
}

/** Starts both anew, whatever the run before left. */
async function empty(store: Store, model: ModelStore): Promise<void> {
  const changes = [
    ...[...store.scan(things)].map((r) => remove(things, r.id)),
    ...[...store.scan(pairs)].map((r) => remove(pairs, [r.left, r.right])),
  ];
  model.reset(await store.commit({ actor: 'test:empty', epoch: 1, changes }));
}

async function modelledStore(t: TestContext, cacheRecords?: number) {
  const store = await openedStore(t, {
    tables: modelTables,
    ...(cacheRecords !== undefined && { cacheRecords }),
  });
  return { store, model: new ModelStore() };
}

describe('store', () => {
  for (const cacheRecords of [undefined, 6]) {
    const size = cacheRecords === undefined ? 'a large cache' : 'a cache too small for all';
    it(`answers as plain maps do after any changes, with ${size}`, async (t) => {
      const { store, model } = await modelledStore(t, cacheRecords);
      await fc.assert(
        fc.asyncProperty(groups, fc.array(query, { maxLength: 8 }), async (entries, queries) => {
          await empty(store, model);
          for (const group of entries) {
            await commitGroup(store, model, group);
            // Twice: read, and read again from what is cached.
            compare(store, model, queries);
            compare(store, model, queries);
          }
        }),
        { numRuns: 60 },
      );
    });
  }

  it('answers the same in a worker thread, whose caches follow the journal', async (t) => {
    const { store, model } = await modelledStore(t);
    const worker = new Worker(new URL('../support/reader-worker.ts', import.meta.url), {
      workerData: store.readerOptions(),
    });
    t.after(() => worker.terminate());
    await fc.assert(
      fc.asyncProperty(groups, fc.array(query, { maxLength: 8 }), async (entries, queries) => {
        await empty(store, model);
        for (const group of entries) {
          await commitGroup(store, model, group);
          worker.postMessage(queries);
          const [answer] = (await once(worker, 'message')) as [unknown];
          assert.deepEqual(answer, {
            position: model.position,
            things: model.scan('things'),
            got: ['a', 'b', 'c', 'd', 'e'].map((id) => model.get('things', id)),
            lists: queries.map((q) => model.list(q.table, q.index, q.prefix, q.options)),
          });
        }
      }),
      { numRuns: 40 },
    );
    worker.postMessage('close');
    await once(worker, 'exit');
  });
});
