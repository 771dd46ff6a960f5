/** What whoever reads and commits may rely on, of the real store and of its doubles in memory. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ServiceError } from '../../src/lib/errors.ts';
import type { RuntimeStore } from '../../src/actors/runtime/runtime.ts';
import type { JournalEntry, ListOptions } from '../../src/store/reader-and-journal.ts';
import {
  insert,
  put,
  remove,
  take,
  type Change,
  type KeyPart,
} from '../../src/store/records/table.ts';
import { modelTables, type Thing } from '../support/model-store.ts';

const { things, pairs } = modelTables;
const thing = (id: string, more: Partial<Thing> = {}): Thing => ({
  id,
  slug: null,
  group: 'g',
  rank: 0,
  tags: [],
  ...more,
});

const write = (store: RuntimeStore, ...changes: Change[]): Promise<number> =>
  store.commit({ actor: 'a:1', epoch: store.nextEpoch('a:1'), changes });

/** What refused it: the code and the sentence. */
async function refusal(commit: Promise<number>): Promise<string> {
  const error: unknown = await commit.then(
    () => assert.fail('it was taken'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return `${error.code}: ${error.message}`;
}

/** `create`: an empty store of `modelTables`. */
export function run(name: string, create: (t: TestContext) => Promise<RuntimeStore>): void {
  describe(`${name}: reads`, () => {
    it('list records by index key, and by their own where that is shared', async (t) => {
      const store = await create(t);
      const slots = ['é', 'b', 'a\0', 'ab', 'a', ''].map((id) => put(things, thing(id)));
      await write(store, ...slots, put(things, thing('early', { rank: -1 })));
      await write(store, put(things, thing('elsewhere', { group: 'h' })));
      const list = (prefix: KeyPart[], options?: ListOptions) =>
        store.list(things, 'group', prefix, options).map(({ id }) => id);
      const all = ['early', '', 'a', 'a\0', 'ab', 'b', 'é'];
      assert.deepEqual(list(['g']), all);
      assert.deepEqual(list(['g'], { reverse: true }), all.toReversed());
      assert.deepEqual(list(['g', 0]), all.slice(1));
      assert.deepEqual(list(['g', 0, 'ab']), ['ab']);
      assert.deepEqual(list(['g'], { limit: 2 }), ['early', '']);
      assert.deepEqual(list(['g'], { limit: 0 }), []);
      assert.deepEqual(list(['g'], { after: ['g', 0, 'ab'] }), ['b', 'é']);
      assert.deepEqual(list(['g'], { after: ['g', 0, 'a'], reverse: true }), ['', 'early']);
      assert.deepEqual(list(['g'], { after: ['g', -1] }), all.slice(1));
      assert.deepEqual(list(['none']), []);
      assert.deepEqual(
        [store.count(things, 'group', ['g']), store.count(things, 'tag', [])],
        [7, 0],
      );
    });

    it('list a record once for each key it has in an index', async (t) => {
      const store = await create(t);
      await write(
        store,
        put(things, thing('x', { tags: ['one', 'two', 'one'] })),
        put(things, thing('y', { tags: ['two'] })),
      );
      const tagged = (...prefix: string[]) => store.list(things, 'tag', prefix).map(({ id }) => id);
      assert.deepEqual(
        [tagged(), tagged('two')],
        [
          ['x', 'x', 'y'],
          ['x', 'y'],
        ],
      );
    });

    it('put nothing before numbers, and numbers before text', async (t) => {
      const store = await create(t);
      const pair = (label: string | null, right: number) =>
        put(pairs, { left: label ?? '-', right, label });
      await write(store, pair('text', 1), pair(null, 10), pair('', 2), pair('other', -3));
      const labels = store.list(pairs, 'label', []).map(({ label }) => label);
      assert.deepEqual(labels, [null, '', 'other', 'text']);
      assert.equal(store.find(pairs, 'both', ['-', ''])?.right, 10);
      assert.equal(store.find(pairs, 'both', ['-', 'none']), undefined);
    });

    it('scan by key, and count beyond what they list', async (t) => {
      const store = await create(t);
      const names = Array.from({ length: 1_002 }, (_, i) => `t${String(i).padStart(4, '0')}`);
      await write(store, ...names.toReversed().map((id) => put(things, thing(id))));
      assert.deepEqual(
        [...store.scan(things)].map(({ id }) => id),
        names,
      );
      assert.equal(store.list(things, 'group', ['g']).length, 1_000);
      assert.equal(store.count(things, 'group', ['g']), 1_002);
    });

    it('give each caller of list() an array of its own, of records that nobody changes', async (t) => {
      const store = await create(t);
      const mine = thing('x', { tags: ['before'] });
      const done = write(store, put(things, mine), put(things, thing('y')));
      mine.tags[0] = 'after';
      await done;
      store.list(things, 'group', ['g']).pop();
      assert.equal(store.list(things, 'group', ['g']).length, 2);
      const read = store.get(things, 'x');
      assert.deepEqual(read?.tags, ['before']);
      assert.ok(Object.isFrozen(read) && Object.isFrozen(read.tags));
    });
  });

  describe(`${name}: commits`, () => {
    it('resolve with ascending positions, which readers see', async (t) => {
      const store = await create(t);
      const first = await write(store, put(things, thing('x')));
      assert.deepEqual([store.position, store.newestPosition], [first, first]);
      const second = await write(store, remove(things, 'x'), remove(things, 'none'));
      assert.equal(second, first + 1);
      assert.equal(store.get(things, 'x'), undefined);
      assert.equal(store.position, second);
    });

    it('are refused whole, with the sentence of the rule', async (t) => {
      const store = await create(t);
      const position = await write(store, put(things, thing('x', { slug: 's' })));
      const other = put(things, thing('other'));
      const taken = put(things, thing('y', { slug: 's' }));
      assert.equal(await refusal(write(store, other, taken)), 'CONFLICT: This slug is taken.');
      const again = insert(things, thing('x'));
      assert.equal(await refusal(write(store, other, again)), 'CONFLICT: This exists already.');
      const none = take(things, 'none');
      assert.equal(await refusal(write(store, other, none)), 'NOT_FOUND: This does not exist.');
      assert.equal(store.position, position);
      assert.deepEqual(
        [...store.scan(things)].map(({ id, slug }) => [id, slug]),
        [['x', 's']],
      );
    });

    it('pass a unique key from one record to another', async (t) => {
      const store = await create(t);
      const slug = (id: string, to: string) => put(things, thing(id, { slug: to }));
      await write(store, slug('x', '1'), slug('y', '2'));
      await write(store, slug('x', '2'), slug('y', '1'));
      await write(store, take(things, 'x'), insert(things, thing('z', { slug: '2' })));
      const holders = ['1', '2'].map((key) => store.find(things, 'slug', [key])?.id);
      assert.deepEqual(holders, ['y', 'z']);
    });

    it('are told in order, when readers see them and before they resolve', async (t) => {
      const store = await create(t);
      const told: JournalEntry[] = [];
      const seen: unknown[] = [];
      const end = store.subscribe((entry) => {
        told.push(entry);
        seen.push(store.get(things, 'x')?.rank);
      });
      const epoch = store.nextEpoch('b:1');
      for (const rank of [1, 2]) {
        const changes = [put(things, thing('x', { rank }))];
        const position = await store.commit({ actor: 'b:1', epoch, changes });
        assert.equal(told.at(-1)?.position, position);
      }
      await refusal(store.commit({ actor: 'b:2', epoch, changes: [take(things, 'none')] }));
      end();
      await write(store, remove(things, 'x'));
      assert.deepEqual(seen, [1, 2]);
      assert.deepEqual(
        told.map(({ actor, epoch: of, changes }) => [actor, of, changes.length]),
        [
          ['b:1', epoch, 1],
          ['b:1', epoch, 1],
        ],
      );
    });

    it('come of activations whose numbers rise, for each actor', async (t) => {
      const store = await create(t);
      const numbers = ['a:1', 'b:1', 'a:1', 'a:1'].map((actor) => store.nextEpoch(actor));
      const [first = 0, , second = 0, third = 0] = numbers;
      assert.ok(first < second && second < third, numbers.join());
    });
  });
}
