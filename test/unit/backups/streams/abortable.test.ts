import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { abortable } from '../../../../src/backups/streams/abortable.ts';
import { inPieces, joined, rows } from '../../../support/byte-streams.ts';

const stopped = new Error('stopped');

describe('abortable()', () => {
  it('passes all chunks on', async () => {
    const bytes = rows(1_000);
    const { signal } = new AbortController();
    assert.ok((await joined(abortable(inPieces(bytes, 100), signal))).equals(bytes));
  });

  it('ends at once while its source hangs, and tells the source to end', async () => {
    const controller = new AbortController();
    const told = Promise.withResolvers<string>();
    const hanging: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => undefined),
        return: () => {
          told.resolve('told');
          return new Promise<never>(() => undefined);
        },
      }),
    };
    const reading = joined(abortable(hanging, controller.signal));
    controller.abort(stopped);
    await assert.rejects(reading, stopped);
    assert.equal(await told.promise, 'told');
  });

  it('keeps nothing of the chunks that passed', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const [chunk, count] = [new Uint8Array(1), 200_000];
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < count; i++) {
        await Promise.resolve();
        yield chunk;
      }
    }
    const { signal } = new AbortController();
    let passed = 0;
    let before = 0;
    for await (const { length } of abortable(source(), signal)) {
      passed += length;
      if (passed !== count / 2 && passed !== count) continue;
      collect();
      const { heapUsed } = process.memoryUsage();
      if (passed === count) assert.ok(heapUsed - before < 4e6, String(heapUsed - before));
      before = heapUsed;
    }
    assert.equal(passed, count);
  });

  it('reads nothing when it is aborted before', async () => {
    let isRead = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      isRead = true;
      yield* inPieces(rows(10), 10);
    }
    await assert.rejects(joined(abortable(source(), AbortSignal.abort(stopped))), stopped);
    assert.equal(isRead, false);
  });
});
