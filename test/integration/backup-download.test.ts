import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { keysContext, recoveryContext, serverPlace } from '../../src/actors/destination/place.ts';
import { makeServerFolder } from '../../src/backups/destinations/server-destination.ts';
import { ArtifactSender } from '../../src/backups/sending/artifact-sender.ts';
import { encrypted } from '../../src/backups/streams/age/encrypted.ts';
import { newKeyPair } from '../../src/backups/streams/age/keys.ts';
import { backupDownloadRoutes } from '../../src/gateway/transports/backup-download.ts';
import { backupLimits, Transfers } from '../../src/gateway/transports/transfers.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import type { BackupRunRecord, DestinationRecord } from '../../src/store/records/records.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { person } from '../support/accounts-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { plainSecrets } from '../support/plain-secrets.ts';
import { needs } from '../support/programs.ts';
import { recordingLogger } from '../support/silent-logger.ts';

const run = promisify(execFile);
/** More than what lies between an artifact and a reader that stands still. */
const largeBytes = 16_000_000;

describe('the download of a backup', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gangway-download-'));
  const roots = { dataDir, backupRoots: [] };
  const store = new MemoryStore();
  const noted: string[] = [];
  let refusal: ServiceError | null = null;
  let sender: ArtifactSender;
  let gateway: TestGateway;
  let recipient = '';
  /** Chunks that were taken, and readings that have ended. */
  let taken = 0;
  let ended = 0;
  /** Those of the last reading. */
  let sent: Uint8Array[] = [];

  before(async () => {
    const keys = newKeyPair();
    recipient = keys.recipient;
    sender = new ArtifactSender({ logger: recordingLogger(), clock: systemClock });
    addDestination('dst_plain', null);
    addDestination('dst_sealed', {
      recipient,
      recoveryKeySealed: plainSecrets.seal(keys.recoveryKey, recoveryContext('dst_sealed')),
    });
    for (const id of ['dst_plain', 'dst_sealed']) {
      await makeServerFolder(serverPlace({ id, path: null }, roots));
    }
    gateway = await startGateway(
      backupDownloadRoutes({
        artifacts: {
          send: async (wanted, signal) => counted(await sender.send(wanted, signal)),
        },
        roots,
        secrets: plainSecrets,
        transfers: new Transfers(undefined, backupLimits),
        reader: store,
        authenticate: () => person('usr_1'),
        authorize: (_reader, _principal, need) => {
          assert.equal(need, 'restore_backups');
          if (refusal !== null) throw refusal;
        },
        note: (exchange) => {
          noted.push(exchange.param('runId'));
          return Promise.resolve();
        },
      }),
    );
  });
  after(async () => {
    await gateway.close();
    await sender.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  beforeEach(() => {
    refusal = null;
    noted.length = 0;
    [taken, ended] = [0, 0];
  });

  async function* counted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    sent = [];
    try {
      for await (const chunk of source) {
        sent.push(chunk);
        taken += chunk.length;
        yield chunk;
      }
    } finally {
      ended += 1;
    }
  }

  function addDestination(id: string, encryption: DestinationRecord['encryption']): void {
    const record: DestinationRecord = {
      ...{ id, teamId: 'team_1', name: id, kind: 'server', path: null, bucket: null, encryption },
      ...{ createdAtMs: 0, lastTestAtMs: null, lastTestError: null },
    };
    store.write([put(tables.destinations, record)]);
  }

  function addRun(id: string, patch: Partial<BackupRunRecord> = {}): void {
    const record: BackupRunRecord = {
      ...{ id, teamId: 'team_1', kind: 'database', targetId: 'db_gone', scheduleId: null },
      ...{ destinationId: 'dst_plain', status: 'success', canceled: false, artifact: 'stored' },
      ...{ key: `${id}.dump.gz`, source: 'postgresql', encrypted: false, sizeBytes: 0 },
      ...{ progressBytes: 0, sha256: '', verifiedAtMs: 1, error: null, startedAtMs: 0 },
      ...{ finishedAtMs: 1, ...patch },
    };
    store.write([put(tables.backupRuns, record)]);
  }

  /** A finished backup of these bytes; returns its file. */
  const keep = (id: string, bytes: Uint8Array, patch: Partial<BackupRunRecord> = {}): string => {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    addRun(id, { sizeBytes: bytes.length, sha256, ...patch });
    const { destinationId, key } = store.get(tables.backupRuns, id) as BackupRunRecord;
    const file = join(dataDir, 'backups', destinationId, key ?? '');
    writeFileSync(file, bytes);
    return file;
  };

  const ask = (
    id: string,
    headers: Record<string, string> = {},
    { method = 'GET', query = '' } = {},
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const url = `${gateway.url}/api/backups/${id}/download${query}`;
      request(url, { agent: false, headers, method }, resolve).on('error', reject).end();
    });

  const whole = async (...asked: Parameters<typeof ask>) => {
    const answer = await ask(...asked);
    const bytes = Buffer.concat(await answer.toArray());
    return { status: answer.statusCode ?? 0, headers: answer.headers, bytes };
  };

  const codeOf = ({ bytes }: { bytes: Buffer }): string =>
    (JSON.parse(bytes.toString()) as { code: string }).code;

  it('is the artifact, with its length, its tag and its name', async () => {
    const bytes = randomBytes(300_000);
    keep('run_whole', bytes);
    const { status, headers, bytes: got } = await whole('run_whole');
    assert.equal(status, 200);
    assert.ok(got.equals(bytes));
    assert.equal(headers['content-type'], 'application/gzip');
    assert.equal(headers['content-length'], '300000');
    assert.equal(headers['accept-ranges'], 'bytes');
    assert.equal(headers['content-disposition'], 'attachment; filename="run_whole.dump.gz"');
    assert.match(headers.etag ?? '', /^"[0-9a-f]{64}"$/);
    assert.deepEqual(noted, ['run_whole']);
  });

  it('is a part of it where a range asks for one', async () => {
    const bytes = randomBytes(200_000);
    keep('run_part', bytes);
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=100-199999', 100, 199_999],
      ['bytes=150000-', 150_000, 199_999],
      ['bytes=-10', 199_990, 199_999],
    ] as const) {
      const { status, headers, bytes: got } = await whole('run_part', { range });
      assert.equal(status, 206, range);
      assert.equal(headers['content-range'], `bytes ${start}-${end}/200000`);
      assert.equal(headers['content-length'], String(end + 1 - start));
      assert.ok(got.equals(bytes.subarray(start, end + 1)), range);
    }
    const several = await whole('run_part', { range: 'bytes=0-1,3-4' });
    assert.deepEqual([several.status, several.bytes.length], [200, 200_000]);
    const beyond = await whole('run_part', { range: 'bytes=200000-' });
    assert.deepEqual([beyond.status, codeOf(beyond)], [416, 'RANGE_NOT_SATISFIABLE']);
    assert.equal(beyond.headers['content-range'], 'bytes */200000');
  });

  it('heeds If-Match, If-Range and If-None-Match', async () => {
    const bytes = randomBytes(1_000);
    keep('run_if', bytes);
    const etag = (await whole('run_if')).headers.etag ?? '';
    const range = 'bytes=10-';
    assert.equal((await whole('run_if', { range, 'if-range': etag })).status, 206);
    assert.equal((await whole('run_if', { range, 'if-range': '"other"' })).status, 200);
    const changed = await whole('run_if', { range, 'if-match': '"other"', 'if-none-match': etag });
    assert.deepEqual([changed.status, codeOf(changed)], [412, 'PRECONDITION_FAILED']);
    assert.equal((await whole('run_if', { range, 'if-match': etag })).status, 206);
    const known = await whole('run_if', { 'if-none-match': etag });
    assert.deepEqual([known.status, known.bytes.length], [304, 0]);
  });

  it('answers HEAD with the same head, without a body and without a note', async () => {
    keep('run_head', randomBytes(5_000));
    const { status, headers, bytes } = await whole('run_head', {}, { method: 'HEAD' });
    assert.deepEqual([status, headers['content-length'], bytes.length], [200, '5000', 0]);
    // Ranges are of GET alone.
    const part = await whole('run_head', { range: 'bytes=6000-' }, { method: 'HEAD' });
    assert.deepEqual([part.status, part.headers['content-length']], [200, '5000']);
    assert.deepEqual(noted, []);
    await eventually('closed', () => ended === 2);
  });

  it('goes on where curl -C - left off', { skip: needs('curl') }, async () => {
    const bytes = randomBytes(2_000_000);
    keep('run_curl', bytes);
    const file = join(dataDir, 'half.gz');
    const url = `${gateway.url}/api/backups/run_curl/download`;
    writeFileSync(file, bytes.subarray(0, 700_000));
    await run('curl', ['-sS', '--fail', '-C', '-', '-o', file, url]);
    assert.ok(readFileSync(file).equals(bytes));
  });

  it('opens what is encrypted on its way, and gives it as it is stored for raw=1', async () => {
    const plain = gzipSync(randomBytes(500_000));
    const chunks: Uint8Array[] = [];
    const source = (async function* () {
      for (let at = 0; at < plain.length; at += 50_000) {
        yield plain.subarray(at, at + 50_000);
        await Promise.resolve();
      }
    })();
    for await (const chunk of encrypted(source, [recipient])) chunks.push(Buffer.from(chunk));
    const stored = Buffer.concat(chunks);
    const of = { encrypted: true, destinationId: 'dst_sealed', key: 'run_age.dump.gz.age' };
    keep('run_age', stored, of);
    const opened = await whole('run_age', { range: 'bytes=10-' });
    assert.equal(opened.status, 200);
    assert.ok(opened.bytes.equals(plain));
    assert.equal(opened.headers['content-length'], undefined);
    assert.equal(opened.headers['content-type'], 'application/gzip');
    assert.equal(opened.headers['content-disposition'], 'attachment; filename="run_age.dump.gz"');
    const raw = await whole('run_age', {}, { query: '?raw=1' });
    assert.ok(raw.bytes.equals(stored));
    assert.equal(raw.headers['content-type'], 'application/octet-stream');
    assert.equal(raw.headers['content-disposition'], 'attachment; filename="run_age.dump.gz.age"');
    assert.notEqual(raw.headers.etag, opened.headers.etag);
    const part = await whole('run_age', { range: 'bytes=100-' }, { query: '?raw=1' });
    assert.ok(part.status === 206 && part.bytes.equals(stored.subarray(100)));
    assert.equal(codeOf(await whole('run_age', {}, { query: '?raw=yes' })), 'BAD_USER_INPUT');
  });

  it('breaks off, never ends as if whole, where an encrypted artifact is damaged', async () => {
    const chunks: Uint8Array[] = [];
    const source = (async function* () {
      yield await Promise.resolve(randomBytes(300_000));
    })();
    for await (const chunk of encrypted(source, [recipient])) chunks.push(Buffer.from(chunk));
    const stored = Buffer.concat(chunks);
    stored[stored.length - 1] = (stored.at(-1) ?? 0) ^ 1;
    const of = { encrypted: true, destinationId: 'dst_sealed', key: 'run_bad.dump.gz.age' };
    keep('run_bad', stored, of);
    await assert.rejects(whole('run_bad').then(({ status }) => assert.equal(status, 200)));
  });

  it('is refused with a code, and is then not in the activity', async () => {
    addRun('run_going', { status: 'running', artifact: 'writing', finishedAtMs: null });
    addRun('run_checked', { status: 'verifying', artifact: 'writing', finishedAtMs: null });
    addRun('run_failed', { status: 'failed', artifact: 'none' });
    addRun('run_nowhere', { destinationId: 'dst_none' });
    rmSync(keep('run_removed', randomBytes(100)));
    truncateSync(keep('run_short', randomBytes(100)), 50);
    store.write([
      put(tables.destinations, {
        ...(store.get(tables.destinations, 'dst_plain') as DestinationRecord),
        ...{ id: 'dst_bucket', kind: 's3' as const, path: 'nightly' },
        bucket: {
          ...{ endpoint: 'https://s3.example.com', name: 'shop-backups', region: 'eu' },
          keysSealed: plainSecrets.seal(
            JSON.stringify({ accessKey: 'a', secretKey: 'very-secret' }),
            keysContext('dst_bucket'),
          ),
        },
      }),
    ]);
    addRun('run_bucket', { destinationId: 'dst_bucket', sizeBytes: 5, sha256: 'x' });
    for (const [id, status, code] of [
      ['run_unknown', 404, 'NOT_FOUND'],
      ['run_going', 409, 'RUN_NOT_FINISHED'],
      ['run_checked', 409, 'RUN_NOT_FINISHED'],
      ['run_failed', 410, 'ARTIFACT_GONE'],
      ['run_nowhere', 410, 'ARTIFACT_GONE'],
      ['run_removed', 410, 'ARTIFACT_GONE'],
      ['run_short', 502, 'VERIFICATION_FAILED'],
      ['run_bucket', 409, 'OBJECT_STORAGE'],
    ] as const) {
      const answer = await whole(id);
      assert.deepEqual([answer.status, codeOf(answer)], [status, code], id);
      const text = answer.bytes.toString();
      assert.ok(!text.includes('very-secret') && !text.includes(dataDir), id);
      if (id !== 'run_bucket') continue;
      const problem = JSON.parse(text) as { bucket: string; key: string };
      assert.deepEqual(
        [problem.bucket, problem.key],
        ['shop-backups', 'nightly/dst_bucket/run_bucket.dump.gz'],
      );
    }
    refusal = new ServiceError('FORBIDDEN', 'This needs the capability restore_backups.');
    assert.equal(codeOf(await whole('run_going')), 'FORBIDDEN');
    assert.deepEqual(noted, []);
  });

  it('waits for a slow reader, and then goes on to the end', async () => {
    const bytes = randomBytes(largeBytes);
    keep('run_slow', bytes);
    const answer = await ask('run_slow');
    answer.pause();
    let [last, turns] = [0, 0];
    await eventually('the socket is full', () => {
      turns = taken === last && taken > 0 ? turns + 1 : 0;
      last = taken;
      return turns > 20;
    });
    assert.ok(taken < largeBytes - 4_000_000, `it waits: ${String(taken)}`);
    const got = Buffer.concat(await answer.toArray());
    assert.ok(got.equals(bytes));
    await eventually('closed', () => ended === 1);
  });

  it('frees each chunk as soon as it is written', async () => {
    keep('run_freed', randomBytes(640 * 1024));
    assert.equal((await whole('run_freed')).bytes.length, 640 * 1024);
    assert.ok(sent.length > 1);
    // What is freed has no length any more.
    await eventually('all are freed', () => sent.every(({ length }) => length === 0));
  });

  it('ends its reading when the client leaves', async () => {
    keep('run_left', randomBytes(largeBytes));
    const answer = await ask('run_left');
    answer.on('error', () => undefined);
    await eventually('it has begun', () => taken > 0);
    answer.destroy();
    await eventually('closed', () => ended === 1);
    assert.ok(taken < largeBytes);
  });

  it('goes on for many at a time', async () => {
    const bytes = randomBytes(400_000);
    keep('run_many', bytes);
    const all = await Promise.all(Array.from({ length: 60 }, () => whole('run_many')));
    assert.ok(all.every(({ status, bytes: got }) => status === 200 && got.equals(bytes)));
  });
});
