import assert from 'node:assert/strict';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ServiceError, type ErrorCode } from '../../../src/lib/errors.ts';
import type { JournalEntry } from '../../../src/store/reader-and-journal.ts';
import type { Transact } from '../../../src/store/commit/group-commit.ts';
import { StoreRefusal } from '../../../src/store/refusal.ts';
import { openStore } from '../../../src/store/store.ts';
import { insert, put, remove, take } from '../../../src/store/records/table.ts';
import { memoryLogger } from '../../support/memory-logger.ts';
import { modelTables, type Thing } from '../../support/model-store.ts';
import { openedStore, temporaryFolder } from '../../support/store-fixture.ts';

const { things } = modelTables;
const tables = modelTables;
const thing = (id: string, more: Partial<Thing> = {}): Thing => ({
  id,
  slug: null,
  group: 'g',
  rank: 0,
  tags: [],
  ...more,
});
const refused = (code: ErrorCode, detail?: string) => (error: unknown) =>
  error instanceof ServiceError &&
  error.code === code &&
  (detail === undefined || error.message === detail);

/** Counts transactions, holds them while `gate` is closed, fails them while `failure` is set. */
function meddler() {
  const state = { count: 0, failure: undefined as Error | undefined, gate: Promise.resolve() };
  const transact =
    (inner: Transact): Transact =>
    async (writes) => {
      state.count += 1;
      await state.gate;
      const { failure } = state;
      await inner(() => {
        writes();
        if (failure !== undefined) throw failure;
      });
    };
  return { state, transact };
}

describe('Store.commit()', () => {
  it('resolves with ascending positions, and readers see the records', async (t) => {
    const store = await openedStore(t, { tables });
    const first = await store.commit({
      actor: 'a:1',
      epoch: 1,
      changes: [put(things, thing('x'))],
    });
    const second = await store.commit({ actor: 'a:1', epoch: 1, changes: [remove(things, 'x')] });
    assert.deepEqual([first, second, store.position], [1, 2, 2]);
    assert.equal(store.get(things, 'x'), undefined);
  });

  it('stores what was handed in, whatever the caller does with it afterwards', async (t) => {
    const store = await openedStore(t, { tables });
    const mine = thing('x', { tags: ['before'] });
    const done = store.commit({ actor: 'a:1', epoch: 1, changes: [put(things, mine)] });
    mine.tags[0] = 'after';
    await done;
    const read = store.get(things, 'x');
    assert.deepEqual(read?.tags, ['before']);
    assert.ok(Object.isFrozen(read) && Object.isFrozen(read.tags));
    assert.equal(store.get(things, 'x'), read);
  });

  it('refuses one entry alone, with the sentence of the index', async (t) => {
    const store = await openedStore(t, { tables });
    const outcomes = await Promise.allSettled([
      store.commit({ actor: 'a:1', epoch: 1, changes: [put(things, thing('x', { slug: 's' }))] }),
      store.commit({
        actor: 'a:2',
        epoch: 1,
        changes: [put(things, thing('ok')), put(things, thing('y', { slug: 's' }))],
      }),
      store.commit({ actor: 'a:3', epoch: 1, changes: [put(things, thing('z'))] }),
    ]);
    assert.deepEqual(
      outcomes.map((o) => o.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    const reason: unknown = outcomes[1].status === 'rejected' && outcomes[1].reason;
    assert.ok(refused('CONFLICT', 'This slug is taken.')(reason));
    assert.deepEqual(
      [...store.scan(things)].map((r) => r.id),
      ['x', 'z'],
    );
    assert.equal(store.find(things, 'slug', ['s'])?.id, 'x');
  });

  it('lets one of two win that insert one key or take one record', async (t) => {
    const store = await openedStore(t, { tables });
    const race = async (change: ReturnType<typeof take>) =>
      (
        await Promise.allSettled(
          ['a:1', 'a:2'].map((actor) =>
            store.commit({ actor, epoch: store.nextEpoch(actor), changes: [change] }),
          ),
        )
      ).map((o) => (o.status === 'fulfilled' ? 'won' : (o.reason as ServiceError).code));
    assert.deepEqual(await race(insert(things, thing('x')) as never), ['won', 'CONFLICT']);
    assert.deepEqual(await race(take(things, 'x')), ['won', 'NOT_FOUND']);
  });

  it('passes a unique key from one record to another within an entry', async (t) => {
    const store = await openedStore(t, { tables });
    const slug = (id: string, name: string) => put(things, thing(id, { slug: name }));
    await store.commit({ actor: 'a:1', epoch: 1, changes: [slug('x', '1'), slug('y', '2')] });
    await store.commit({ actor: 'a:1', epoch: 1, changes: [slug('x', '2'), slug('y', '1')] });
    assert.equal(store.find(things, 'slug', ['1'])?.id, 'y');
    assert.equal(store.find(things, 'slug', ['2'])?.id, 'x');
  });

  it('rejects what is queued behind a refused commit of the same activation', async (t) => {
    const store = await openedStore(t, { tables });
    const epoch = store.nextEpoch('a:1');
    const commit = (change: ReturnType<typeof put>) =>
      store.commit({ actor: 'a:1', epoch, changes: [change] });
    const outcomes = await Promise.allSettled([
      commit(put(things, thing('x'))),
      commit(take(things, 'none')),
      commit(put(things, thing('y'))),
    ]);
    assert.deepEqual(
      outcomes.map((o) => o.status),
      ['fulfilled', 'rejected', 'rejected'],
    );
    await assert.rejects(commit(put(things, thing('z'))), refused('OVERLOADED'));
    const next = store.nextEpoch('a:1');
    await store.commit({ actor: 'a:1', epoch: next, changes: [put(things, thing('z'))] });
    assert.deepEqual(
      [...store.scan(things)].map((r) => r.id),
      ['x', 'z'],
    );
  });

  it('lets an activation go on that was told of a refusal before it did anything else', async (t) => {
    const store = await openedStore(t, { tables });
    const epoch = store.nextEpoch('a:1');
    const commit = (change: ReturnType<typeof put>) =>
      store.commit({ actor: 'a:1', epoch, changes: [change] });
    await commit(put(things, thing('x', { slug: 's' })));
    await assert.rejects(commit(put(things, thing('y', { slug: 's' }))), refused('CONFLICT'));
    await commit(put(things, thing('y')));
    await assert.rejects(commit(take(things, 'none')), refused('NOT_FOUND'));
    // Begun before it is told: that may build on what is refused.
    let early: Promise<number> = Promise.resolve(0);
    const unseen = store.commit({ actor: 'a:2', epoch: 1, changes: [put(things, thing('w'))] });
    const told = commit(take(things, 'none'));
    void unseen.then(() => {
      early = commit(put(things, thing('z')));
      early.catch(() => undefined);
    });
    await assert.rejects(told, refused('NOT_FOUND'));
    await assert.rejects(early, refused('OVERLOADED'));
    assert.deepEqual(
      [...store.scan(things)].map((r) => r.id),
      ['w', 'x', 'y'],
    );
  });

  it('shuts out an earlier activation, also one of an earlier start', async (t) => {
    const dir = await temporaryFolder(t);
    const store = await openedStore(t, { dir, tables });
    const early = store.nextEpoch('a:1');
    assert.ok(store.nextEpoch('a:1') > early);
    const late = { actor: 'a:1', epoch: early, changes: [put(things, thing('x'))] };
    await assert.rejects(store.commit(late), refused('OVERLOADED'));
    await store.close();
    const again = await openedStore(t, { dir, tables });
    assert.ok(again.nextEpoch('a:1') > early + 1_000);
    await assert.rejects(again.commit(late), refused('OVERLOADED'));
  });

  it('refuses a record under a key that is not its own, a table that is none, a key too long', async (t) => {
    const store = await openedStore(t, { tables });
    const commit = (changes: ReturnType<typeof put>[]) =>
      store.commit({ actor: 'a:1', epoch: store.nextEpoch('a:1'), changes });
    await assert.rejects(
      commit([{ op: 'put', table: 'things', key: 'y', value: thing('x') }]),
      refused('INTERNAL'),
    );
    await assert.rejects(commit([{ op: 'delete', table: 'none', key: 'y' }]), refused('INTERNAL'));
    await assert.rejects(
      commit([put(things, thing('x'.repeat(5_000)))]),
      refused('BAD_USER_INPUT'),
    );
    assert.equal(store.get(things, 'x'.repeat(5_000)), undefined);
    assert.equal(store.find(things, 'slug', ['x'.repeat(5_000)]), undefined);
    assert.deepEqual(store.list(things, 'slug', ['x'.repeat(5_000)]), []);
  });

  it('bounds what waits and how large a commit may be', async (t) => {
    const store = await openedStore(t, {
      tables,
      limits: { pendingMax: 2, commitMaxBytes: 1_000 },
    });
    const commit = (id: string, group = 'g') =>
      store.commit({ actor: id, epoch: 1, changes: [put(things, thing(id, { group }))] });
    const first = [commit('a'), commit('b')];
    await assert.rejects(commit('c'), refused('OVERLOADED'));
    await Promise.all(first);
    await assert.rejects(commit('d', 'x'.repeat(2_000)), refused('PAYLOAD_TOO_LARGE'));
  });

  it('puts all commits of a turn, and those that come meanwhile, into one transaction each', async (t) => {
    const { state, transact } = meddler();
    const store = await openedStore(t, { tables, transact, limits: { groupMax: 1_000 } });
    let open = (): void => undefined;
    state.gate = new Promise((resolve) => (open = resolve));
    const many = (from: number) =>
      Array.from({ length: 200 }, (_, i) => `t${String(from + i)}`).map((id) =>
        store.commit({ actor: id, epoch: 1, changes: [put(things, thing(id))] }),
      );
    const turn = many(0);
    await new Promise(setImmediate);
    const later = many(200);
    open();
    await Promise.all([...turn, ...later]);
    assert.equal(store.position, 400);
    assert.equal(state.count, 1);
    await Promise.all(many(400));
    assert.equal(state.count, 2);
  });

  it('takes no more than its limit into one transaction', async (t) => {
    const { state, transact } = meddler();
    const store = await openedStore(t, { tables, transact, limits: { groupMax: 10 } });
    const commits = Array.from({ length: 25 }, (_, i) =>
      store.commit({ actor: `a:${String(i)}`, epoch: 1, changes: [put(things, thing(String(i)))] }),
    );
    await Promise.all(commits);
    assert.equal(state.count, 3);
  });

  it('rejects a whole group whose transaction fails, and leaves nothing of it', async (t) => {
    const { state, transact } = meddler();
    const store = await openedStore(t, { tables, transact });
    await store.commit({ actor: 'a:0', epoch: 1, changes: [put(things, thing('old'))] });
    const told: number[] = [];
    store.subscribe((entry) => told.push(entry.position));
    const group = () =>
      Promise.allSettled(
        ['a:1', 'a:2'].map((actor) =>
          store.commit({
            actor,
            epoch: store.nextEpoch(actor),
            changes: [put(things, thing(actor)), put(things, thing('old', { rank: 9 }))],
          }),
        ),
      );
    for (const [failure, code] of [
      [new Error('MDB_MAP_FULL'), 'STORAGE_FULL'],
      [new Error('ENOSPC: no space left on device'), 'STORAGE_FULL'],
      [new Error('the disk is on fire'), 'INTERNAL'],
    ] as const) {
      state.failure = failure;
      const outcomes = await group();
      for (const outcome of outcomes) {
        assert.ok(outcome.status === 'rejected' && refused(code)(outcome.reason));
      }
      assert.deepEqual([...store.scan(things)], [thing('old')]);
      assert.deepEqual(store.list(things, 'group', ['g']), [thing('old')]);
    }
    assert.deepEqual([store.position, told], [1, []]);
    state.failure = undefined;
    assert.deepEqual(
      (await group()).map((o) => o.status === 'fulfilled' && o.value),
      [2, 3],
    );
    assert.deepEqual(told, [2, 3]);
  });

  it('is refused once the store closes, which finishes what was accepted', async (t) => {
    const dir = await temporaryFolder(t);
    const store = await openedStore(t, { dir, tables });
    const accepted = store.commit({ actor: 'a', epoch: 1, changes: [put(things, thing('x'))] });
    const closed = store.close();
    await assert.rejects(
      store.commit({ actor: 'b', epoch: 1, changes: [put(things, thing('y'))] }),
      refused('SHUTTING_DOWN'),
    );
    assert.equal(await accepted, 1);
    await closed;
    assert.throws(() => store.get(things, 'x'), /closed/);
    const again = await openedStore(t, { dir, tables });
    assert.deepEqual([...again.scan(things)], [thing('x')]);
  });
});

describe('Store.subscribe()', () => {
  it('tells every entry in order, after readers see it and before its commit resolves', async (t) => {
    const store = await openedStore(t, { tables });
    const seen: string[] = [];
    const published = new BigInt64Array(store.shared);
    const end = store.subscribe((entry: JournalEntry) => {
      const id = `t${String(entry.position)}`;
      assert.equal(store.get(things, id)?.id, id);
      assert.ok(Number(Atomics.load(published, 0)) >= entry.position);
      assert.deepEqual(entry.changes, [put(things, thing(id))]);
      seen.push(`told ${String(entry.position)}`);
    });
    store.subscribe(() => {
      throw new Error('a listener fails alone');
    });
    const commit = (n: number) =>
      store
        .commit({ actor: 'a', epoch: 1, changes: [put(things, thing(`t${String(n)}`))] })
        .then((position) => seen.push(`resolved ${String(position)}`));
    await Promise.all([commit(1), commit(2)]);
    await commit(3);
    assert.deepEqual(seen, [
      'told 1',
      'told 2',
      'resolved 1',
      'resolved 2',
      'told 3',
      'resolved 3',
    ]);
    end();
    await commit(4);
    assert.equal(seen.at(-1), 'resolved 4');
  });
});

describe('the journal', () => {
  it('is cut to its newest entries, and tables stay', async (t) => {
    const dir = await temporaryFolder(t);
    const store = await openedStore(t, { dir, tables, journalKeep: { entries: 3 } });
    for (let i = 0; i < 30; i++) {
      void store.commit({ actor: 'a', epoch: 1, changes: [put(things, thing(`t${String(i)}`))] });
    }
    await store.commit({ actor: 'a', epoch: 1, changes: [remove(things, 't0')] });
    await store.close();
    const again = await openedStore(t, { dir, tables });
    assert.deepEqual([again.position, again.count(things, 'group', [])], [31, 29]);
    assert.equal(
      await again.commit({
        actor: 'a',
        epoch: again.nextEpoch('a'),
        changes: [remove(things, 't1')],
      }),
      32,
    );
  });
});

describe('openStore()', () => {
  it('refuses what is no directory, and a file that is no store, with a sentence', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'file'), '');
    await mkdir(join(folder, 'damaged', 'store'), { recursive: true });
    await writeFile(join(folder, 'damaged', 'store', 'data.mdb'), 'x'.repeat(20_000));
    for (const [name, sentence] of [
      ['file', /^Cannot use the data directory /],
      ['damaged', /^Cannot open the store in /],
    ] as const) {
      await assert.rejects(
        openStore({ dir: join(folder, name), tables, logger: memoryLogger() }),
        (error: unknown) => error instanceof StoreRefusal && sentence.test(error.message),
      );
    }
  });

  it('keeps the store to its own user, and lets others only pass the data directory', async (t) => {
    const dir = join(await temporaryFolder(t), 'data');
    await mkdir(dir, { mode: 0o755 });
    await openedStore(t, { dir, tables });
    const mode = async (path: string) => (await stat(path)).mode & 0o777;
    assert.deepEqual([await mode(dir), await mode(join(dir, 'store'))], [0o711, 0o700]);
  });
});
