import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Migration } from '../../../../src/store/records/migrations.ts';
import { StoreRefusal } from '../../../../src/store/refusal.ts';
import { openStore } from '../../../../src/store/store.ts';
import { put, table } from '../../../../src/store/records/table.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';
import { openedStore, temporaryFolder } from '../../../support/store-fixture.ts';

interface Old {
  id: string;
  name: string;
}
interface New extends Old {
  folded: string;
}
const old = { items: table<Old>()('items', (r) => r.id, {}) } as const;
const renewed = {
  items: table<New>()('items', (r) => r.id, {
    folded: { keys: (r) => [[r.folded]], unique: 'Taken.' },
  }),
} as const;

const fold: Migration = {
  to: 2,
  tables: ['items'],
  run(context) {
    for (const record of context.records('items') as Iterable<Old>) {
      if (record.name === '') context.remove('items', record.id);
      else context.put('items', record.id, { ...record, folded: record.name.toLowerCase() });
    }
  },
};

async function oldStore(dir: string, names: string[]): Promise<void> {
  const store = await openStore({ dir, tables: old, migrations: [], logger: memoryLogger() });
  const changes = names.map((name, i) => put(old.items, { id: `i${String(i)}`, name }));
  await store.commit({ actor: 'a', epoch: 1, changes });
  await store.close();
}

describe('migrations', () => {
  it('run once, in order, and derive the indexes anew', async (t) => {
    const dir = await temporaryFolder(t);
    await oldStore(dir, ['One', '', 'Two']);
    const runs: number[] = [];
    const counted = (step: Migration): Migration => ({
      ...step,
      run(context) {
        runs.push(step.to);
        step.run(context);
      },
    });
    const third: Migration = { to: 3, tables: [], run: () => undefined };
    const migrations = [counted(fold), counted(third)];
    const store = await openedStore(t, { dir, tables: renewed, migrations });
    assert.equal(store.find(renewed.items, 'folded', ['two'])?.id, 'i2');
    assert.equal(store.count(renewed.items, 'folded', []), 2);
    await store.close();
    await openedStore(t, { dir, tables: renewed, migrations });
    assert.deepEqual(runs, [2, 3]);
  });

  it('leave everything as it was when a step fails', async (t) => {
    const dir = await temporaryFolder(t);
    await oldStore(dir, ['One']);
    const broken: Migration = {
      ...fold,
      run(context) {
        fold.run(context);
        throw new Error('half way');
      },
    };
    await assert.rejects(
      openStore({ dir, tables: renewed, migrations: [broken], logger: memoryLogger() }),
      /half way/,
    );
    const store = await openedStore(t, { dir, tables: old, migrations: [] });
    assert.deepEqual([...store.scan(old.items)], [{ id: 'i0', name: 'One' }]);
  });

  it('do not run on a fresh directory, which has the newest version at once', async (t) => {
    const dir = await temporaryFolder(t);
    const never: Migration = { ...fold, run: () => assert.fail('ran') };
    await openedStore(t, { dir, tables: renewed, migrations: [never] });
  });

  it('refuse a directory of a newer version with one sentence', async (t) => {
    const dir = await temporaryFolder(t);
    const store = await openStore({
      dir,
      tables: renewed,
      migrations: [fold],
      logger: memoryLogger(),
    });
    await store.close();
    await assert.rejects(
      openStore({ dir, tables: old, migrations: [], logger: memoryLogger() }),
      (error: unknown) => error instanceof StoreRefusal && error.message.includes('newer Gangway'),
    );
    // The refused one let go of the lock.
    await openedStore(t, { dir, tables: renewed, migrations: [fold] });
  });

  it('index a table anew whose set of indexes changed', async (t) => {
    const dir = await temporaryFolder(t);
    await oldStore(dir, ['One', 'Two']);
    const more = {
      items: table<Old>()('items', (r) => r.id, { name: { keys: (r) => [[r.name]] } }),
    } as const;
    const store = await openedStore(t, { dir, tables: more, migrations: [] });
    assert.equal(store.find(more.items, 'name', ['Two'])?.id, 'i1');
    await store.close();
    const without = await openedStore(t, { dir, tables: old, migrations: [] });
    await without.commit({
      actor: 'a',
      epoch: without.nextEpoch('a'),
      changes: [put(old.items, { id: 'i1', name: 'Three' })],
    });
    await without.close();
    const again = await openedStore(t, { dir, tables: more, migrations: [] });
    assert.deepEqual(
      again.list(more.items, 'name', []).map((r) => r.name),
      ['One', 'Three'],
    );
  });
});
