import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FreeUids } from '../../../../src/actors/workload/free-uids.ts';
import type { AppRecord } from '../../../../src/store/records/records.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

async function setUp(taken: number[], range: { first: number; last: number } | null) {
  const store = new MemoryStore();
  const epoch = store.nextEpoch();
  const commit = (changes: Parameters<MemoryStore['commit']>[0]['changes']) =>
    store.commit({ actor: 'a', epoch, changes });
  const app = (uid: number) =>
    ({
      id: `app_${uid}`,
      slug: `s${uid}`,
      uid,
      teamId: 't',
      run: { draining: [], next: null },
    }) as unknown as AppRecord;
  const take = (uid: number) => commit([put(tables.apps, app(uid))]);
  for (const uid of taken) await take(uid);
  return {
    uids: new FreeUids({ reader: store, table: tables.apps, range }),
    take,
    leave: (uid: number) => commit([remove(tables.apps, `app_${uid}`)]),
  };
}

describe('FreeUids', () => {
  it('gives the one behind the highest in use, and leaves some to others', async () => {
    const { uids } = await setUp([10, 14], { first: 10, last: 20 });
    assert.equal(await uids.next(0), 15);
    assert.equal(await uids.next(3), 18);
  });

  it('begins with the first, and gives none where apps have none', async () => {
    assert.equal(await (await setUp([], { first: 10, last: 12 })).uids.next(0), 10);
    assert.equal(await (await setUp([], null)).uids.next(0), 0);
  });

  it('gives what is left below where the last one is in use, each once', async () => {
    const { uids } = await setUp([10, 12, 14], { first: 10, last: 14 });
    const both = await Promise.all([uids.next(0), uids.next(0)]);
    assert.deepEqual(both.sort(), [11, 13]);
    await assert.rejects(uids.next(0), { code: 'OVERLOADED' });
  });

  it('gives again what was given back, but nothing that is in use', async () => {
    const { uids, take, leave } = await setUp([10, 11, 12], { first: 10, last: 12 });
    await assert.rejects(uids.next(0), { code: 'OVERLOADED' });
    await leave(11);
    uids.giveBack(11);
    uids.giveBack(10);
    assert.equal(await uids.next(0), 11);
    await take(11);
    uids.giveBack(11);
    await assert.rejects(uids.next(0), { code: 'OVERLOADED' });
  });
});
