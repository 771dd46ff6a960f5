import assert from 'node:assert/strict';
import { lstat, mkdir, readFile, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { StoreRefusal } from '../../../../src/store/refusal.ts';
import { openSecretBox } from '../../../../src/store/secrets.ts';
import { databaseFiles } from '../../../../src/places/database-folders.ts';
import { copyDataDirectory, restoreDataDirectory } from '../../../../src/store/files/snapshot.ts';
import type { Progress } from '../../../../src/store/files/snapshot.ts';
import { progressOn } from '../../../../src/commands/snapshots.ts';
import type { Store } from '../../../../src/store/store.ts';
import { put } from '../../../../src/store/records/table.ts';
import { modelTables } from '../../../support/model-store.ts';
import { openedStore, temporaryFolder } from '../../../support/store-fixture.ts';

const { things, pairs } = modelTables;

function round(store: Store, rank: number): Promise<number> {
  const record = { id: 'x', slug: `s${String(rank)}`, group: 'g', rank, tags: ['t'] };
  const changes = [
    put(things, record),
    put(pairs, { left: 'x', right: rank, label: 'l' + String(rank) }),
  ];
  return store.commit({ actor: 'a', epoch: 1, changes });
}

describe('copyDataDirectory()', () => {
  it('copies one state while commits go on, and the copy opens as a store', async (t) => {
    const folder = await temporaryFolder(t);
    const store = await openedStore(t, { dir: join(folder, 'data'), tables: modelTables });
    await round(store, 1);
    const end = new AbortController();
    const stopped = (): boolean => end.signal.aborted;
    const storm = (async () => {
      for (let rank = 2; !stopped(); rank++) await round(store, rank);
    })();
    await copyDataDirectory(join(folder, 'data'), join(folder, 'copy'), { withKey: false });
    const after = store.position;
    end.abort();
    await storm;
    const copy = await openedStore(t, { dir: join(folder, 'copy'), tables: modelTables });
    assert.ok(copy.position >= 1 && copy.position <= after);
    // Both records of a commit, and one pair for every commit until then: one state.
    assert.equal(copy.get(things, 'x')?.rank, copy.position);
    assert.equal(copy.find(things, 'slug', [`s${String(copy.position)}`])?.id, 'x');
    assert.equal([...copy.scan(pairs)].length, copy.position);
    await round(copy, copy.position + 1);
  });

  it('copies files, links and modes, and leaves out sockets, backups and the process lock', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    await openedStore(t, { dir, tables: modelTables });
    await mkdir(join(dir, 'logs', 'a'), { recursive: true });
    await writeFile(join(dir, 'logs', 'a', 'segment'), 'lines', { mode: 0o640 });
    await symlink('segment', join(dir, 'logs', 'a', 'link'));
    await mkdir(join(dir, 'backups', 'dst_1'), { recursive: true });
    const server = createServer().listen(join(dir, 'socket'));
    t.after(() => server.close());
    const to = join(folder, 'copy');
    await copyDataDirectory(dir, to, { withKey: false });
    assert.deepEqual((await readdir(to)).sort(), ['logs', 'store']);
    assert.deepEqual(await readdir(join(to, 'store')), ['data.mdb']);
    assert.equal(await readFile(join(to, 'logs', 'a', 'segment'), 'utf8'), 'lines');
    assert.equal((await lstat(join(to, 'logs', 'a', 'segment'))).mode & 0o777, 0o640);
    assert.equal(await readlink(join(to, 'logs', 'a', 'link')), 'segment');
    assert.deepEqual((await readdir(folder)).sort(), ['copy', 'data']);
    // The lock is still held: nothing opened and closed its file.
    await assert.rejects(openedStore(t, { dir, tables: modelTables }), StoreRefusal);
  });

  it('copies a file anew that changed while the store was copied', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    const store = await openedStore(t, { dir, tables: modelTables });
    const file = join(dir, 'segment');
    await writeFile(file, 'one\n');
    await copyDataDirectory(dir, join(folder, 'copy'), {
      withKey: false,
      // Called when it was copied for the first time.
      onProgress: () => {
        appendFileSync(file, 'two\n');
        writeFileSync(join(dir, 'upload'), 'new');
      },
    });
    assert.equal(await readFile(join(folder, 'copy', 'segment'), 'utf8'), 'one\ntwo\n');
    assert.equal(await readFile(join(folder, 'copy', 'upload'), 'utf8'), 'new');
    await store.close();
  });

  it('takes the instance key along only when asked to', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    await openedStore(t, { dir, tables: modelTables });
    const sealed = openSecretBox({ dir }).seal('secret', 'c');
    await copyDataDirectory(dir, join(folder, 'without'), { withKey: false });
    await copyDataDirectory(dir, join(folder, 'with'), { withKey: true });
    assert.throws(() => openSecretBox({ dir: join(folder, 'without') }), StoreRefusal);
    assert.equal(openSecretBox({ dir: join(folder, 'with') }).open(sealed, 'c'), 'secret');
  });

  it('refuses a target that is not empty or lies in the data directory', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    await openedStore(t, { dir, tables: modelTables });
    await mkdir(join(folder, 'full'));
    await writeFile(join(folder, 'full', 'file'), '');
    for (const target of [join(folder, 'full'), join(dir, 'inside'), dir]) {
      await assert.rejects(copyDataDirectory(dir, target, { withKey: false }), StoreRefusal);
    }
    await mkdir(join(folder, 'empty'));
    await copyDataDirectory(dir, join(folder, 'empty'), { withKey: false });
    assert.deepEqual(await readdir(join(folder, 'empty')), ['store']);
  });

  it('works from beside the process that has the store open', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    const store = await openedStore(t, { dir, tables: modelTables });
    await round(store, 1);
    await store.close();
    await copyDataDirectory(dir, join(folder, 'copy'), { withKey: false });
    const copy = await openedStore(t, { dir: join(folder, 'copy'), tables: modelTables });
    assert.equal(copy.get(things, 'x')?.rank, 1);
  });
});

describe('restoreDataDirectory()', () => {
  it('puts a copy back, with app files that lay behind a link, without what processes own', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    const store = await openedStore(t, { dir, tables: modelTables });
    await round(store, 1);
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(join(elsewhere, 'app_1', 'data'), { recursive: true });
    await mkdir(join(elsewhere, 'toolchain'));
    await writeFile(join(elsewhere, 'app_1', 'data', 'kept'), 'yes');
    await symlink(elsewhere, join(dir, 'apps'));
    await mkdir(join(dir, 'runner'));
    await writeFile(join(dir, 'runner', 'instance'), 'pid');

    const copy = join(folder, 'copy');
    await copyDataDirectory(join(folder, 'data'), copy, { withKey: true });
    assert.deepEqual((await readdir(copy)).sort(), ['apps', 'store']);
    const back = join(folder, 'back');
    await restoreDataDirectory(copy, back);

    assert.deepEqual(await readdir(join(back, 'apps')), ['app_1']);
    assert.equal(await readFile(join(back, 'apps', 'app_1', 'data', 'kept'), 'utf8'), 'yes');
    const opened = await openedStore(t, { dir: back, tables: modelTables });
    assert.equal(opened.get(things, 'x')?.rank, 1);
  });

  it('refuses a folder that is no snapshot, and a data directory that is not empty', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    await openedStore(t, { dir, tables: modelTables });
    const copy = join(folder, 'copy');
    await copyDataDirectory(join(folder, 'data'), copy, { withKey: false });
    await assert.rejects(
      restoreDataDirectory(join(folder, 'none'), join(folder, 'a')),
      StoreRefusal,
    );
    await assert.rejects(restoreDataDirectory(copy, dir), StoreRefusal);
  });
});

describe('the files of a database', () => {
  const withDatabases = { withKey: false, databases: databaseFiles };

  async function opened(t: Parameters<typeof temporaryFolder>[0]) {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    await openedStore(t, { dir, tables: modelTables });
    const put = async (path: string, text: string): Promise<void> => {
      const file = join(dir, 'apps', path);
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, text);
    };
    return { folder, dir, put };
  }

  it('are copied without those of its processes, which a copy made before loses as it is put back', async (t) => {
    const { folder, put } = await opened(t);
    for (const name of ['data/postmaster.pid', 'data/host.pid', 'run/.s.lock', 'tmp/x']) {
      await put(`db_1/${name}`, '1');
    }
    await put('db_1/data/base/1', 'rows');
    await put('app_1/data/postmaster.pid', 'of an app');
    const copy = join(folder, 'copy');
    await copyDataDirectory(join(folder, 'data'), copy, withDatabases);
    assert.deepEqual(await readdir(join(copy, 'apps', 'db_1', 'data')), ['base']);
    assert.deepEqual(await readdir(join(copy, 'apps', 'db_1', 'run')), []);
    assert.equal(await readFile(join(copy, 'apps/app_1/data/postmaster.pid'), 'utf8'), 'of an app');
    const old = join(folder, 'old');
    await copyDataDirectory(join(folder, 'data'), old, { withKey: false });
    await restoreDataDirectory(old, join(folder, 'back'), { databases: databaseFiles });
    assert.deepEqual(await readdir(join(folder, 'back', 'apps', 'db_1', 'data')), ['base']);
  });

  it('are copied until nothing changed since, and named where that never comes', async (t) => {
    const { dir, put, folder } = await opened(t);
    await put('db_1/data/rows', 'x');
    await put('db_2/data/rows', 'x');
    let writes = 0;
    const file = (id: string): string => join(dir, 'apps', id, 'data', 'rows');
    const isFolder = (name: string): boolean => databaseFiles.isFolder(name);
    const isOfProcesses = (path: string): boolean => {
      // Each look at the files finds that the server has written; that of db_1 stops some time.
      if (path === 'data') {
        writes += 1;
        appendFileSync(file('db_2'), 'y');
        if (writes < 8) appendFileSync(file('db_1'), 'y');
      }
      return false;
    };
    const databases = { ...databaseFiles, isFolder, isOfProcesses };
    const { unsettled } = await copyDataDirectory(dir, join(folder, 'copy'), {
      withKey: false,
      databases,
    });
    assert.deepEqual(unsettled, ['db_2']);
    const copied = await readFile(join(folder, 'copy', 'apps', 'db_1', 'data', 'rows'), 'utf8');
    assert.equal(copied, await readFile(file('db_1'), 'utf8'));
  });

  it('are copied from the checkpoint on, and anew when there was another one meanwhile', async (t) => {
    const { dir, put, folder } = await opened(t);
    const control = join(dir, 'apps/db_1/data/global/pg_control');
    await put('db_1/data/global/pg_control', 'one');
    await put('db_1/data/base/1', 'rows');
    await put('db_1/data/pg_wal/1', 'log');
    const order: string[] = [];
    const isOfProcesses = (path: string): boolean => {
      order.push(path);
      appendFileSync(join(dir, 'apps/db_1/data/base/1'), 'y');
      // In the third of all passes, the first that is in order.
      if (order.filter((one) => one === 'data/base/1').length === 3 && path === 'data/base/1') {
        writeFileSync(control, 'two');
      }
      return false;
    };
    const databases = { ...databaseFiles, isOfProcesses };
    const { unsettled } = await copyDataDirectory(dir, join(folder, 'copy'), {
      withKey: false,
      databases,
    });
    assert.deepEqual(unsettled, [], 'it is always written to, and that does not matter');
    const copied = join(folder, 'copy/apps/db_1/data');
    assert.equal(await readFile(join(copied, 'global/pg_control'), 'utf8'), 'two');
    assert.ok(
      order.lastIndexOf('data/pg_wal/1') > order.lastIndexOf('data/base/1'),
      'the log last',
    );
  });

  it('and all others are counted as they are copied', async (t) => {
    const { folder, put } = await opened(t);
    await put('app_1/data/a', 'x'.repeat(100));
    await put('app_1/data/b', 'x'.repeat(50));
    const told: string[] = [];
    const { onProgress } = progressOn({ isTTY: true, write: (text) => told.push(text) }, () => 0);
    assert.ok(onProgress);
    const seen: Progress[] = [];
    const copied = await copyDataDirectory(join(folder, 'data'), join(folder, 'copy'), {
      withKey: false,
      onProgress: (progress) => {
        seen.push(progress);
        onProgress(progress);
      },
    });
    assert.deepEqual([copied.files, copied.bytes], [2, 150]);
    assert.deepEqual(seen.at(-1), { files: 2, bytes: 150, totalFiles: 2, totalBytes: 150 });
    assert.deepEqual(told, [
      '\r1 of 2 files, 0.0 MB of 0.0 MB\x1b[K',
      '\r2 of 2 files, 0.0 MB of 0.0 MB\x1b[K',
    ]);
    assert.deepEqual(progressOn({ write: () => undefined }), {}, 'where nobody watches');
  });
});
