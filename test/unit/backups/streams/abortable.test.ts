import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
