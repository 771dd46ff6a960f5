import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { put, remove } from '../../../../src/store/records/table.ts';
import { modelTables, type Thing } from '../../../support/model-store.ts';
import { openedStore } from '../../../support/store-fixture.ts';

const { things, pairs } = modelTables;
const tables = modelTables;
const thing = (id: string, more: Partial<Thing> = {}): Thing => ({
  id,
  slug: null,
  group: 'g',
  rank: 0,
  tags: [],
  ...more,
});

describe('Store reads', () => {
  it('tell the newest position apart from any stretch, which keeps its own', async (t) => {
    const store = await openedStore(t, { tables });
    const commit = () => store.commit({ actor: 'a', epoch: 1, changes: [put(things, thing('x'))] });
    const first = await commit();
    assert.equal(store.newestPosition, first);
    assert.equal(store.position, first);
    const second = await commit();
    assert.equal(store.newestPosition, second);
    assert.equal(store.get(things, 'x')?.id, 'x');
    assert.equal(store.newestPosition, store.position);
    await store.close();
    assert.throws(() => store.newestPosition);
  });

  it('count anew under a prefix that reaches into the key of a record that changed', async (t) => {
    const store = await openedStore(t, { tables });
    const commit = (group: string) =>
      store.commit({ actor: 'a', epoch: 1, changes: [put(things, thing('x', { group }))] });
    // The index has two parts, group and rank; the record's own key ends its entries.
    const seen = () => ['x', 'y'].map((id) => store.count(things, 'group', ['g', 0, id]));
    const listed = () => store.list(things, 'group', ['g', 0, 'x']).length;
    assert.deepEqual([...seen(), listed()], [0, 0, 0]);
    await commit('g');
    assert.deepEqual([...seen(), listed()], [1, 0, 1]);
    await commit('other');
    assert.deepEqual([...seen(), listed()], [0, 0, 0]);
  });

  it('see one state throughout a synchronous stretch, and the newest in the next', async (t) => {
    const store = await openedStore(t, { tables });
    const commit = (rank: number) =>
      store.commit({
        actor: 'a',
        epoch: 1,
        changes: [
          put(things, thing('x', { rank })),
          put(pairs, { left: 'x', right: 0, label: String(rank) }),
        ],
      });
    await commit(0);
    let rounds = 0;
    const end = new AbortController();
    const stopped = (): boolean => end.signal.aborted;
    const watch = (async () => {
      do {
        rounds += 1;
        const rank = store.get(things, 'x')?.rank;
        assert.equal(store.list(pairs, 'label', [String(rank)]).length, 1);
        assert.equal([...store.scan(pairs)][0]?.label, String(rank));
        await new Promise(setImmediate);
      } while (!stopped());
    })();
    for (let rank = 1; rank <= 50; rank++) {
      await commit(rank);
      assert.equal(store.get(things, 'x')?.rank, rank);
    }
    end.abort();
    await watch;
    assert.ok(rounds > 0);
  });

  it('give each caller of list() an array of its own', async (t) => {
    const store = await openedStore(t, { tables });
    await store.commit({
      actor: 'a',
      epoch: 1,
      changes: [put(things, thing('x')), put(things, thing('y'))],
    });
    store.list(things, 'group', ['g']).reverse();
    store.list(things, 'group', ['g']).pop();
    assert.deepEqual(
      store.list(things, 'group', ['g']).map((r) => r.id),
      ['x', 'y'],
    );
  });

  it('keep a scan at the state it began with', async (t) => {
    const store = await openedStore(t, { tables });
    await store.commit({
      actor: 'a',
      epoch: 1,
      changes: [put(things, thing('x')), put(things, thing('y'))],
    });
    const scan = store.scan(things)[Symbol.iterator]();
    assert.deepEqual(scan.next().value, thing('x'));
    await store.commit({
      actor: 'a',
      epoch: 1,
      changes: [remove(things, 'y'), put(things, thing('z'))],
    });
    assert.deepEqual(scan.next().value, thing('y'));
    assert.equal(scan.next().done, true);
  });

  it('see one state in worker threads too, while the writer goes on', async (t) => {
    const store = await openedStore(t, { tables });
    const commit = (rank: number) =>
      store.commit({
        actor: 'a',
        epoch: 1,
        changes: [
          put(things, thing('x', { rank })),
          put(pairs, { left: 'x', right: 0, label: String(rank) }),
        ],
      });
    await commit(0);
    const workers = [1, 2].map(
      () =>
        new Worker(new URL('../../../support/watching-worker.ts', import.meta.url), {
          workerData: store.readerOptions(),
        }),
    );
    t.after(() => Promise.all(workers.map((worker) => worker.terminate())));
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    for (let rank = 1; rank <= 300; rank++) {
      const position = await commit(rank);
      if (rank % 100 !== 0) continue;
      // What is durable when a thread is asked, it knows.
      for (const worker of workers) {
        worker.postMessage('position');
        const [seen] = (await once(worker, 'message')) as [number];
        assert.equal(seen, position);
      }
    }
    for (const worker of workers) {
      worker.postMessage('close');
      const [report] = (await once(worker, 'message')) as [{ rounds: number; wrong: number }];
      assert.equal(report.wrong, 0);
      assert.ok(report.rounds > 0);
    }
  });
});
