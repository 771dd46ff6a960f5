import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../../../src/lib/clock.ts';
import type { ArchiveFormat } from '../../../../src/archives/formats/format.ts';
import type { IncomingFile } from '../../../../src/archives/receiving/bulk-lane.ts';
import { BulkPool } from '../../../../src/archives/receiving/bulk-pool.ts';
import { tar, type TarEntry, zip } from '../../../support/archives.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { needs } from '../../../support/programs.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const logger = recordingLogger();
let root: string;
let pool: BulkPool;

function open(options: Partial<ConstructorParameters<typeof BulkPool>[0]> = {}): BulkPool {
  const temporaryDir = join(root, 'tmp');
  return new BulkPool({ temporaryDir, logger, clock: systemClock, lanes: 1, ...options });
}

/** What lies where uploads go: in the app's folder, and half done. */
const left = (): string[] =>
  ['app', 'tmp'].flatMap((dir) => {
    try {
      return readdirSync(join(root, dir)).map((name) => `${dir}/${name}`);
    } catch {
      // Not made yet.
      return [];
    }
  });

const random = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let i = 0, x = 1; i < length; i++) bytes[i] = (x = (x * 48271) % 2147483647) & 0xff;
  return bytes;
};

const copy = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

interface Sending {
  file: IncomingFile;
  failure: Promise<Error>;
  send: (bytes: Uint8Array, piece?: number) => Promise<void>;
}

async function begin(format: ArchiveFormat, blob: string, on: BulkPool = pool): Promise<Sending> {
  let room = (): void => undefined;
  const failure = Promise.withResolvers<Error>();
  const file = await on.receive({
    ...{ format, blob, dir: join(root, 'app') },
    onRoom: () => room(),
    onFailure: (error) => {
      failure.resolve(error);
      room();
    },
  });
  return {
    file,
    failure: failure.promise,
    send: async (bytes, piece = 100_000) => {
      for (let at = 0; at < bytes.length; at += piece) {
        const more = new Promise<void>((resolve) => (room = resolve));
        if (!file.write(copy(bytes.subarray(at, at + piece)))) await more;
      }
    },
  };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gangway-bulk-'));
  mkdirSync(join(root, 'app'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

describe('BulkPool.receive()', () => {
  beforeEach(() => {
    pool = open();
  });
  afterEach(() => pool.close());

  it('puts a whole archive in its place and says its size and hash', async () => {
    const bytes = gzipSync(tar({ name: 'big', data: random(5_000_000) }));
    const { file, send } = await begin('tar.gz', 'one.tar.gz');
    await send(bytes);
    assert.deepEqual(await file.end(), {
      sizeBytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      entries: 1,
    });
    assert.deepEqual(left(), ['app/one.tar.gz']);
    assert.ok(readFileSync(join(root, 'app', 'one.tar.gz')).equals(bytes));
    assert.equal(statSync(join(root, 'app', 'one.tar.gz')).mode & 0o777, 0o600);
  });

  it('serves many transfers at once on one thread', async () => {
    const transfers = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => ({
        bytes:
          i % 2
            ? tar({ name: `f${i}`, data: random(10_000) })
            : zip([{ name: `f${i}`, data: 'x' }]),
        ...(await begin(i % 2 ? 'tar' : 'zip', `${i}`)),
      })),
    );
    for (let at = 0; at < 12_000; at += 1000) {
      for (const { bytes, file } of transfers) {
        if (at < bytes.length) file.write(copy(bytes.subarray(at, at + 1000)));
      }
    }
    await Promise.all(transfers.map(({ file }) => file.end()));
    assert.equal(left().length, 20);
  });

  it('says stop when the window is full and goes on when there is room', async () => {
    const narrow = open({ windowBytes: 1000 });
    const bytes = tar({ name: 'a', data: random(50_000) });
    const { file, send } = await begin('tar', 'a', narrow);
    assert.equal(file.write(copy(bytes.subarray(0, 1000))), false);
    await send(bytes.subarray(1000), 999);
    assert.equal((await file.end()).sizeBytes, bytes.length);
    await narrow.close();
  });

  it('loses no byte of a sender that cannot stop', async () => {
    const narrow = open({ slots: 2 });
    const bytes = gzipSync(tar({ name: 'a', data: random(6_000_000) }), { level: 0 });
    for (const piece of [700_000, 512 * 1024, 300_001]) {
      const { file } = await begin('tar.gz', String(piece), narrow);
      const took = [];
      for (let at = 0; at < bytes.length; at += piece) {
        took.push(file.write(copy(bytes.subarray(at, at + piece))));
      }
      assert.ok(took.includes(false));
      const { sizeBytes, sha256 } = await file.end();
      assert.equal(sizeBytes, bytes.length);
      assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'));
      assert.ok(readFileSync(join(root, 'app', String(piece))).equals(bytes));
    }
    await narrow.close();
  });

  it('writes a long archive as it is, whatever way its end takes to the disk', async () => {
    const bytes = tar({ name: 'a', data: random(20_000_000) });
    const { file, send } = await begin('tar', 'long');
    // In pieces that begin off the borders of slots, then on them.
    await send(bytes.subarray(0, 100_000), 30_000);
    await send(bytes.subarray(100_000), 512 * 1024);
    const { sha256 } = await file.end();
    assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'));
    assert.ok(readFileSync(join(root, 'app', 'long')).equals(bytes));
  });

  it('gives every slot back, however transfers end', async () => {
    const narrow = open({ slots: 2 });
    const bytes = tar({ name: 'a', data: random(2_000_000) });
    for (let i = 0; i < 10; i++) {
      const { file } = await begin('tar', `gone-${i}`, narrow);
      file.write(copy(bytes.subarray(0, 100 * (i + 1))));
      file.write(copy(bytes));
      await file.abort();
      const bad = await begin('zip', `bad-${i}`, narrow);
      bad.file.write(copy(bytes.subarray(0, 1_000_000)));
      bad.file.write(copy(bytes.subarray(0, 10)));
      await bad.failure;
    }
    assert.deepEqual(left(), []);
    const { file, send } = await begin('tar', 'good', narrow);
    assert.equal(file.write(copy(bytes.subarray(0, 1000))), true, 'there is a slot');
    await send(bytes.subarray(1000));
    await file.end();
    await narrow.close();
  });

  it('fails early with the refusal, and leaves nothing', async () => {
    const { file, send, failure } = await begin('tar', 'bad');
    await send(tar({ name: '../out' }, { name: 'more', data: random(1000) }));
    assert.equal(((await failure) as Error & { code?: string }).code, 'ARCHIVE_UNSAFE_ENTRY');
    assert.equal(file.write(new ArrayBuffer(10)), true);
    await file.abort();
    assert.deepEqual(left(), []);
  });

  it('refuses at the end what only the end shows, and leaves nothing', async () => {
    const bytes = zip([{ name: 'link', data: '../../out', mode: 0o120777 }]);
    const { file, send } = await begin('zip', 'bad');
    await send(bytes, 10);
    await assert.rejects(file.end(), { code: 'ARCHIVE_UNSAFE_ENTRY' });
    const cut = await begin('zip', 'cut');
    await cut.send(bytes.subarray(0, 30));
    await assert.rejects(cut.file.end(), { code: 'ARCHIVE_CORRUPT' });
    const none = await begin('tar', 'none');
    await assert.rejects(none.file.end(), { code: 'ARCHIVE_EMPTY' });
    assert.deepEqual(left(), []);
  });

  it('leaves nothing of a transfer that is aborted, at whatever point', async () => {
    const bytes = tar({ name: 'a', data: random(3_000_000) });
    for (const length of [0, 1, 600, 1_000_000, bytes.length]) {
      const { file, send } = await begin('tar', `${length}`);
      await send(bytes.subarray(0, length));
      await Promise.all([file.abort(), file.abort()]);
      assert.deepEqual(left(), []);
    }
    const ending = await begin('tar', 'ending');
    await ending.send(bytes);
    const end = assert.rejects(ending.file.end(), /aborted/);
    await ending.file.abort();
    await end;
    assert.deepEqual(left(), []);
  });

  it('calls off what is under way when it closes, and refuses more', async () => {
    const { file, send } = await begin('tar', 'a');
    await send(tar({ name: 'a', data: random(100_000) }).subarray(0, 50_000));
    await pool.close();
    await file.abort();
    assert.deepEqual(left(), []);
    await assert.rejects(begin('tar', 'b'), { code: 'SHUTTING_DOWN' });
  });

  it('ends a lane that has nothing to do, and begins another', async () => {
    const clock = new ManualClock();
    const brief = open({ clock, idleMs: 1000 });
    for (const blob of ['one', 'two']) {
      const { file, send } = await begin('tar', blob, brief);
      await send(tar({ name: 'a' }));
      await file.end();
      await clock.advance(1000);
    }
    await brief.close();
    assert.equal(left().length, 2);
  });

  it('fails the transfers of a thread that dies, leaves nothing, and goes on with another', async () => {
    const tasks = new URL('../../../support/dying-bulk-tasks.ts', import.meta.url);
    const mortal = open({ tasks });
    const { file, send, failure } = await begin('tar', 'a', mortal);
    await send(tar({ name: 'a', data: random(100_000) }).subarray(0, 50_000));
    await eventually('the file is there', () => left().length === 1);
    const other = await begin('tar', 'b', mortal);
    await other.send(Buffer.from('die'));
    for (const error of [await failure, await other.failure]) {
      assert.equal((error as Error & { code?: string }).code, 'OVERLOADED');
    }
    await file.abort();
    assert.deepEqual(left(), []);
    const again = await begin('tar', 'c', mortal);
    await again.send(tar({ name: 'a' }));
    await again.file.end();
    await mortal.close();
  });
});

describe('BulkPool.extract()', () => {
  before(() => {
    pool = open();
  });
  after(() => pool.close());
  beforeEach(async () => {
    await pool.close();
    pool = open();
  });

  const link = (name: string, linkName: string): TarEntry => ({ name, type: '2', linkName });
  const extract = (
    bytes: Uint8Array,
    format: ArchiveFormat,
    options = {},
  ): Promise<{ entries: number; bytes: number }> => {
    writeFileSync(join(root, 'app', 'blob'), bytes);
    return pool.extract(join(root, 'app', 'blob'), format, join(root, 'out'), options);
  };
  const out = (...path: string[]): string => join(root, 'out', ...path);

  it('unpacks files, folders, links and modes', async () => {
    const entries = [
      { name: 'run.sh', data: 'echo', mode: 0o4755 },
      { name: 'src/deep/a.txt', data: 'hello', mode: 0o666 },
      { name: 'empty/', type: '5' },
      link('src/l', 'deep/a.txt'),
      { name: 'hard', type: '1', linkName: 'run.sh' },
    ];
    for (const format of ['tar', 'tar.gz'] as const) {
      const bytes = format === 'tar' ? tar(...entries) : gzipSync(tar(...entries));
      const counted = await extract(bytes, format);
      assert.deepEqual(counted, { entries: 7, bytes: 9 });
      assert.equal(readFileSync(out('src', 'l'), 'utf8'), 'hello');
      assert.equal(readlinkSync(out('src', 'l')), 'deep/a.txt');
      assert.equal(statSync(out('run.sh')).mode & 0o7777, 0o755);
      assert.equal(statSync(out('src', 'deep', 'a.txt')).mode & 0o7777, 0o644);
      assert.equal(statSync(out('hard')).ino, statSync(out('run.sh')).ino);
      assert.ok(statSync(out('empty')).isDirectory());
      assert.deepEqual(readdirSync(root).sort(), ['app', 'out']);
    }
  });

  it('unpacks a zip with the modes and links of its directory', async () => {
    const bytes = zip([
      { name: 'run.sh', data: 'echo', mode: 0o100755 },
      { name: 'l', data: 'run.sh', mode: 0o120777 },
      { name: 'd/', mode: 0o040700 },
      { name: 'd/big', data: random(2_000_000), mode: 0o100600, descriptor: 'signed' },
    ]);
    assert.deepEqual(await extract(bytes, 'zip'), { entries: 4, bytes: 2_000_010 });
    assert.equal(readlinkSync(out('l')), 'run.sh');
    assert.equal(statSync(out('run.sh')).mode & 0o777, 0o755);
    assert.equal(statSync(out('d', 'big')).mode & 0o777, 0o644);
    assert.ok(readFileSync(out('d', 'big')).equals(random(2_000_000)));
  });

  it('unpacks an archive of one folder without that folder', async () => {
    await extract(tar({ name: 'app/index.html', data: 'x' }, { name: '__MACOSX/y' }), 'tar');
    assert.deepEqual(readdirSync(root).sort(), ['app', 'out']);
    assert.deepEqual(readdirSync(out()), ['index.html']);
    await extract(tar({ name: 'app/a' }, link('app/l', '../app/a')), 'tar');
    assert.deepEqual(readdirSync(out()), ['app']);
  });

  it('takes the later of two files of one name, without changing what is linked to it', async () => {
    const hard = { name: 'hard', type: '1', linkName: 'a' };
    await extract(tar({ name: 'a', data: 'old' }, hard, { name: 'a', data: 'new' }), 'tar');
    assert.equal(readFileSync(out('a'), 'utf8'), 'new');
    assert.equal(readFileSync(out('hard'), 'utf8'), 'old');
  });

  it('replaces what was there and keeps the mode of the folder', async () => {
    mkdirSync(out('old'), { recursive: true, mode: 0o700 });
    mkdirSync(join(root, 'out.partial', 'rest'), { recursive: true });
    await extract(tar({ name: 'a' }, { name: 'b' }), 'tar');
    assert.deepEqual(readdirSync(out()).sort(), ['a', 'b']);
    assert.equal(statSync(out()).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(root).sort(), ['app', 'out']);
  });

  it('makes all checks again and leaves nothing of what it refuses', async () => {
    const good = { name: 'good', data: 'x' };
    for (const [bytes, format, code] of [
      [tar(good, link('l', '../../x')), 'tar', 'ARCHIVE_UNSAFE_ENTRY'],
      [tar(good, link('l', 'd'), { name: 'l/x' }), 'tar', 'ARCHIVE_UNSAFE_ENTRY'],
      [tar(good).subarray(0, 700), 'tar', 'ARCHIVE_CORRUPT'],
      [
        zip([good, { name: 'l', data: '/etc/passwd', mode: 0o120777 }]),
        'zip',
        'ARCHIVE_UNSAFE_ENTRY',
      ],
      [gzipSync('no tar'), 'tar.gz', 'ARCHIVE_CORRUPT'],
    ] as const) {
      await assert.rejects(extract(bytes, format), { code });
      assert.deepEqual(readdirSync(root), ['app']);
    }
  });

  it('ends when it is canceled and leaves nothing', async () => {
    const many = Array.from({ length: 30_000 }, (_, i) => ({ name: `d${i % 100}/${i}` }));
    const canceling = new AbortController();
    const extracting = extract(tar(...many), 'tar', { signal: canceling.signal });
    const rejected = assert.rejects(extracting, /enough/);
    await eventually('it has begun', () => readdirSync(root).includes('out.partial'));
    canceling.abort(new Error('enough'));
    await rejected;
    assert.deepEqual(readdirSync(root), ['app']);
    await assert.rejects(
      extract(tar({ name: 'a' }), 'tar', { signal: canceling.signal }),
      /enough/,
    );
  });

  it(
    'hands everything over to the uid, the links themselves too',
    { skip: needs('root') },
    async () => {
      await extract(tar({ name: 'd/a', data: 'x' }, link('l', 'd/a')), 'tar', { uid: 54_321 });
      for (const path of ['', 'd', 'd/a', 'l']) assert.equal(lstatSync(out(path)).uid, 54_321);
      assert.equal(statSync(out()).mode & 0o777, 0o700);
    },
  );
});
