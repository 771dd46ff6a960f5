/** The files of an app in containers on their way back, over volumes in memory. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { appVolumesRestorer } from '../../../../src/backups/restores/app-volumes-restorer.ts';
import { volumesSwap } from '../../../../src/backups/restores/tar-swap.ts';
import { tarEnd, type TarEntry, tarHeaders } from '../../../../src/backups/tar/tar-header.ts';
import { TarReader } from '../../../../src/backups/tar/tar-reader.ts';
import { textEntry } from '../../../../src/backups/tar/tar-tree.ts';
import { collected, pieces } from '../../../support/database-server.ts';
import { MemoryVolumes } from '../../../support/memory-volumes.ts';

const never = new AbortController().signal;
const [live, fresh] = ['app_1-data', 'app_1-restored-rst_1-data'];

describe('the volumes of an app', () => {
  let volumes: MemoryVolumes;
  let uploads: string[] = [];
  let log: string[] = [];
  beforeEach(() => {
    volumes = new MemoryVolumes('app_1', ['data']);
    [uploads, log] = [[], []];
  });

  const entry = (name: string, type: TarEntry['type'], target = ''): Buffer =>
    tarHeaders({ name: Buffer.from(name), type, size: 0, mode: 0o640, mtimeMs: 0, target: Buffer.from(target), owner: { uid: 70, gid: 3_000_000 } }); // prettier-ignore
  const tarOf = (...blocks: Uint8Array[]): Buffer => Buffer.concat([...blocks, tarEnd]);
  const settings = [...textEntry('app.json', '{}')];
  const restore = (bytes: Buffer): Promise<void> =>
    appVolumesRestorer({
      data: volumesSwap(volumes.own, volumes.control),
      received: async ({ filename, content }) => {
        uploads.push(`${filename}: ${(await collected(content)).toString()}`);
      },
    }).restore(pieces(bytes, 700), (line) => log.push(line), never);
  /** What was written into the volume, with owners. */
  const written = async (): Promise<string[]> => {
    const reader = new TarReader(pieces(volumes.held.get(fresh) ?? Buffer.alloc(0)));
    const seen: string[] = [];
    for (let item = await reader.next(); item !== null; item = await reader.next()) {
      const { name, flag, mode, target } = item;
      const { uid, gid } = item.owner;
      const text = (await collected(reader.content())).toString();
      const owner = `${String(uid)}:${String(gid)} ${mode.toString(8)}`;
      seen.push(`${flag} ${name.toString()} ${owner} ${target.toString()}${text}`);
    }
    return seen;
  };

  it('are written with owners and modes, and the upload is told apart', async () => {
    await restore(
      tarOf(
        ...settings,
        ...textEntry('upload/shop.zip', 'archive'),
        entry('volumes/data/', 'folder'),
        ...textEntry('volumes/data/tea', 'green', 0o600),
        entry('volumes/data/twice', 'hardlink', 'volumes/data/tea'),
        entry('volumes/data/link', 'link', 'tea'),
        ...textEntry('volumes/other/x', 'no'),
      ),
    );
    assert.deepEqual(await written(), [
      '5 data/ 70:3000000 640 ',
      '0 data/tea 0:0 600 green',
      '1 data/twice 70:3000000 640 data/tea',
      '2 data/link 70:3000000 640 tea',
    ]);
    assert.deepEqual(uploads, ['shop.zip: archive']);
    assert.deepEqual(volumes.live, { data: fresh });
    assert.deepEqual(volumes.names, [fresh]);
    assert.ok(log.includes('The app has no volume other: it is left out.'));
  });

  it('stay where the tar has nothing of them', async () => {
    await restore(tarOf(...settings));
    assert.deepEqual(volumes.live, { data: live });
    assert.deepEqual(volumes.names, [live]);
  });

  it('refuse every tar that is none of an app, and stay as they are', async () => {
    const device = entry('volumes/data/null', 'file');
    device.write('3', 156);
    device.fill(0x20, 148, 156);
    device.write(
      `${device
        .reduce((all, byte) => all + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
    const hostile: Record<string, Buffer> = {
      'a link out of its volume': tarOf(entry('volumes/data/a', 'link', '../../app.json')),
      'an absolute link': tarOf(entry('volumes/data/a', 'link', '/etc/passwd')),
      'a link through a link': tarOf(entry('volumes/data/a', 'link', 'd/../..')),
      'a hard link out of its volume': tarOf(entry('volumes/data/a', 'hardlink', 'volumes/other/b')),
      'a hard link out of the archive': tarOf(entry('volumes/data/a', 'hardlink', 'volumes/data/../../etc/passwd')),
      'an absolute hard link': tarOf(entry('volumes/data/a', 'hardlink', '/etc/passwd')),
      'a volume that is a link': tarOf(entry('volumes/data', 'link', '.')),
      'an upload that is a link': tarOf(entry('upload/x', 'link', '../app.json')),
      'a path that leaves': tarOf(entry('volumes/data/../../evil', 'file')),
      'an absolute path': tarOf(entry('/volumes/data/evil', 'file')),
      'a file of no app': tarOf(entry('etc/passwd', 'file')),
      'a device': tarOf(device),
      'a name that is no UTF-8': tarOf(tarHeaders({ name: Buffer.from('volumes/data/\xe9', 'latin1'), type: 'file', size: 0, mode: 0o644, mtimeMs: 0, target: Buffer.alloc(0) })),
      'a tar that is cut off': tarOf(...settings).subarray(0, 700),
      nothing: Buffer.alloc(0),
    }; // prettier-ignore
    for (const [what, bytes] of Object.entries(hostile)) {
      await assert.rejects(restore(bytes), /The data is as it was\.$/, what);
      assert.deepEqual(volumes.live, { data: live }, what);
      assert.deepEqual(volumes.names, [live], what);
    }
    assert.ok(!volumes.steps.includes('stop'));
  });
});
