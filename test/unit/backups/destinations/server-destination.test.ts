import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ServerPlace } from '../../../../src/backups/destinations/destination.ts';
import {
  makeServerFolder,
  removeServerFolder,
  ServerDestination,
} from '../../../../src/backups/destinations/server-destination.ts';
import { run } from '../../../conformance/destination.suite.ts';
import { smallDisk } from '../../../support/small-disk.ts';

const never = new AbortController().signal;

function rootOf(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'gangway-destination-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

const placeIn = (root: string, isOurs = false): ServerPlace => ({
  kind: 'server',
  root,
  path: ['nightly', 'dst_1'],
  isOurs,
});

run('server', async () => {
  const root = mkdtempSync(join(tmpdir(), 'gangway-destination-'));
  const place = placeIn(root);
  await makeServerFolder(place);
  return {
    destination: new ServerDestination(place),
    names: () => readdirSync(join(root, ...place.path)),
    close: () => rmSync(root, { recursive: true }),
  };
});

describe('ServerDestination', () => {
  it('keeps its folder and what is in it from other users', async (t) => {
    const root = rootOf(t);
    await makeServerFolder(placeIn(root));
    const writer = await new ServerDestination(placeIn(root)).open('object', never);
    await writer.finish();
    const folder = join(root, 'nightly', 'dst_1');
    const modes = [join(root, 'nightly'), folder, join(folder, 'object')].map(
      (path) => statSync(path).mode & 0o777,
    );
    assert.deepEqual(modes, [0o700, 0o700, 0o600]);
  });

  it('follows no link, neither on the way nor in its folder', async (t) => {
    const root = rootOf(t);
    const elsewhere = rootOf(t);
    writeFileSync(join(elsewhere, 'secret'), 'x');
    const destination = new ServerDestination(placeIn(root));
    await makeServerFolder(placeIn(root));
    const folder = join(root, 'nightly', 'dst_1');
    symlinkSync(join(elsewhere, 'secret'), join(folder, 'object'));
    await assert.rejects(destination.read('object'), { code: 'DESTINATION_FAILED' });
    symlinkSync(join(elsewhere, 'made'), join(folder, 'new.part'));
    const writer = await destination.open('new', never);
    await writer.write(Buffer.from('ours'));
    await writer.finish();
    assert.ok(!existsSync(join(elsewhere, 'made')));

    rmSync(folder, { recursive: true });
    symlinkSync(elsewhere, folder);
    await assert.rejects(destination.open('object', never), { code: 'DESTINATION_FAILED' });
    await assert.rejects(destination.read('secret'), { code: 'DESTINATION_FAILED' });
    await assert.rejects(makeServerFolder(placeIn(root)));
    rmSync(join(root, 'nightly'), { recursive: true });
    symlinkSync(elsewhere, join(root, 'nightly'));
    await assert.rejects(makeServerFolder(placeIn(root)));
    assert.deepEqual(readdirSync(elsewhere), ['secret']);
  });

  it('writes nothing below the mount point of a disk that is not there', async (t) => {
    const root = rootOf(t);
    const destination = new ServerDestination(placeIn(root));
    await assert.rejects(destination.open('object', never), /no folder nightly\/dst_1/);
    assert.deepEqual(readdirSync(root), []);
    await new ServerDestination(placeIn(root, true)).remove('object');
    assert.deepEqual(readdirSync(root), ['nightly']);
  });

  it('ends with its folder only when nothing is in it', async (t) => {
    const root = rootOf(t);
    await makeServerFolder(placeIn(root));
    const kept = join(root, 'nightly', 'dst_1', 'object');
    writeFileSync(kept, 'x');
    await assert.rejects(removeServerFolder(placeIn(root)), { code: 'ENOTEMPTY' });
    rmSync(kept);
    await removeServerFolder(placeIn(root));
    assert.deepEqual(readdirSync(join(root, 'nightly')), []);
  });

  it('leaves some of the disk free, and nothing of what did not fit', async (t) => {
    const disk = smallDisk(t, 32);
    if (disk === undefined) return;
    const place = placeIn(disk);
    await makeServerFolder(place);
    const destination = new ServerDestination(place);
    const chunk = Buffer.alloc(256 * 1024, 1);
    const free = (): number => {
      const { bavail, bsize } = statfsSync(disk);
      return bavail * bsize;
    };
    const writer = await destination.open('object', never);
    let leastFree = free();
    const fill = async (): Promise<void> => {
      for (;;) {
        await writer.write(chunk);
        leastFree = Math.min(leastFree, free());
      }
    };
    const full = { code: 'STORAGE_FULL', message: /MiB are free/ };
    await assert.rejects(fill(), full);
    assert.ok(leastFree > 0, String(leastFree));
    await assert.rejects(writer.write(Buffer.alloc(2 ** 20)), full);
    await writer.abort();
    assert.deepEqual(readdirSync(join(disk, ...place.path)), []);

    const filler = join(disk, 'filler');
    writeFileSync(filler, Buffer.alloc(free() - 2 ** 20));
    await assert.rejects(destination.open('object', never), full);
    rmSync(filler);
    await (await destination.open('object', never)).finish();
  });

  it('says that the disk is full where another took the rest of it', async (t) => {
    const disk = smallDisk(t, 4);
    if (disk === undefined) return;
    const place = placeIn(disk);
    await makeServerFolder(place);
    const writer = await new ServerDestination(place).open('object', never);
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize));
    await assert.rejects(writer.write(Buffer.alloc(500_000)), { code: 'STORAGE_FULL' });
    await writer.abort();
    assert.deepEqual(readdirSync(join(disk, ...place.path)), []);
  });

  it('names what is there and is no file', async (t) => {
    const root = rootOf(t);
    await makeServerFolder(placeIn(root));
    mkdirSync(join(root, 'nightly', 'dst_1', 'object'));
    const destination = new ServerDestination(placeIn(root));
    await assert.rejects(destination.read('object'), /is no file/);
  });
});
