import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ServiceError } from '../../src/lib/errors.ts';
import type { ArchiveFormat } from '../../src/archives/formats/format.ts';
import { BulkPool } from '../../src/archives/receiving/bulk-pool.ts';
import { sourceRoutes } from '../../src/gateway/transports/source.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { StoredUpload } from '../../src/store/records/records.ts';
import { AccountsFixture, person } from '../support/accounts-fixture.ts';
import { tar, tarEnd, tarHeader, zip } from '../support/archives.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { recordingLogger } from '../support/silent-logger.ts';

/** More than what lies between a zip and a reader that stands still. */
const largeBytes = 16_000_000;
const uploadedAtMs = Date.UTC(2026, 2, 4, 5, 6, 8);

describe("an app's source", () => {
  const root = mkdtempSync(join(tmpdir(), 'gangway-source-'));
  const accounts = new AccountsFixture();
  const noted: string[] = [];
  let refusal: ServiceError | null = null;
  let caller = 'usr_1';
  /** What a download waits for before it is noted. */
  let held: Promise<unknown> = Promise.resolve();
  let bulk: BulkPool;
  let gateway: TestGateway;
  /** Bytes that were taken from the pool. */
  let taken = 0;
  /** The client has what was taken last, as far as the transport knows. */
  let isHeld = false;

  before(async () => {
    bulk = new BulkPool({
      temporaryDir: join(root, 'tmp'),
      logger: recordingLogger(),
      clock: systemClock,
    });
    const routes = sourceRoutes({
      bulk: {
        send: async (request, signal) => counted(await bulk.send(request, signal)),
      },
      uploadsRoot: root,
      reader: accounts.store,
      authenticate: () => person(caller),
      authorize: (_reader, _principal, need) => {
        assert.equal(need, 'configure_apps');
        if (refusal !== null) throw refusal;
      },
      note: (exchange) => {
        noted.push(exchange.param('id'));
        return held;
      },
    });
    gateway = await startGateway(routes);
  });
  after(async () => {
    await gateway.close();
    await bulk.close();
    await accounts.close();
    rmSync(root, { recursive: true, force: true });
  });
  beforeEach(() => {
    refusal = null;
    caller = 'usr_1';
    noted.length = 0;
    taken = 0;
  });

  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      taken += chunk.length;
      isHeld = true;
      yield chunk;
      isHeld = false;
    }
  }

  /** An app with this archive; null: without. Returns the archive's path. */
  const addApp = (id: string, bytes: Uint8Array | null, format: ArchiveFormat = 'zip'): string => {
    const blob = `blob.${format}`;
    const upload = bytes && ({ blob, format, uploadedAtMs } as StoredUpload);
    accounts.addApp(id, 'team_1', { source: 'UPLOAD', upload });
    mkdirSync(join(root, id), { recursive: true });
    if (bytes !== null) writeFileSync(join(root, id, blob), bytes);
    return join(root, id, blob);
  };

  const ask = (id: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const url = `${gateway.url}/api/apps/${id}/source`;
      get(url, { agent: false }, resolve).on('error', reject);
    });

  const whole = async (id: string): Promise<{ status: number; bytes: Buffer; code?: string }> => {
    const answer = await ask(id);
    const bytes = Buffer.concat(await answer.toArray());
    const isProblem = answer.headers['content-type'] === 'application/problem+json';
    const { code } = isProblem ? (JSON.parse(bytes.toString()) as { code: string }) : {};
    return { status: answer.statusCode ?? 0, bytes, ...(code !== undefined && { code }) };
  };

  /** What a zip unpacks to: one line for each path. */
  const unpacked = async (bytes: Buffer): Promise<string[]> => {
    const file = join(root, 'check.zip');
    const dir = join(root, 'check');
    writeFileSync(file, bytes);
    await bulk.extract(file, 'zip', dir);
    const lines = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => {
      const path = join(dir, name);
      const stat = lstatSync(path);
      if (stat.isSymbolicLink()) return `${name} -> ${readlinkSync(path)}`;
      if (stat.isDirectory()) return `${name}/`;
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 8);
      return `${name} ${(stat.mode & 0o777).toString(8)} ${stat.size} ${hash}`;
    });
    return lines.sort();
  };

  const holdsOpen = (file: string): boolean =>
    readdirSync('/proc/self/fd').some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === file;
      } catch {
        return false; // Closed meanwhile.
      }
    });

  it('is a zip of what was uploaded as a tar, with its modes and links', async () => {
    const large = Buffer.concat([randomBytes(700_000), Buffer.alloc(700_000, 'text ')]);
    const archive = tar(
      { name: 'app/', type: '5' },
      { name: 'app/empty/', type: '5' },
      { name: 'app/index.html', data: 'first' },
      { name: 'app/none', data: '' },
      { name: 'app/run.sh', data: '#!/bin/sh\n', mode: 0o755 },
      { name: 'app/large', data: large },
      { name: 'app/größe.txt', data: 'ß' },
      { name: 'app/link', type: '2', linkName: 'run.sh' },
      { name: 'app/empty/hard', type: '1', linkName: 'app/run.sh' },
      { name: 'app/index.html', data: 'second' },
      { name: 'other', data: 'x' },
    );
    const expected = [
      'app/',
      'app/empty/',
      'app/empty/hard -> ../run.sh',
      `app/größe.txt 644 2 ${sha('ß')}`,
      `app/index.html 644 6 ${sha('second')}`,
      `app/large 644 1400000 ${sha(large)}`,
      'app/link -> run.sh',
      `app/none 644 0 ${sha('')}`,
      `app/run.sh 755 10 ${sha('#!/bin/sh\n')}`,
      `other 644 1 ${sha('x')}`,
    ];
    addApp('app_tar', archive, 'tar');
    addApp('app_gz', gzipSync(archive), 'tar.gz');
    for (const id of ['app_tar', 'app_gz']) {
      const { status, bytes } = await whole(id);
      assert.equal(status, 200);
      assert.deepEqual(await unpacked(bytes), expected.sort());
      assert.ok(bytes.length < 800_000, `it is packed: ${bytes.length}`);
    }
    assert.deepEqual(noted, ['app_tar', 'app_gz']);
  });

  it('is the very zip that was uploaded, by the name of the app', async () => {
    const archive = zip([{ name: 'a', data: randomBytes(100_000) }]);
    addApp('app_zip', archive);
    const answer = await ask('app_zip');
    const { headers } = answer;
    assert.equal(headers['content-type'], 'application/zip');
    assert.equal(headers['content-disposition'], 'attachment; filename="app_zip.zip"');
    assert.equal(headers['cache-control'], 'no-store');
    assert.ok(Buffer.concat(await answer.toArray()).equals(archive));
  });

  it('holds as many files as a zip can, and is refused with more before the first byte', async () => {
    const empty = Array.from({ length: 65_535 }, (_, n) => tarHeader({ name: `f${n}` }));
    addApp('app_most', Buffer.concat([...empty, tarEnd]), 'tar');
    const { status, bytes } = await whole('app_most');
    assert.equal(status, 200);
    // The count in the record at the end.
    assert.equal(bytes.readUInt16LE(bytes.length - 12), 65_535);
    addApp('app_more', Buffer.concat([...empty, tarHeader({ name: 'more' }), tarEnd]), 'tar');
    const more = await whole('app_more');
    assert.deepEqual([more.status, more.code], [422, 'SOURCE_TOO_LARGE']);
    assert.deepEqual(noted, ['app_most']);
  });

  it('is refused with a code, and is then not in the activity', async () => {
    addApp('app_none', null);
    addApp('app_bad', gzipSync(tar({ name: 'a', data: 'x' })).subarray(0, 60), 'tar.gz');
    rmSync(addApp('app_gone', tar({ name: 'a', data: 'x' }), 'tar'));
    for (const [id, status, code] of [
      ['app_unknown', 404, 'NOT_FOUND'],
      ['app_none', 404, 'NO_UPLOAD'],
      ['app_bad', 422, 'ARCHIVE_CORRUPT'],
      ['app_gone', 409, 'UPLOAD_IN_PROGRESS'],
    ] as const) {
      const answer = await whole(id);
      assert.deepEqual([answer.status, answer.code], [status, code], id);
    }
    refusal = new ServiceError('FORBIDDEN', 'configure_apps');
    assert.equal((await whole('app_none')).code, 'FORBIDDEN');
    assert.deepEqual(noted, []);
  });

  it('waits for a slow reader, and then goes on to the end', async () => {
    const data = randomBytes(largeBytes);
    const file = addApp('app_slow', tar({ name: 'data', data }), 'tar');
    const answer = await ask('app_slow');
    answer.pause();
    let [last, turns] = [0, 0];
    await eventually('the socket is full', () => {
      turns = isHeld && taken === last ? turns + 1 : 0;
      last = taken;
      return turns > 20;
    });
    assert.ok(taken < largeBytes / 2, `${taken} bytes were taken ahead`);
    assert.ok(holdsOpen(file));
    const bytes = Buffer.concat(await answer.toArray());
    assert.deepEqual(await unpacked(bytes), [`data 644 ${largeBytes} ${sha(data)}`]);
    await eventually('the archive is let go', () => !holdsOpen(file));
  });

  it('ends with its reader, halfway', async () => {
    const file = addApp('app_left', tar({ name: 'data', data: randomBytes(largeBytes) }), 'tar');
    const answer = await ask('app_left');
    await new Promise((resolve) => answer.once('data', resolve));
    assert.ok(holdsOpen(file));
    answer.destroy();
    await eventually('the archive is let go', () => !holdsOpen(file));
    assert.ok(taken < largeBytes);
    assert.ok(!gateway.records.some(({ level }) => level === 'error'));
    // And the pool goes on.
    addApp('app_next', tar({ name: 'a', data: 'x' }), 'tar');
    assert.equal((await whole('app_next')).status, 200);
  });

  it('is left to others by who fetches many at a time', async () => {
    addApp('app_many', tar({ name: 'a', data: 'x' }), 'tar');
    const gate = Promise.withResolvers<undefined>();
    held = gate.promise;
    const flood = Array.from({ length: 32 }, () => whole('app_many'));
    await eventually('all to be under way', () => noted.length === 32);
    const { status, code } = await whole('app_many');
    assert.deepEqual([status, code], [429, 'RATE_LIMITED']);
    caller = 'usr_2';
    flood.push(whole('app_many'));
    await eventually('another person', () => noted.length === 33);
    gate.resolve(undefined);
    for (const one of await Promise.all(flood)) assert.equal(one.status, 200);
    caller = 'usr_1';
    assert.equal((await whole('app_many')).status, 200);
  });

  it('breaks off, and is no whole answer, when the service ends', async () => {
    addApp('app_cut', tar({ name: 'data', data: randomBytes(largeBytes) }), 'tar');
    const answer = await ask('app_cut');
    await new Promise((resolve) => answer.once('data', resolve));
    answer.pause();
    await bulk.close();
    await assert.rejects(answer.toArray(), { code: 'ECONNRESET' });
  });
});

function sha(data: Uint8Array | string): string {
  return createHash('sha256').update(data).digest('hex').slice(0, 8);
}
