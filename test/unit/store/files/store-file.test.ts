import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { put, remove } from '../../../../src/store/records/table.ts';
import { StoreRefusal } from '../../../../src/store/refusal.ts';
import { openSecretBox } from '../../../../src/store/secrets.ts';
import { checkStoreFile } from '../../../../src/store/files/store-file.ts';
import { openStore } from '../../../../src/store/store.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';
import { modelTables as tables, type Thing } from '../../../support/model-store.ts';
import { openedStore, temporaryFolder } from '../../../support/store-fixture.ts';

const { things } = tables;
const page = 4096;

function thing(i: number, length = 40): Thing {
  const plain: Thing = { id: `t${String(i)}`, slug: null, group: 'g', rank: i, tags: [] };
  return Object.assign(plain, { text: 'x'.repeat(length) });
}

/** A data directory with a key, and a store with deep trees, long values and free pages. */
async function filled(t: TestContext): Promise<{ dir: string; file: string }> {
  const dir = join(await temporaryFolder(t), 'data');
  const store = await openStore({ dir, tables, logger: memoryLogger() });
  openSecretBox({ dir });
  const commit = (changes: ReturnType<typeof put>[]): Promise<number> =>
    store.commit({ actor: 'a', epoch: 1, changes });
  for (let i = 0; i < 1_200; i += 100) {
    const some = Array.from({ length: 100 }, (_, j) => thing(i + j, j === 7 ? 9_000 : 40));
    await commit(some.map((one) => put(things, one)));
  }
  for (let i = 600; i < 1_200; i += 100) {
    const ids = Array.from({ length: 100 }, (_, j) => thing(i + j).id);
    await commit(ids.map((id) => remove(things, id)));
  }
  await store.close();
  return { dir, file: join(dir, 'store', 'data.mdb') };
}

const refused = (why: RegExp) => (error: unknown) =>
  error instanceof StoreRefusal &&
  why.test(error.message) &&
  /; move \S+ away, then restore a snapshot or begin anew\.$/.test(error.message);

describe('checkStoreFile()', () => {
  it('lets a whole file pass', async (t) => {
    const { dir } = await filled(t);
    assert.equal(checkStoreFile(dir), 'there');
  });

  it('refuses a file that was cut anywhere in what it uses, and opens every other one', async (t) => {
    const { dir, file } = await filled(t);
    const { size } = await stat(file);
    const isWhole = (): boolean => {
      try {
        return checkStoreFile(dir) === 'there';
      } catch (error) {
        assert.ok(refused(/is cut short;/)(error), String(error));
        return false;
      }
    };
    const whole = `${file}.whole`;
    await copyFile(file, whole);
    // The shortest file that is said to be whole, by a page.
    let bytes = size;
    for (; bytes > 2 * page; bytes -= page) {
      await truncate(file, bytes - 1);
      if (!isWhole()) break;
    }
    assert.ok(bytes > size / 4, `${String(bytes)} of ${String(size)}`);
    for (const shorter of [bytes / 2, 3 * page]) {
      await truncate(file, shorter);
      assert.ok(!isWhole());
    }
    await copyFile(whole, file);
    await truncate(file, bytes);
    // A page too few would end this process.
    const store = await openedStore(t, { dir, tables });
    assert.equal(store.list(things, 'group', ['g'], { limit: 2_000 }).length, 600);
    const changes = Array.from({ length: 600 }, (_, i) => put(things, thing(5_000 + i)));
    await store.commit({ actor: 'a', epoch: store.nextEpoch('a'), changes });
    assert.equal(store.list(things, 'group', ['g'], { limit: 2_000 }).length, 1_200);
  });

  it('refuses meta pages that are not those of LMDB', async (t) => {
    const { dir, file } = await filled(t);
    const bytes = await readFile(file);
    const damages: [at: number, value: number][] = [
      [18, 0],
      [24, 0],
      [28, 9],
      [48, 7],
      [page + 18, 0],
      [page + 24, 0],
    ];
    for (const [at, value] of damages) {
      const damaged = Buffer.from(bytes);
      damaged[at] = value;
      await writeFile(file, damaged);
      assert.throws(() => checkStoreFile(dir), refused(/is damaged;/), String(at));
    }
    for (const length of [1, page, 2 * page - 1]) {
      await writeFile(file, bytes.subarray(0, length));
      assert.throws(() => checkStoreFile(dir), refused(/is (damaged|cut short);/), String(length));
    }
  });

  it('refuses a missing and an empty file beside a key, a check of a key, or what apps left', async (t) => {
    const folder = await temporaryFolder(t);
    const names = ['instance.key', 'instance.key-check', 'apps/app_1', 'runner/a', 'logs/a'];
    for (const [at, name] of names.entries()) {
      const dir = join(folder, String(at));
      await mkdir(join(dir, name, '..'), { recursive: true });
      await writeFile(join(dir, name), '');
      const shown = name.split('/')[0] ?? '';
      const missing = new RegExp(`data\\.mdb is missing, though ${shown} is there;`);
      assert.throws(() => checkStoreFile(dir), refused(missing));
      await mkdir(join(dir, 'store'));
      await writeFile(join(dir, 'store', 'data.mdb'), '');
      const opening = openStore({ dir, tables, logger: memoryLogger() });
      await assert.rejects(opening, refused(/data\.mdb is empty, though /));
      assert.equal((await stat(join(dir, 'store', 'data.mdb'))).size, 0);
    }
  });

  it('takes for new what a first start left that was cut short, and empty folders', async (t) => {
    const dir = join(await temporaryFolder(t), 'data');
    assert.equal(checkStoreFile(dir), 'new');
    for (const name of ['store', 'apps', 'logs']) await mkdir(join(dir, name), { recursive: true });
    assert.equal(checkStoreFile(dir), 'new');
    await writeFile(join(dir, 'store', 'data.mdb'), '');
    assert.equal(checkStoreFile(dir), 'new');
    const store = await openStore({ dir, tables, logger: memoryLogger() });
    // The process dies before there is a key: the store is there, and the next start makes the key.
    await store.close();
    assert.equal(checkStoreFile(dir), 'there');
    await openedStore(t, { dir, tables });
    openSecretBox({ dir });
  });
});
