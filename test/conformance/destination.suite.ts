/** What every destination of backups does, whatever it keeps them in. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type {
  ByteRange,
  Destination,
  ObjectWriter,
} from '../../src/backups/destinations/destination.ts';
import { testDestination } from '../../src/backups/destinations/probe.ts';

export interface DestinationBench {
  destination: Destination;
  /** Names of all that is there, finished or not. */
  names(): string[] | Promise<string[]>;
  close(): void | Promise<void>;
}

/** Of the bucket in the suite, so that three and a bit are a small object. */
export const suitePartBytes = 64 * 1024;

const never = new AbortController().signal;

export function run(name: string, create: () => Promise<DestinationBench>): void {
  describe(`destination ${name}`, () => {
    let bench: DestinationBench;
    let destination: Destination;
    beforeEach(async () => {
      bench = await create();
      ({ destination } = bench);
    });
    afterEach(() => bench.close());

    const write = async (key: string, bytes: Buffer, chunk = 10_000): Promise<void> => {
      const writer = await destination.open(key, never);
      await writeAll(writer, bytes, chunk);
      await writer.finish();
    };
    const read = async (key: string, range?: ByteRange): Promise<Buffer> => {
      const { stream } = await destination.read(key, range);
      return await buffer(stream);
    };
    const isGone = (key: string): Promise<void> =>
      assert.rejects(destination.read(key), { code: 'ARTIFACT_GONE' });

    for (const [what, bytes] of [
      ['nothing', 0],
      ['a byte', 1],
      ['a whole part', suitePartBytes],
      ['two whole parts', 2 * suitePartBytes],
      ['three parts and a bit', 3 * suitePartBytes + 77],
    ] as const) {
      it(`keeps ${what}`, async () => {
        const written = randomBytes(bytes);
        await write('object.gz', written);
        assert.ok((await read('object.gz')).equals(written));
        assert.equal((await destination.read('object.gz')).bytes, bytes);
        assert.equal((await bench.names()).length, 1);
      });
    }

    it('takes chunks of any size, and no byte of one after its write', async () => {
      const written = randomBytes(2 * suitePartBytes + 5);
      const writer = await destination.open('object', never);
      const lent = Buffer.alloc(suitePartBytes + 3);
      for (let at = 0; at < written.length; at += lent.length) {
        const length = written.copy(lent, 0, at);
        await writer.write(lent.subarray(0, length));
        lent.fill(0);
      }
      await writer.finish();
      assert.ok((await read('object')).equals(written));
    });

    it('reads ranges as HTTP counts them, as far as there is something', async () => {
      const written = randomBytes(1000);
      await write('object', written);
      for (const [start, end, length] of [
        [0, 0, 1],
        [0, 999, 1000],
        [10, 19, 10],
        [990, undefined, 10],
        [990, 5000, 10],
        [1000, undefined, 0],
        [5000, 6000, 0],
      ] as const) {
        const found = await read('object', { start, ...(end !== undefined && { end }) });
        assert.equal(found.length, length, `${String(start)}-${String(end)}`);
        assert.ok(found.equals(written.subarray(start, start + length)));
      }
    });

    it('shows an object when it is whole, and leaves nothing of one that is aborted', async () => {
      const writer = await destination.open('object', never);
      await writeAll(writer, randomBytes(2 * suitePartBytes + 1), 10_000);
      await isGone('object');
      await writer.abort();
      await writer.abort();
      assert.deepEqual(await bench.names(), []);
      const unused = await destination.open('object', never);
      await unused.abort();
      assert.deepEqual(await bench.names(), []);
    });

    it('replaces an object', async () => {
      await write('object', Buffer.from('old'));
      await write('object', Buffer.from('new one'));
      assert.equal((await read('object')).toString(), 'new one');
    });

    it('removes an object, also twice', async () => {
      await write('object', Buffer.from('x'));
      await destination.remove('object');
      await destination.remove('object');
      await isGone('object');
      assert.deepEqual(await bench.names(), []);
    });

    it('ends with the reason of its signal, and leaves nothing', async () => {
      for (const bytes of [10, 2 * suitePartBytes + 1]) {
        const cancel = new AbortController();
        const writer = await destination.open('object', cancel.signal);
        await writeAll(writer, randomBytes(bytes), 10_000);
        const reason = new DOMException('cancelled', 'AbortError');
        cancel.abort(reason);
        await assert.rejects(writer.write(Buffer.from('more')), reason);
        await assert.rejects(writer.finish(), reason);
        assert.deepEqual(await bench.names(), []);
        await assert.rejects(async () => destination.open('other', cancel.signal), reason);
      }
    });

    it('stops reading with the reason of its signal', async () => {
      await write('object', randomBytes(16 * suitePartBytes));
      const cancel = new AbortController();
      const { stream } = await destination.read('object', undefined, cancel.signal);
      const reason = new DOMException('cancelled', 'AbortError');
      const chunks = stream[Symbol.asyncIterator]();
      await chunks.next();
      cancel.abort(reason);
      await assert.rejects(async () => {
        while ((await chunks.next()).done !== true);
      }, reason);
    });

    it('sweeps what a writer left that is gone, and nothing of one that is there', async () => {
      await write('whole', Buffer.from('x'));
      const left = await destination.open('left', never);
      await writeAll(left, randomBytes(2 * suitePartBytes), 10_000);
      const alive = await destination.open('alive', never);
      await writeAll(alive, randomBytes(2 * suitePartBytes), 10_000);
      await destination.sweep((key) => key === 'alive', never);
      await alive.finish();
      const names = (await bench.names()).map((found) => found.replace(/^.*\//, ''));
      assert.deepEqual(names, ['alive', 'whole']);
      await left.abort();
    });

    it('is tested without a trace', async () => {
      await testDestination(destination, never);
      assert.deepEqual(await bench.names(), []);
    });

    for (const key of ['', '.', '..', '../x', 'a/b', '.hidden', 'a\0b', 'x'.repeat(200)]) {
      it(`takes no key ${JSON.stringify(key.slice(0, 20))}`, async () => {
        await assert.rejects(async () => destination.open(key, never), /no key/);
        await assert.rejects(async () => destination.read(key), /no key/);
        await assert.rejects(async () => destination.remove(key), /no key/);
      });
    }
  });
}

export async function writeAll(writer: ObjectWriter, bytes: Buffer, chunk: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += chunk)
    await writer.write(bytes.subarray(at, at + chunk));
}
