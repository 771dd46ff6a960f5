import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { blockBytes, primerMax } from '../../../../src/backups/streams/gzip-block.ts';
import { GzipPool, type GzipPoolOptions } from '../../../../src/backups/streams/gzip-pool.ts';
import { gzipped } from '../../../../src/backups/streams/gzipped.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { inPieces, joined, noise, rows } from '../../../support/byte-streams.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { needs } from '../../../support/programs.ts';

const lost: unknown[] = [];
const dyingTask = new URL('../../../support/dying-gzip-task.ts', import.meta.url);
const pools: GzipPool[] = [];

function open(options: Partial<GzipPoolOptions> = {}): GzipPool {
  const pool = new GzipPool({
    ...{ clock: systemClock, threads: 2, lost: (cause: unknown) => lost.push(cause) },
    ...options,
  });
  pools.push(pool);
  return pool;
}

after(() => Promise.all(pools.map((pool) => pool.close())));

/** Blocks without an end, and how many of them were taken and whether it was let go. */
function endless(): { source: AsyncGenerator<Uint8Array>; taken: number; over: boolean } {
  const state = { source: blocks(), taken: 0, over: false };
  async function* blocks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        await Promise.resolve();
        state.taken++;
        yield new Uint8Array(blockBytes);
      }
    } finally {
      state.over = true;
    }
  }
  return state;
}

describe('gzipped()', () => {
  const pool = open();
  const sizes = [0, 1, primerMax, blockBytes - 1, blockBytes, blockBytes + 1, 5 * blockBytes + 7];
  const contents: [string, (length: number) => Buffer][] = [
    ['rows', rows],
    ['noise', noise],
    ['zeros', (length) => Buffer.alloc(length)],
  ];
  for (const [name, content] of contents) {
    for (const size of sizes) {
      it(`gives back ${size} bytes of ${name}`, async () => {
        const bytes = content(size);
        const packed = await joined(gzipped(inPieces(bytes, 65_536), pool));
        assert.ok(gunzipSync(packed).equals(bytes));
      });
    }
  }

  it('gives the same bytes however the source is cut', async () => {
    const bytes = rows(blockBytes + 5_000);
    const whole = await joined(gzipped(inPieces(bytes, bytes.length), pool));
    for (const size of [1_000, 99_999, blockBytes]) {
      const cut = await joined(gzipped(inPieces(bytes, size), pool));
      assert.ok(cut.equals(whole), `pieces of ${size}`);
    }
  });

  it('makes one member that gunzip reads', { skip: needs('gzip') }, async () => {
    const bytes = Buffer.concat([rows(3 * blockBytes), noise(100_000), rows(100_000)]);
    const packed = await joined(gzipped(inPieces(bytes, 65_536), pool));
    const { stdout, stderr, status } = spawnSync('gzip', ['-dc'], {
      input: packed,
      maxBuffer: 2 ** 26,
    });
    assert.deepEqual({ said: stderr.toString(), status }, { said: '', status: 0 });
    assert.ok(stdout.equals(bytes));
    // Of several members the end would hold the length of the last one alone.
    assert.equal(packed.readUInt32LE(packed.length - 4), bytes.length);
  });

  it('is hardly larger than what is compressed in one piece', async () => {
    const bytes = rows(8 * blockBytes);
    const packed = await joined(gzipped(inPieces(bytes, 65_536), pool));
    const whole = gzipSync(bytes, { level: 6 }).length;
    assert.ok(packed.length < whole * 1.002, `${packed.length} against ${whole}`);
  });

  it('stores what cannot be compressed', async () => {
    const bytes = noise(4 * blockBytes);
    const packed = await joined(gzipped(inPieces(bytes, 65_536), pool));
    assert.ok(packed.length < bytes.length * 1.0002, `${packed.length}`);
  });

  it('reads no further than its blocks while nothing is taken', async () => {
    const state = endless();
    const stream = gzipped(state.source, pool);
    await stream.next();
    await stream.next();
    assert.ok(state.taken <= pool.blocksAhead + 1, `${state.taken}`);
    await stream.return(undefined);
    assert.ok(state.over, 'the source was let go');
  });

  it('serves a short stream among the blocks of a long one', async () => {
    const single = open({ threads: 1 });
    const state = endless();
    const long = gzipped(state.source, single);
    await long.next();
    await long.next();
    await joined(gzipped(inPieces(rows(blockBytes), blockBytes), single));
    assert.ok(state.taken <= single.blocksAhead + 1, 'the long one had not moved');
    assert.equal((await long.next()).done, false);
    await long.return(undefined);
  });

  it('fails with what the source fails with', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* inPieces(rows(2 * blockBytes), 65_536);
      throw new Error('the dump broke off');
    }
    await assert.rejects(joined(gzipped(failing(), pool)), { message: 'the dump broke off' });
  });

  it('takes no memory a second time', async () => {
    async function* twice(): AsyncGenerator<Uint8Array> {
      await Promise.resolve();
      const bytes = new Uint8Array(65_536);
      yield bytes;
      yield bytes;
    }
    await assert.rejects(joined(gzipped(twice(), pool)), /handed out before/);
  });
});

describe('a pool whose thread dies', () => {
  it('fails the streams it served, and serves the next', async () => {
    const pool = open({ task: dyingTask });
    async function* deadly(): AsyncGenerator<Uint8Array> {
      yield* inPieces(rows(blockBytes), 65_536);
      const bytes = rows(blockBytes);
      bytes.write('die');
      yield* inPieces(bytes, 65_536);
      yield* inPieces(rows(9 * blockBytes), 65_536);
    }
    await assert.rejects(joined(gzipped(deadly(), pool)), { code: 'OVERLOADED' });
    assert.equal(lost.length, 1);
    const bytes = rows(3 * blockBytes);
    const packed = await joined(gzipped(inPieces(bytes, 65_536), pool));
    assert.ok(gunzipSync(packed).equals(bytes));
  });
});

describe('a pool at rest', () => {
  const skip = process.platform !== 'linux' && 'needs /proc';
  it('ends its threads, and starts others for the next block', { skip }, async () => {
    const clock = new ManualClock();
    const pool = open({ clock });
    const bytes = rows(3 * blockBytes);
    const threads = (): number => readdirSync('/proc/self/task').length;
    await joined(gzipped(inPieces(bytes, 65_536), pool));
    const busy = threads();
    await clock.advance(60_000);
    await eventually('the threads end', () => threads() < busy);
    const packed = await joined(gzipped(inPieces(bytes, 65_536), pool));
    assert.ok(gunzipSync(packed).equals(bytes));
  });
});

describe('GzipPool.close()', () => {
  it('fails what is under way and what comes', async () => {
    const pool = open();
    const stream = gzipped(endless().source, pool);
    await stream.next();
    await stream.next();
    await pool.close();
    await pool.close();
    await assert.rejects(joined(stream), { code: 'SHUTTING_DOWN' });
    await assert.rejects(joined(gzipped(inPieces(rows(9), 9), pool)), { code: 'SHUTTING_DOWN' });
  });
});
