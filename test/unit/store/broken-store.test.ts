import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../../src/lib/errors.ts';
import { put } from '../../../src/store/records/table.ts';
import { memoryLogger } from '../../support/memory-logger.ts';
import { modelTables } from '../../support/model-store.ts';
import { openedStore } from '../../support/store-fixture.ts';

const tables = modelTables;

function change(id: string) {
  const record = { id, slug: null, group: 'g', rank: 0, tags: [] };
  return { actor: `a:${id}`, epoch: 1, changes: [put(tables.things, record)] };
}

describe('a store', () => {
  const failures: [text: string, breaks: boolean][] = [
    ['MDB_PANIC: Update of meta page failed or environment had fatal error', true],
    ['MDB_CORRUPTED: Located page was wrong type', true],
    ['MDB_MAP_FULL: Environment mapsize limit reached', false],
    ['the disk is on fire', false],
  ];
  for (const [text, breaks] of failures) {
    it(`is ${breaks ? '' : 'not '}broken by ${text}`, async (t) => {
      const told: unknown[] = [];
      let failure: Error | undefined;
      const store = await openedStore(t, {
        tables,
        transact: (inner) => (writes) => (failure ? Promise.reject(failure) : inner(writes)),
        onBroken: (error) => told.push(error),
      });
      failure = new Error(text);
      for (const id of ['1', '2']) await assert.rejects(store.commit(change(id)), ServiceError);
      assert.deepEqual(told, breaks ? [failure] : []);
      failure = undefined;
      const next = store.commit(change('3'));
      await (breaks ? assert.rejects(next, { code: 'SHUTTING_DOWN' }) : next);
    });
  }

  it('is broken where what is on disk could not be told, and keeps nobody waiting', async (t) => {
    const told: unknown[] = [];
    const failure = new Error('cannot even be logged');
    const logger = memoryLogger();
    const error = (fields: object, event: string): void => {
      if (event === 'subscriber_failed') throw failure;
      logger.error(fields, event);
    };
    const store = await openedStore(t, {
      tables,
      logger: { ...logger, error },
      onBroken: (reason) => told.push(reason),
    });
    store.subscribe(() => {
      throw new Error('a subscriber');
    });
    await assert.rejects(store.commit(change('1')), { code: 'INTERNAL' });
    assert.deepEqual(told, [failure]);
    await assert.rejects(store.commit(change('2')), { code: 'SHUTTING_DOWN' });
  });
});
