import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freeUid } from '../../../../src/actors/workload/free-uid.ts';
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
    next: (past = 0) => freeUid(store, tables.apps, range, past),
    take,
    leave: (uid: number) => commit([remove(tables.apps, `app_${uid}`)]),
  };
}

describe('freeUid()', () => {
  it('gives the one behind the highest in use, and leaves some to others', async () => {
    const { next } = await setUp([10, 14], { first: 10, last: 20 });
    assert.equal(await next(), 15);
    assert.equal(await next(3), 18);
  });

  it('begins with the first, and gives none where apps have none', async () => {
    assert.equal(await (await setUp([], { first: 10, last: 12 })).next(), 10);
    assert.equal(await (await setUp([], null)).next(), 0);
  });

  it('gives what is left below where the last one is in use, until none is', async () => {
    const { next, take } = await setUp([10, 12, 14], { first: 10, last: 14 });
    const one = await next();
    await take(one);
    const other = await next();
    await take(other);
    assert.deepEqual([one, other].sort(), [11, 13]);
    await assert.rejects(next(), { code: 'OVERLOADED' });
  });

  it('gives again what is free again, but nothing that is in use', async () => {
    const { next, take, leave } = await setUp([10, 11, 12], { first: 10, last: 12 });
    await assert.rejects(next(), { code: 'OVERLOADED' });
    await leave(11);
    assert.equal(await next(), 11);
    await take(11);
    await assert.rejects(next(), { code: 'OVERLOADED' });
  });
});
