import assert from 'node:assert/strict';
import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { databaseFiles } from '../../../../src/places/database-folders.ts';
import { instanceSource, leftSnapshots } from '../../../../src/backups/sources/instance-source.ts';
import { joined } from '../../../support/byte-streams.ts';
import { instanceWorld, sourceOfInstance, tarOf } from '../../../support/instance-world.ts';
import { smallDisk } from '../../../support/small-disk.ts';
import { openedStore, temporaryFolder } from '../../../support/store-fixture.ts';

describe('instanceSource()', () => {
  it('leaves nothing behind, whether it is read to its end, ended or aborted', async (t) => {
    const { dir } = await instanceWorld(t);
    const left = (): Promise<string[]> => readdir(join(dir, 'snapshots'));
    await tarOf(dir);
    assert.deepEqual(await left(), []);
    for await (const piece of sourceOfInstance(dir).read(new AbortController().signal)) {
      assert.ok(piece.length > 0);
      assert.equal((await left()).length, 1);
      break;
    }
    assert.deepEqual(await left(), []);
    const gone = AbortSignal.abort(new Error('canceled'));
    await assert.rejects(joined(sourceOfInstance(dir).read(gone)), /canceled/);
    assert.deepEqual(await left(), []);
  });

  it('is refused where the disk has no room for a copy, which is not left there', async (t) => {
    const disk = smallDisk(t, 16);
    if (disk === undefined) return;
    const dir = join(disk, 'data');
    await openedStore(t, { dir });
    await mkdir(join(dir, 'uploads'));
    for (const name of ['one', 'two']) {
      await writeFile(join(dir, 'uploads', name), Buffer.alloc(5 * 2 ** 20, 1));
    }
    await assert.rejects(tarOf(dir), { code: 'STORAGE_FULL' });
    assert.deepEqual(await readdir(join(dir, 'snapshots')), []);
  });

  it('has no file of holes beyond its measure, and says so', async (t) => {
    const { dir } = await instanceWorld(t);
    const hollow = join(dir, 'apps', 'app_1', 'data', 'hollow');
    await writeFile(hollow, '');
    await truncate(hollow, 65 * 2 ** 30);
    const told: unknown[] = [];
    const source = instanceSource({
      ...{ dataDir: dir, snapshots: join(dir, 'snapshots'), databases: databaseFiles },
      missed: (left) => told.push(left),
    });
    const tar = await joined(source.read(new AbortController().signal));
    assert.ok(!tar.includes('data/hollow'));
    assert.deepEqual(told, [{ unsettled: [], files: { holes: 1 } }]);
  });

  it('is followed by a start that removes what a killed process left, and nothing newer', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'left', 'store'), { recursive: true });
    const remove = await leftSnapshots(folder);
    await mkdir(join(folder, 'newer'));
    await remove();
    assert.deepEqual(await readdir(folder), ['newer']);
    await (
      await leftSnapshots(join(folder, 'none'))
    )();
  });
});
