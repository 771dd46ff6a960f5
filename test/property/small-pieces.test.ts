import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { lumpedPush } from '../../src/lib/small-pieces.ts';
import { settle } from '../support/manual-clock.ts';

type Step = { push: number } | { read: number } | 'pause' | 'resume' | 'settle';

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      arbitrary: fc.record({ push: fc.oneof(fc.nat(20), fc.nat(9_000), fc.constant(8_192)) }),
      weight: 6,
    },
    fc.record({ read: fc.oneof(fc.nat(30), fc.nat(20_000)) }),
    fc.constantFrom('pause' as const, 'resume' as const, 'settle' as const),
  ),
  { maxLength: 60, size: 'max' },
);

describe('small pieces of a stream', () => {
  it('come whole and in order, however they are pushed and read', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (all, isHeard) => {
        const readable = new Readable({ read: () => undefined, highWaterMark: 10_000 });
        const push = lumpedPush(readable);
        const [sent, got]: [Buffer[], Buffer[]] = [[], []];
        const take = (chunk: Buffer): void => void got.push(Buffer.from(chunk));
        if (isHeard) readable.on('data', take);
        let pushed = 0;
        for (const step of all) {
          if (step === 'settle') await settle();
          else if (step === 'pause') readable.pause();
          else if (step === 'resume') {
            if (isHeard) readable.resume();
          } else if ('push' in step) {
            const bytes = Buffer.from(Array.from({ length: step.push }, () => pushed++));
            sent.push(Buffer.from(bytes));
            const hasRoom = push(bytes);
            assert.equal(hasRoom, readable.readableLength < readable.readableHighWaterMark);
            // Its memory is used again.
            if (bytes.length < 8_192 && readable.readableLength > bytes.length) bytes.fill(0);
          } else {
            const bytes = readable.read(step.read) as Buffer | null;
            if (bytes !== null && !isHeard) take(bytes);
          }
        }
        push(null);
        if (!isHeard) readable.on('data', take);
        readable.resume();
        await new Promise((resolve) => readable.once('end', resolve));
        assert.deepEqual(Buffer.concat(got), Buffer.concat(sent));
      }),
      { numRuns: 300 },
    );
  });

  it('are few as they wait, and go on to be asked for', async () => {
    let asked = 0;
    const readable = new Readable({ read: () => (asked += 1), highWaterMark: 64 * 1024 });
    const push = lumpedPush(readable);
    readable.pause();
    for (let i = 0; i < 100_000; i++) push(Buffer.of(i));
    assert.equal(readable.readableLength, 100_000);
    await settle();
    let [pieces, bytes] = [0, 0];
    readable.on('data', (chunk: Buffer) => {
      pieces += 1;
      bytes += chunk.length;
    });
    const before = asked;
    readable.resume();
    await settle();
    assert.equal(bytes, 100_000);
    assert.ok(pieces < 20, `${String(pieces)} pieces`);
    assert.ok(asked > before, 'nothing more is asked for');
    readable.destroy();
  });
});
