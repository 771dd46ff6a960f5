import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { RestoreDeps } from '../../../src/actors/restore/deps.ts';
import { keysContext, serverPlace } from '../../../src/actors/destination/place.ts';
import {
  makeServerFolder,
  ServerDestination,
} from '../../../src/backups/destinations/server-destination.ts';
import { AddressPolicy } from '../../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../../src/lib/guarded-fetch.ts';
import { BackupParts } from '../../../src/service/backup-parts.ts';
import { restoreDeps } from '../../../src/service/restores.ts';
import type {
  BackupScheduleRecord,
  DestinationRecord,
} from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { BucketServer, loopbackFetch } from '../../support/bucket.ts';
import { inPieces, noise } from '../../support/byte-streams.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { plainSecrets } from '../../support/plain-secrets.ts';
import { recordingLogger } from '../../support/silent-logger.ts';
import { smallDisk } from '../../support/small-disk.ts';

/** A clock that is set ahead by so much; its timers go on as they were. */
class SetClock extends ManualClock {
  aheadMs = 0;

  override now(): number {
    return super.now() + this.aheadMs;
  }
}

function partsOf(t: TestContext) {
  const clock = new SetClock();
  const dataDir = mkdtempSync(join(tmpdir(), 'gangway-backup-parts-'));
  const store = new MemoryStore();
  const parts = new BackupParts({
    config: {
      ...{ dataDir, backupRoots: [] },
      ...{ backupConcurrency: 3, backupTimeoutMinutes: 7, backupJitterSeconds: 11 },
    },
    reader: store,
    clock,
    logger: recordingLogger(),
    secrets: plainSecrets as never,
    fetch: loopbackFetch,
  });
  t.after(async () => {
    await parts.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  /** An artifact in a folder of the data directory. */
  const keep = async (key: string, bytes: Uint8Array): Promise<void> => {
    const record: DestinationRecord = {
      ...{ id: 'dst_one', teamId: 'team_one', name: 'Disk', kind: 'server', path: null },
      ...{
        bucket: null,
        encryption: null,
        createdAtMs: 0,
        lastTestAtMs: null,
        lastTestError: null,
      },
    };
    store.write([put(tables.destinations, record)]);
    await makeServerFolder(serverPlace(record, { dataDir, backupRoots: [] }));
    writeFileSync(join(dataDir, 'backups', 'dst_one', key), bytes);
  };
  return { parts, deps: parts.deps, keep, dataDir, store, clock };
}

/** A destination in a bucket that no request of this thread reaches. */
async function bucketOf(t: TestContext, store: MemoryStore): Promise<BucketServer> {
  const bucket = await BucketServer.start();
  t.after(() => bucket.close());
  const { endpoint, bucket: name, region, accessKey, secretKey } = bucket.place;
  const keys = JSON.stringify({ accessKey, secretKey });
  const record: DestinationRecord = {
    ...{ id: 'dst_bucket', teamId: 'team_one', name: 'Bucket', kind: 's3', path: null },
    bucket: {
      endpoint,
      name,
      region,
      keysSealed: plainSecrets.seal(keys, keysContext('dst_bucket')),
    },
    ...{ encryption: null, createdAtMs: 0, lastTestAtMs: null, lastTestError: null },
  };
  store.write([put(tables.destinations, record)]);
  t.mock.method(GuardedFetch.prototype, 'send', () => {
    throw new Error('this thread serves');
  });
  return bucket;
}

const never = new AbortController().signal;

const hostAt = (appsRoot: string, runs: 'host' | 'image' = 'host') => ({
  driver: { runs },
  appsRoot: { appsRoot },
});

/** Of restores to this folder, by programs of the machine or in containers. */
function restoresTo(appsRoot: string, runs: 'host' | 'image'): RestoreDeps {
  const config = {
    dataDir: appsRoot,
    backupRoots: [],
    backupConcurrency: 1,
    backupTimeoutMinutes: 7,
  };
  const policy = new AddressPolicy({ privateNetworks: [], ownPorts: () => [] });
  const fetch = new GuardedFetch({ policy });
  const given = { config, fetch, folders: { restores: appsRoot }, ...hostAt(appsRoot, runs) };
  return restoreDeps(given, {} as never);
}

describe('what restores are made with', () => {
  it('is room for as much as fits on the disk, of which some stays free', (t) => {
    const disk = smallDisk(t, 16);
    if (disk === undefined) return;
    const roomOf = (runs: 'host' | 'image'): number => restoresTo(disk, runs).room();
    const room = roomOf('host');
    assert.ok(room > 14 * 2 ** 20 && room < 15.5 * 2 ** 20, String(room));
    writeFileSync(join(disk, 'filler'), Buffer.alloc(8 * 2 ** 20));
    assert.equal(roomOf('host'), room - 8 * 2 ** 20);
    assert.equal(roomOf('image'), Infinity);
  });
});

describe('a stored backup that is restored', () => {
  it('is fetched by a thread where it is on this machine', async (t) => {
    const { keep, dataDir, store } = partsOf(t);
    const bytes = Buffer.from('rows');
    await keep('stored', bytes);
    t.mock.method(ServerDestination.prototype, 'read', () => {
      throw new Error('this thread serves');
    });
    const config = { dataDir, backupRoots: [], backupConcurrency: 1, backupTimeoutMinutes: 7 };
    const policy = new AddressPolicy({ privateNetworks: [], ownPorts: () => [] });
    const given = {
      config,
      fetch: new GuardedFetch({ policy }),
      folders: { restores: dataDir },
      ...hostAt(dataDir),
    };
    const deps = restoreDeps(given, { reader: store, secrets: plainSecrets } as never);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const artifact = { key: 'stored', sizeBytes: bytes.length, sha256 };
    const { fetch } = deps.openPlace('dst_one');
    await fetch(artifact, join(dataDir, 'fetched'), () => undefined, never);
    assert.ok(readFileSync(join(dataDir, 'fetched')).equals(bytes));
  });
});

describe('what backups are made with', () => {
  it('backupConcurrency lets so many backups go on at once', async (t) => {
    const { turns } = partsOf(t).deps;
    let running = 0;
    for (let i = 0; i < 5; i++) void turns.take('team_one', never).then(() => (running += 1));
    await settle();
    assert.equal(running, 3);
  });

  it('backupTimeoutMinutes end a backup or a restore that takes longer', (t) => {
    assert.equal(partsOf(t).deps.options.deadlineMs, 7 * 60_000);
    assert.equal(restoresTo(tmpdir(), 'host').deadlineMs, 7 * 60_000);
  });

  it('backupJitterSeconds bound how much later a schedule begins', (t) => {
    assert.equal(partsOf(t).deps.options.jitterMs, 11_000);
  });

  it('read back in a thread what is large and on this machine', async (t) => {
    const { deps, keep } = partsOf(t);
    const bytes = Buffer.alloc(5 * 2 ** 20, 'backup');
    await keep('large', bytes);
    const seen: number[] = [];
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const artifact = { sizeBytes: bytes.length, sha256 };
    const transport = { key: 'large', signal: never, progress: (at: number) => seen.push(at) };
    const { verify } = deps.openDestination('dst_one');
    await verify(artifact, transport);
    // The thread tells of each 4 MiB.
    assert.deepEqual(seen, [4 * 2 ** 20]);
    await assert.rejects(verify({ ...artifact, sha256: 'other' }, transport), {
      code: 'VERIFICATION_FAILED',
    });
  });

  it('are packed and written in a thread where they stay on this machine', async (t) => {
    const { deps, keep } = partsOf(t);
    await keep('other', Buffer.alloc(1));
    t.mock.method(ServerDestination.prototype, 'open', () => {
      throw new Error('this thread serves');
    });
    async function* dump(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from('rows'));
    }
    const [signal, nothing] = [never, () => undefined];
    const { write, verify } = deps.openDestination('dst_one');
    const writing = { key: 'new', signal, progress: nothing, leaves: nothing, hashesDump: true };
    const { dumpSha256, ...artifact } = await write(dump(), writing);
    assert.equal(dumpSha256, createHash('sha256').update('rows').digest('hex'));
    await verify(artifact, { key: 'new', signal, progress: nothing });
  });

  it('are packed, sent, read back and fetched in threads where they go to a bucket', async (t) => {
    const { deps, dataDir, store } = partsOf(t);
    const bucket = await bucketOf(t, store);
    const dump = noise(6 * 2 ** 20);
    const [signal, nothing] = [never, () => undefined];
    const { write, verify } = deps.openDestination('dst_bucket');
    const writing = { key: 'new', signal, progress: nothing, leaves: nothing, hashesDump: true };
    const { dumpSha256, ...artifact } = await write(inPieces(dump, 65_536), writing);
    assert.equal(dumpSha256, createHash('sha256').update(dump).digest('hex'));
    assert.deepEqual(bucket.names(), ['dst_bucket/new']);
    await verify(artifact, { key: 'new', signal, progress: nothing });
    const config = { dataDir, backupRoots: [], backupConcurrency: 1, backupTimeoutMinutes: 7 };
    const given = {
      config,
      fetch: loopbackFetch,
      folders: { restores: dataDir },
      ...hostAt(dataDir),
    };
    const restores = restoreDeps(given, { reader: store, secrets: plainSecrets } as never);
    const path = join(dataDir, 'fetched');
    const { fetch } = restores.openPlace('dst_bucket');
    await fetch({ key: 'new', ...artifact }, path, nothing, never);
    assert.ok(gunzipSync(readFileSync(path)).equals(dump));
  });

  it('reach no bucket at an address that is not admitted, from no thread', async (t) => {
    const { deps, store } = partsOf(t);
    const bucket = await bucketOf(t, store);
    t.mock.getter(loopbackFetch, 'rules', () => ({ privateNetworks: [], ownPorts: [] }));
    const [signal, nothing] = [never, () => undefined];
    const { write } = deps.openDestination('dst_bucket');
    const writing = { key: 'new', signal, progress: nothing, leaves: nothing, hashesDump: false };
    await assert.rejects(write(inPieces(noise(100), 65_536), writing), {
      code: 'DESTINATION_FAILED',
    });
    assert.deepEqual(bucket.calls, []);
  });

  it('plan schedules anew behind a clock that was ahead and is right again', async (t) => {
    const { parts, store, clock } = partsOf(t);
    const told: object[] = [];
    parts.start({ tell: (to, message) => void told.push({ id: to.id, ...message }) });
    clock.aheadMs = 10 * 365 * 24 * 3_600_000;
    await clock.advance(60_000);
    const nextRunAtMs = clock.now() + 3_600_000;
    const schedule: BackupScheduleRecord = {
      ...{ id: 'sch_one', teamId: 'team_one', targetId: 'db_one', destinationId: 'dst_one' },
      kind: 'database',
      ...{ cron: '0 * * * *', timezone: 'UTC', keep: 7, enabled: true },
      ...{ nextRunAtMs, lastDueAtMs: null, createdAtMs: 0 },
    };
    const alarm = { actor: 'backups:db_one', name: 'due:sch_one', message: { type: 'due' } };
    store.write([
      put(tables.backupSchedules, schedule),
      put(tables.alarms, { ...alarm, atMs: nextRunAtMs }),
    ]);
    await clock.advance(60_000);
    assert.deepEqual(told, []);
    clock.aheadMs = 0;
    await clock.advance(60_000);
    const replan = { id: 'db_one', type: 'replan', scheduleId: 'sch_one' };
    assert.deepEqual(told, [replan]);
    await clock.advance(60_000);
    assert.equal(told.length, 1);
    clock.aheadMs = -60 * 60_000;
    await parts.close();
    await clock.advance(60_000);
    assert.equal(told.length, 1, 'nobody looks behind the end');
  });

  it('know no destination that is not there', (t) => {
    const { deps } = partsOf(t);
    assert.equal(deps.teamOfDestination('dst_none'), null);
    assert.throws(() => deps.openDestination('dst_none'), { code: 'NOT_FOUND' });
  });
});
