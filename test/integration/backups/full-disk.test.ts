/** Restores onto a disk that is full. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

import { redisRestorer } from '../../../src/backups/restores/redis-restorer.ts';
import { unpackTar } from '../../../src/backups/restores/tar-reading.ts';
import { swapFolders } from '../../../src/backups/restores/folder-swap.ts';
import { tarEnd, tarHeaders } from '../../../src/backups/tar/tar-header.ts';
import type { DatabaseTarget } from '../../../src/backups/targets.ts';
import type { RestoreRunRecord } from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { DatabaseFixture } from '../../support/database-fixture.ts';
import { pieces } from '../../support/database-server.ts';
import { eventually } from '../../support/eventually.ts';
import { smallDisk } from '../../support/small-disk.ts';

const never = new AbortController().signal;
const none = (): Promise<void> => Promise.reject(new Error('nothing may be stopped'));
const control = { stop: none, start: none, replaced: none };
const full = { code: 'STORAGE_FULL', message: /The data is as it was\.$/ };

describe('a restore onto a full disk', () => {
  const place = (t: TestContext) => {
    const root = smallDisk(t, 4);
    if (root === undefined) return undefined;
    mkdirSync(join(root, 'data'));
    writeFileSync(join(root, 'data/kept'), 'yes');
    return { root, data: 'data', uid: null };
  };
  const mustBeAsBefore = (root: string): void => {
    assert.deepEqual(readdirSync(root), ['data']);
    assert.equal(readFileSync(join(root, 'data/kept'), 'utf8'), 'yes');
    const { bavail, blocks } = statfsSync(root);
    assert.ok(bavail > blocks * 0.9);
  };

  it('of files ends while they are unpacked, and nothing was touched', async (t) => {
    const folder = place(t);
    if (folder === undefined) return;
    const size = 6 * 2 ** 20;
    const head = tarHeaders({
      name: Buffer.from('big'),
      type: 'file',
      ...{ size, mode: 0o644, mtimeMs: 0 },
      target: Buffer.alloc(0),
    });
    const tar = Buffer.concat([head, randomBytes(size), tarEnd]);
    const swap = { places: [folder], control, log: () => undefined };
    const restoring = swapFolders(swap, ([path = '']) =>
      unpackTar(pieces(tar), { path, check: () => true, signal: never }),
    );
    await assert.rejects(restoring, full);
    mustBeAsBefore(folder.root);
  });

  it('of an RDB ends while it is written, and nothing was touched', async (t) => {
    const files = place(t);
    if (files === undefined) return;
    writeFileSync(join(files.root, 'data/redis.conf'), 'port 1');
    const target = {
      files,
      volumes: null,
      elsewhere: null,
      control,
      version: '7.0.15',
    } as unknown as DatabaseTarget;
    const rdb = Buffer.concat([Buffer.from('REDIS0010'), randomBytes(6 * 2 ** 20)]);
    const restoring = redisRestorer(target, rdb.length).restore(
      pieces(rdb),
      () => undefined,
      never,
    );
    await assert.rejects(restoring, full);
    mustBeAsBefore(files.root);
  });

  const stored = async (t: TestContext, root: string) => {
    const fixture = await new DatabaseFixture().open();
    t.after(() => fixture.close());
    const id = await fixture.create();
    await fixture.until(id, 'running');
    fixture.restores.root = join(root, 'restores');
    const artifact = gzipSync(randomBytes(6 * 2 ** 20));
    const run = {
      id: 'run_1',
      targetId: id,
      key: 'the-key',
      status: 'success',
      artifact: 'stored',
      sizeBytes: artifact.length,
      sha256: createHash('sha256').update(artifact).digest('hex'),
    };
    fixture.store.write([put(tables.backupRuns, { ...run, encrypted: false } as never)]);
    const { restores } = fixture;
    const restored = async (): Promise<Readonly<RestoreRunRecord>> => {
      const rights = { configure: true, env: true, upload: true };
      const begun = await fixture.ask(id, { type: 'restore-run', backupRunId: 'run_1', rights });
      const seen = () => fixture.store.get(tables.restoreRuns, begun.id) ?? begun;
      await eventually('the end', () => seen().status === 'failed');
      assert.match(seen().error ?? '', /\(STORAGE_FULL\)$/);
      assert.ok(seen().log.includes('Nothing was changed.'));
      assert.deepEqual(readdirSync(restores.root), []);
      assert.deepEqual(restores.restored, []);
      return seen();
    };
    return { fixture, restores, artifact, restored };
  };

  it('of a stored backup ends before a byte of it is fetched', async (t) => {
    const root = smallDisk(t, 4);
    if (root === undefined) return;
    const { restores, restored } = await stored(t, root);
    let isRead = false;
    restores.readObject = () => {
      isRead = true;
      return Promise.reject(new Error('nothing is to be read'));
    };
    await restored();
    assert.equal(isRead, false);
  });

  it('of a stored backup ends while it is fetched, before the disk is full to its last byte', async (t) => {
    const root = smallDisk(t, 16);
    if (root === undefined) return;
    const { fixture, restores, artifact, restored } = await stored(t, root);
    const free = (): number => statfsSync(root).bavail * statfsSync(root).bsize;
    const [pieceBytes, fewBytes] = [2 ** 19, 700 * 1024];
    const fetched = (): string => join(restores.root, readdirSync(restores.root)[0] ?? '');
    let left = 0;
    async function* others(): AsyncGenerator<Uint8Array> {
      const pieces = Array.from({ length: 13 }, (_, at) =>
        artifact.subarray(at * pieceBytes, (at + 1) * pieceBytes),
      );
      yield* pieces.slice(0, 5);
      await eventually('five pieces', () => statSync(fetched()).size === 5 * pieceBytes);
      writeFileSync(join(root ?? '', 'of-others'), Buffer.alloc(free() - fewBytes));
      yield* pieces.slice(5, 6);
      await eventually('its end', () => {
        const isGone = readdirSync(restores.root).length === 0;
        return isGone || statSync(fetched()).size > 5 * pieceBytes;
      });
      left = free();
      yield* pieces.slice(6);
    }
    restores.readObject = () =>
      Promise.resolve({ bytes: artifact.length, stream: Readable.from(others()) });
    const { store } = fixture;
    const commit = store.commit.bind(store);
    // What tells how it ended may need the room that the artifact takes.
    const there: string[][] = [];
    t.mock.method(store, 'commit', (request: Parameters<typeof commit>[0]) => {
      const tells = JSON.stringify(request).includes('Nothing was changed.');
      if (tells) there.push(readdirSync(restores.root));
      return commit(request);
    });
    await restored();
    await eventually('the other end', () => left > 0);
    assert.ok(left >= fewBytes, String(left));
    assert.deepEqual(there[0], []);
  });
});
