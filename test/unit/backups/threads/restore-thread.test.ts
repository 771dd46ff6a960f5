import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { encrypted } from '../../../../src/backups/streams/age/encrypted.ts';
import { newKeyPair } from '../../../../src/backups/streams/age/keys.ts';
import {
  checkInThread,
  fetchInThread,
  readInThread,
  ThreadedWriter,
} from '../../../../src/backups/threads/restore-thread.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { collected, pieces } from '../../../support/database-server.ts';

const never = new AbortController().signal;
const wanted = { source: 'postgresql', bytesMax: Infinity } as const;

describe('a thread of a restore', () => {
  const keys = newKeyPair();
  const dump = Buffer.concat([Buffer.from('PGDMP'), randomBytes(3_000_000)]);
  let dir = '';
  const artifact = (name: string, bytes: Uint8Array, recoveryKey: string | null = null) => {
    const path = join(dir, name);
    writeFileSync(path, bytes);
    return { path, recoveryKey };
  };
  const sealed = async (): Promise<Buffer> =>
    collected(encrypted(pieces(gzipSync(dump), 100_000), [keys.recipient]));
  const refusal = (code: string) => (error: unknown) =>
    error instanceof ServiceError && error.code === code;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'gangway-threads-'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  it('fetches an artifact, or nothing but the one that was written', async () => {
    const { path } = artifact('stored', dump);
    const place = { kind: 'server', root: dir, path: [], isOurs: false } as const;
    const at = { place, rules: { privateNetworks: [], ownPorts: [] } };
    const sha256 = createHash('sha256').update(dump).digest('hex');
    const stored = { key: 'stored', sizeBytes: dump.length, sha256 };
    let seen = 0;
    const fetch = (of: Partial<typeof stored>, to: string, signal = never): Promise<void> =>
      fetchInThread({ ...stored, ...of }, at, join(dir, to), (more) => (seen += more), signal);
    await fetch({}, 'fetched');
    assert.equal(seen, dump.length);
    assert.ok(readFileSync(join(dir, 'fetched')).equals(readFileSync(path)));
    await assert.rejects(fetch({ sizeBytes: 7 }, 'longer'), refusal('VERIFICATION_FAILED'));
    await assert.rejects(fetch({ sha256: 'other' }, 'other'), refusal('VERIFICATION_FAILED'));
    await assert.rejects(fetch({ key: 'none' }, 'none'), refusal('ARTIFACT_GONE'));
    await assert.rejects(fetch({}, 'fetched'), /EEXIST/);
    await assert.rejects(fetch({}, 'late', AbortSignal.abort(new Error('late'))), /late/);
  });

  it('is not waited for behind its signal where its disk does not answer', async () => {
    // Whoever opens it waits until somebody writes.
    const path = join(dir, 'stalled');
    execFileSync('mkfifo', [path]);
    const late = new AbortController();
    const checking = checkInThread(
      { path, recoveryKey: null },
      wanted,
      () => undefined,
      late.signal,
    );
    late.abort(new Error('It took too long.'));
    await assert.rejects(checking, /It took too long/);
    closeSync(openSync(path, 'w'));
  });

  it('opens, inflates and checks an artifact, and tells how far it is', async () => {
    const bytes = await sealed();
    const given = artifact('sealed', bytes, keys.recoveryKey);
    let seen = 0;
    const checked = await checkInThread(given, wanted, (more) => (seen += more), never);
    assert.deepEqual(checked.kind, { source: 'postgresql', form: 'dump' });
    assert.deepEqual([checked.bytes, seen], [dump.length, bytes.length]);
    assert.ok((await collected(readInThread(given, never))).equals(dump));
  });

  it('refuses what is not whole with the reason, when it is checked and when it is read', async () => {
    const whole = gzipSync(dump);
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(whole.readUInt8(1_000_000) ^ 1, 1_000_000);
    const seal = await sealed();
    const other = newKeyPair().recoveryKey;
    const broken = [
      [artifact('cut', whole.subarray(0, -10)), 'ARTIFACT_CORRUPT'],
      [artifact('flipped', flipped), 'ARTIFACT_CORRUPT'],
      [artifact('more', Buffer.concat([whole, Buffer.from('x')])), 'ARTIFACT_CORRUPT'],
      [artifact('cut seal', seal.subarray(0, -10), keys.recoveryKey), 'ARTIFACT_CORRUPT'],
      [artifact('other key', seal, other), 'RECOVERY_KEY_WRONG'],
    ] as const;
    for (const [given, code] of broken) {
      const checking = checkInThread(given, wanted, () => undefined, never);
      await assert.rejects(checking, refusal(code), given.path);
      await assert.rejects(collected(readInThread(given, never)), refusal(code), given.path);
    }
    const twice = artifact('twice', Buffer.concat([whole, gzipSync('more')]));
    assert.equal((await collected(readInThread(twice, never))).length, dump.length + 4);
  });

  it('reads a bomb no further than there is room for what it holds', async () => {
    // Of some 4 GiB of zeros.
    const zeros = gzipSync(Buffer.alloc(64 * 2 ** 20));
    const bytes = Buffer.concat([gzipSync('PGDMP'), ...Array.from({ length: 60 }, () => zeros)]);
    let seen = 0;
    const checking = checkInThread(
      artifact('of members', bytes),
      { source: 'postgresql', bytesMax: 2 ** 20 },
      (more) => (seen += more),
      never,
    );
    await assert.rejects(checking, refusal('STORAGE_FULL'));
    assert.ok(seen < bytes.length / 2, `${String(seen)} of ${String(bytes.length)}`);
  });

  it('sends no more than is taken, however far an artifact expands, and ends when nobody reads', async () => {
    const bomb = artifact('bomb', gzipSync(Buffer.alloc(200 * 2 ** 20)));
    const before = process.memoryUsage.rss();
    let taken = 0;
    for await (const chunk of readInThread(bomb, never)) {
      taken += chunk.length;
      await new Promise((resolve) => setImmediate(resolve));
      if (taken > 20 * 2 ** 20) break;
    }
    assert.ok(process.memoryUsage.rss() - before < 100 * 2 ** 20);
  });

  it('ends with its signal, and then does nothing any more', async () => {
    const stop = new AbortController();
    const reading = collected(readInThread(artifact('whole', gzipSync(dump)), stop.signal));
    stop.abort(new Error('enough'));
    await assert.rejects(reading, /enough/);

    const tree = join(dir, 'tree');
    mkdirSync(tree);
    const over = new AbortController();
    const writer = new ThreadedWriter(tree, over.signal);
    const entry = (path: string) =>
      ({ step: 'entry', entry: { path, kind: 'file', target: '', executable: false } }) as const;
    await writer.write([entry('a'), { step: 'data', bytes: Buffer.from('one') }, { step: 'end' }]);
    const files = Array.from({ length: 5000 }, (_, i) => [
      entry(`f${i}`),
      { step: 'end' } as const,
    ]);
    void writer.write(files.flat()).catch(() => undefined);
    over.abort(new Error('enough'));
    await writer.close();
    const left = readdirSync(tree).length;
    rmSync(tree, { recursive: true });
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.throws(() => readFileSync(tree), /ENOENT/);
    assert.ok(left <= 5001);
  });
});
