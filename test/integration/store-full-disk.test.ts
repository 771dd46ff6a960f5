import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ServiceError } from '../../src/lib/errors.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { put } from '../../src/store/records/table.ts';
import { memoryLogger } from '../support/memory-logger.ts';
import { modelTables } from '../support/model-store.ts';
import { smallDisk } from '../support/small-disk.ts';

const { things } = modelTables;

function mount(...args: string[]): boolean {
  return spawnSync('mount', args, { stdio: 'ignore' }).status === 0;
}

function commit(store: Store, id: string, bytes: number): Promise<number> {
  const record = { id, slug: id, group: 'g', rank: 0, tags: [], filler: 'x'.repeat(bytes) };
  const epoch = store.nextEpoch(id);
  return store.commit({ actor: id, epoch, changes: [put(things, record)] });
}

describe('a store on a disk that fills', () => {
  it('answers STORAGE_FULL, keeps what it had, and goes on once there is room', async (t) => {
    const disk = smallDisk(t, 8);
    if (disk === undefined) return;
    const dir = join(disk, 'data');
    const store = await openStore({ dir, tables: modelTables, logger: memoryLogger() });
    t.after(() => store.close());
    const full = (error: unknown): boolean =>
      error instanceof ServiceError && error.code === 'STORAGE_FULL';
    let stored = 0;
    const fill = async (): Promise<void> => {
      for (;;) {
        await commit(store, `t${String(stored)}`, 100_000);
        stored += 1;
      }
    };
    await assert.rejects(fill(), full);
    await assert.rejects(commit(store, 'large', 100_000), full);
    assert.equal(store.position, stored);
    assert.equal(store.count(things, 'slug', []), stored);
    assert.equal(store.get(things, `t${String(stored - 1)}`)?.id, `t${String(stored - 1)}`);

    assert.ok(mount('-o', 'remount,size=16m', disk));
    assert.equal(await commit(store, 'large', 100_000), stored + 1);
    await store.close();
    const again = await openStore({ dir, tables: modelTables, logger: memoryLogger() });
    t.after(() => again.close());
    assert.equal(again.count(things, 'slug', []), stored + 1);
  });
});
