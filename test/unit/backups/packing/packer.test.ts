import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import type { ServerPlace } from '../../../../src/backups/destinations/destination.ts';
import { Packer } from '../../../../src/backups/packing/packer.ts';
import { decrypted } from '../../../../src/backups/streams/age/decrypted.ts';
import { newKeyPair } from '../../../../src/backups/streams/age/keys.ts';
import { BucketServer } from '../../../support/bucket.ts';
import { inPieces, joined, noise, rows } from '../../../support/byte-streams.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';
import { smallDisk } from '../../../support/small-disk.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

const idleMs = 1000;
const onLoopback = { privateNetworks: ['127.0.0.0/8'], ownPorts: [] };
const noRules = { privateNetworks: [], ownPorts: [] };

async function fixture(t: TestContext, given?: string) {
  const root = given ?? (await temporaryFolder(t));
  const place: ServerPlace = { kind: 'server', root, path: ['dst_1'], isOurs: true };
  const clock = new ManualClock();
  const packer = new Packer({ clock, logger: recordingLogger(), idleMs });
  t.after(() => packer.close());
  const stop = new AbortController();
  const left: Promise<unknown>[] = [];
  const seen: number[] = [];
  const folder = join(root, 'dst_1');
  return {
    ...{ clock, packer, stop, seen, left },
    stored: (key = 'object') => readFileSync(join(folder, key)),
    pack: (
      dump: AsyncIterable<Uint8Array>,
      { key = 'object', recipient = null as string | null, hashesDump = false } = {},
    ) =>
      packer.pack(
        dump,
        { place, rules: noRules, recipient, hashesDump },
        {
          key,
          signal: stop.signal,
          progress: (bytes) => seen.push(bytes),
          leaves: (ending) => left.push(ending),
        },
      ),
    /** Once nothing is under way any more. */
    mustBeEmpty: async () => {
      assert.equal(left.length, 1);
      await left[0];
      assert.deepEqual(readdirSync(folder), []);
    },
  };
}

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Gives this, and then nothing for ever. */
async function* hanging(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield* inPieces(bytes, 65_536);
  await new Promise(() => undefined);
}

describe('Packer.pack()', () => {
  it('makes an artifact that opens, and tells what it is and how far it is', async (t) => {
    const { pack, stored, seen } = await fixture(t);
    const dump = Buffer.concat([rows(500_000), noise(3_000_000)]);
    const { recipient, recoveryKey } = newKeyPair();
    const artifact = await pack(inPieces(dump, 65_536), { recipient, hashesDump: true });
    const bytes = stored();
    assert.deepEqual(artifact, {
      ...{ sizeBytes: bytes.length, sha256: hash(bytes), dumpSha256: hash(dump) },
    });
    const opened = await joined(decrypted(inPieces(bytes, 65_536), recoveryKey));
    assert.ok(gunzipSync(opened).equals(dump));
    assert.ok(seen.length >= 2 && seen.every((at, i) => at > (seen[i - 1] ?? 0)));
  });

  it('leaves memory alone that is not all of the chunk', async (t) => {
    const { pack, stored } = await fixture(t);
    const dump = noise(600_000);
    async function* parts(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < dump.length; at += 99_999) {
        await Promise.resolve();
        yield dump.subarray(at, at + 99_999);
      }
    }
    const { dumpSha256 } = await pack(parts());
    assert.equal(dumpSha256, null);
    assert.ok(gunzipSync(stored()).equals(dump));
  });

  it('serves several at a time, each whole', async (t) => {
    const { pack, stored } = await fixture(t);
    const dumps = { a: noise(2_000_000), b: rows(2_000_000), c: noise(10), d: Buffer.alloc(0) };
    const all = Object.entries(dumps);
    await Promise.all(all.map(([key, dump]) => pack(inPieces(dump, 65_536), { key })));
    for (const [key, dump] of all) assert.ok(gunzipSync(stored(key)).equals(dump));
  });

  it('fails with what the dump fails with, and leaves nothing', async (t) => {
    const { pack, mustBeEmpty } = await fixture(t);
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* inPieces(noise(3_000_000), 65_536);
      throw new Error('the dump broke off');
    }
    await assert.rejects(pack(failing()), { message: 'the dump broke off' });
    await mustBeEmpty();
  });

  it('ends with its signal while the dump hangs, and leaves nothing', async (t) => {
    const { pack, stop, seen, mustBeEmpty } = await fixture(t);
    const packing = pack(hanging(noise(4_000_000)));
    packing.catch(() => undefined);
    await eventually('something is written', () => seen.length > 0);
    stop.abort(new Error('enough'));
    await assert.rejects(packing, { message: 'enough' });
    await mustBeEmpty();
  });

  it('fails when its thread is lost, while the dump hangs, and starts another', async (t) => {
    const { pack, stored, left } = await fixture(t);
    const started = once(process, 'worker') as Promise<[Worker]>;
    // So little that none of the threads that compress is interrupted.
    const packing = pack(hanging(noise(1_000)));
    packing.catch(() => undefined);
    const [thread] = await started;
    await once(thread, 'online');
    await thread.terminate();
    await assert.rejects(packing, { code: 'OVERLOADED' });
    await left[0];
    const dump = noise(100_000);
    await pack(inPieces(dump, 65_536), { key: 'next' });
    assert.ok(gunzipSync(stored('next')).equals(dump));
  });

  it('fails when the disk is full, while the dump hangs, and leaves nothing', async (t) => {
    const disk = smallDisk(t, 4);
    if (disk === undefined) return;
    const { pack, mustBeEmpty } = await fixture(t, disk);
    await assert.rejects(pack(hanging(noise(6_000_000))), { code: 'STORAGE_FULL' });
    await mustBeEmpty();
  });

  it('fails for a folder that is not there, though the dump gives nothing', async (t) => {
    const { packer } = await fixture(t);
    const place = { kind: 'server', root: '/nowhere', path: ['dst_1'], isOurs: true } as const;
    const given = { key: 'object', signal: new AbortController().signal };
    const writing = { ...given, progress: () => undefined, leaves: () => undefined };
    const task = { place, rules: noRules, recipient: null, hashesDump: false };
    const packing = packer.pack(hanging(Buffer.alloc(0)), task, writing);
    await assert.rejects(packing, { code: 'DESTINATION_FAILED' });
  });
});

describe('Packer', () => {
  const threads = (): number => readdirSync('/proc/self/task').length;
  const skip = process.platform !== 'linux' && 'needs /proc';

  it('ends its threads when nothing was packed for a while', { skip }, async (t) => {
    const { pack, clock, stored } = await fixture(t);
    const before = threads();
    await pack(inPieces(noise(1_000_000), 65_536));
    assert.ok(threads() > before);
    await eventually('they end', async () => {
      await clock.advance(idleMs);
      return threads() <= before;
    });
    const dump = rows(300_000);
    await pack(inPieces(dump, 65_536));
    assert.ok(gunzipSync(stored()).equals(dump));
  });

  it('fails what is under way when it is closed, and what comes', async (t) => {
    const { packer, pack, seen, mustBeEmpty } = await fixture(t);
    const packing = pack(hanging(noise(4_000_000)));
    packing.catch(() => undefined);
    await eventually('something is written', () => seen.length > 0);
    await Promise.all([packer.close(), packer.close()]);
    await assert.rejects(packing, { code: 'SHUTTING_DOWN' });
    await mustBeEmpty();
    await assert.rejects(pack(inPieces(rows(9), 9)), { code: 'SHUTTING_DOWN' });
  });

  it('waits for no bucket that holds its thread up when it is closed', async (t) => {
    const { packer, clock } = await fixture(t);
    const bucket = await BucketServer.start();
    t.after(() => bucket.close());
    bucket.fault = () => 'silence';
    const given = { key: 'object', signal: new AbortController().signal };
    const writing = { ...given, progress: () => undefined, leaves: () => undefined };
    const task = { place: bucket.place, rules: onLoopback, recipient: null, hashesDump: false };
    const packing = packer.pack(hanging(noise(20_000_000)), task, writing);
    packing.catch(() => undefined);
    await eventually('the bucket is asked', () => bucket.calls.length > 0);
    let isClosed = false;
    const closed = packer.close().then(() => (isClosed = true));
    await assert.rejects(packing, { code: 'SHUTTING_DOWN' });
    await clock.advance(4_000);
    assert.equal(isClosed, false);
    await clock.advance(1_000);
    await closed;
  });
});
