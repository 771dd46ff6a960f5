import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { JournalEntry } from '../../../../src/store/reader-and-journal.ts';
import {
  announceCommits,
  openFollowingStore,
} from '../../../../src/store/reading/following-store.ts';
import type { FollowerOptions, Store, StoreOptions } from '../../../../src/store/store.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { eventually } from '../../../support/eventually.ts';
import type { FollowerReport, ToFollower } from '../../../support/following-worker.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';
import { modelTables, type Thing } from '../../../support/model-store.ts';
import { openedStore } from '../../../support/store-fixture.ts';

const { things } = modelTables;
const thing = (id: string, rank: number): Thing => ({ id, slug: null, group: 'g', rank, tags: [] });

async function storeOf(t: TestContext, more: Partial<StoreOptions> = {}) {
  const store = await openedStore(t, { tables: modelTables, ...more });
  let rank = 0;
  const commit = (id = 'a'): Promise<number> =>
    store.commit({ actor: 'test:a', epoch: 1, changes: [put(things, thing(id, ++rank))] });
  return { store, commit };
}

/** A following store on this very thread, where each step can be told from the next. */
function followed(t: TestContext, store: Store) {
  const options = store.admitFollower();
  const logger = memoryLogger();
  const lost: Error[] = [];
  const follower = openFollowingStore(options, {
    logger,
    onLost: (error) => lost.push(error),
    tables: modelTables,
  });
  t.after(() => follower.close());
  const heard: number[] = [];
  follower.subscribe((entry) => heard.push(entry.position));
  return { follower, options, heard, lost, logger };
}

class FollowerThread {
  readonly #worker: Worker;

  constructor(t: TestContext, options: FollowerOptions) {
    this.#worker = new Worker(new URL('../../../support/following-worker.ts', import.meta.url), {
      workerData: options,
    });
    t.after(() => this.#worker.terminate());
  }

  async ready(): Promise<this> {
    await this.answer();
    return this;
  }

  async answer(): Promise<unknown> {
    const [answer] = (await once(this.#worker, 'message')) as [unknown];
    return answer;
  }

  send(message: ToFollower): void {
    this.#worker.postMessage(message);
  }

  ask(message: ToFollower): Promise<unknown> {
    this.send(message);
    return this.answer();
  }

  async report(): Promise<FollowerReport> {
    return (await this.ask('report')) as FollowerReport;
  }

  async end(): Promise<void> {
    this.send('close');
    await once(this.#worker, 'exit');
  }
}

describe('FollowingStore', () => {
  it('tells what is durable before catchUp() returns, as the writer tells it', async (t) => {
    const { store, commit } = await storeOf(t);
    const { follower } = followed(t, store);
    const here: JournalEntry[] = [];
    const there: JournalEntry[] = [];
    store.subscribe((entry) => here.push(entry));
    follower.subscribe((entry) => there.push(entry));
    await commit('a');
    await store.commit({
      actor: 'test:b',
      epoch: 1,
      changes: [remove(things, 'a'), put(things, thing('b', 7))],
    });
    follower.catchUp();
    assert.equal(there.length, 2);
    assert.deepEqual(there, here);
    assert.equal(follower.get(things, 'b')?.rank, 7);
    follower.catchUp();
    assert.equal(there.length, 2);
    assert.ok('value' in (there[1]?.changes[1] ?? {}));
    assert.equal('value' in (there[1]?.changes[0] ?? {}), false);
  });

  it('tells within the turn what a read saw first, when the stretch is over', async (t) => {
    const { store, commit } = await storeOf(t);
    const { follower, heard } = followed(t, store);
    await commit();
    assert.equal(follower.get(things, 'a')?.rank, 1);
    assert.deepEqual(heard, []);
    await Promise.resolve().then(() => undefined);
    assert.deepEqual(heard, [1]);
  });

  it('lets a stretch that has begun keep its state when catchUp() is called within', async (t) => {
    const { store, commit } = await storeOf(t);
    await commit();
    const thread = await new FollowerThread(t, store.admitFollower()).ready();
    const go = new SharedArrayBuffer(4);
    await thread.ask({ readUntil: go });
    await commit();
    Atomics.store(new Int32Array(go), 0, 1);
    Atomics.notify(new Int32Array(go), 0);
    assert.deepEqual(await thread.answer(), { positions: [1, 1], told: [0, 1] });
    await thread.end();
  });

  it('tells one entry after the other when a subscriber reads or catches up meanwhile', async (t) => {
    const { store, commit } = await storeOf(t);
    const { follower } = followed(t, store);
    const calls: string[] = [];
    follower.subscribe(({ position }) => {
      calls.push(`a${String(position)}`);
      follower.get(things, 'a');
      follower.catchUp();
      calls.push(`a${String(position)} end`);
    });
    follower.subscribe(({ position }) => calls.push(`b${String(position)}`));
    await commit();
    await commit();
    follower.catchUp();
    assert.deepEqual(calls, ['a1', 'a1 end', 'b1', 'a2', 'a2 end', 'b2']);
  });

  it('goes on telling the others when a subscriber throws', async (t) => {
    const { store, commit } = await storeOf(t);
    const { follower, logger } = followed(t, store);
    const off = follower.subscribe(() => {
      throw new Error('never mind');
    });
    const heard: number[] = [];
    follower.subscribe((entry) => heard.push(entry.position));
    await commit();
    follower.catchUp();
    off();
    await commit();
    follower.catchUp();
    assert.deepEqual(heard, [1, 2]);
    assert.deepEqual(
      logger.events.map(({ event }) => event),
      ['subscriber_failed'],
    );
  });

  it('tells a new subscriber nothing that reads saw before', async (t) => {
    const { store, commit } = await storeOf(t);
    const { follower } = followed(t, store);
    await commit();
    follower.get(things, 'a');
    const heard: number[] = [];
    follower.subscribe((entry) => heard.push(entry.position));
    await commit();
    await new Promise(setImmediate);
    follower.catchUp();
    assert.deepEqual(heard, [2]);
  });

  it('keeps entries in the journal until it has read them, and no longer', async (t) => {
    const { store, commit } = await storeOf(t, { journalKeep: { entries: 1 } });
    const { follower, options, heard } = followed(t, store);
    for (let i = 0; i < 300; i++) await commit();
    follower.catchUp();
    assert.deepEqual(
      heard,
      Array.from({ length: 300 }, (_, i) => i + 1),
    );
    await follower.close();
    store.dismissFollower(options);
    // Nobody reads from here on: a new one begins with what comes.
    await commit();
    const later = followed(t, store);
    await commit();
    later.follower.catchUp();
    assert.deepEqual(later.heard, [302]);
  });

  it('says so when entries went before it read them, and catches up no more', async (t) => {
    const { store, commit } = await storeOf(t, { journalKeep: { entries: 1, unread: 10 } });
    const { follower, heard, lost } = followed(t, store);
    for (let i = 0; i < 100; i++) await commit();
    assert.throws(() => follower.catchUp(), /entries were lost/);
    await eventually('the owner heard', () => lost.length === 1);
    assert.match(lost[0]?.message ?? '', /before this thread read entry 1\./);
    await commit();
    assert.throws(() => follower.wake(), /entries were lost/);
    assert.deepEqual(heard, []);
    assert.equal(lost.length, 1);
  });

  it('is called once until it wakes, however much is stored', async (t) => {
    const { store, commit } = await storeOf(t);
    const { follower, options, heard } = followed(t, store);
    let calls = 0;
    t.after(announceCommits(store, options, () => calls++));
    await Promise.all(Array.from({ length: 300 }, () => commit()));
    await new Promise(setImmediate);
    assert.equal(calls, 1);
    await commit();
    // It was told by another way: the call is still on its way.
    follower.catchUp();
    await commit();
    await new Promise(setImmediate);
    assert.equal(calls, 1);
    follower.wake();
    assert.equal(heard.length, 302);
    await commit();
    await eventually('the next call', () => calls === 2);
  });

  it('gives each thread every entry, in order and once, whatever makes it look', async (t) => {
    const { store, commit } = await storeOf(t, { journalKeep: { entries: 1 } });
    const written: JournalEntry[] = [];
    store.subscribe((entry) => written.push(entry));
    const threads = await Promise.all(
      [1, 2, 3].map(async () => {
        const options = store.admitFollower();
        const thread = await new FollowerThread(t, options).ready();
        t.after(announceCommits(store, options, () => thread.send('wake')));
        return { thread, options, seen: [] as JournalEntry[] };
      }),
    );
    for (let round = 0; round < 60; round++) {
      await Promise.all(Array.from({ length: 1 + (round % 5) }, () => commit()));
      for (const [i, { thread }] of threads.entries()) {
        if ((round + i) % 3 === 0) thread.send('catch-up');
        if ((round + i) % 4 === 0) thread.send('read');
      }
      if (round % 10 > 0) continue;
      for (const { thread, seen } of threads) {
        thread.send('catch-up');
        const { entries, early, position } = await thread.report();
        seen.push(...entries);
        // What was durable before it was asked, it knows.
        assert.equal(position, store.position);
        assert.equal(early, 0);
      }
    }
    for (const { thread, seen, options } of threads) {
      thread.send('catch-up');
      seen.push(...(await thread.report()).entries);
      assert.deepEqual(seen, written);
      await thread.end();
      store.dismissFollower(options);
    }
  });

  it('cuts off a thread that hangs, which finds out when it goes on', async (t) => {
    const { store, commit } = await storeOf(t, { journalKeep: { entries: 1, unread: 50 } });
    const options = store.admitFollower();
    const thread = await new FollowerThread(t, options).ready();
    const hang = new SharedArrayBuffer(4);
    thread.send({ hang });
    for (let i = 0; i < 200; i++) await commit();
    thread.send('catch-up');
    Atomics.store(new Int32Array(hang), 0, 1);
    Atomics.notify(new Int32Array(hang), 0);
    const report = await thread.report();
    assert.match(report.lost ?? '', /journal was cut/);
    assert.match(report.failure ?? '', /entries were lost/);
    assert.deepEqual(report.entries, []);
    await thread.end();
  });

  it('admits as many threads as there are seats, and another one when one has left', async (t) => {
    const { store } = await storeOf(t);
    const all = Array.from({ length: 64 }, () => store.admitFollower());
    assert.throws(() => store.admitFollower(), /64 threads do already/);
    const [first] = all;
    assert.ok(first);
    store.dismissFollower(first);
    assert.equal(store.admitFollower().seat, first.seat);
  });
});
