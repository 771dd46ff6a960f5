import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { gunzipped } from '../../../../src/backups/streams/gunzipped.ts';
import { inPieces, joined, noise, rows } from '../../../support/byte-streams.ts';

const whole = Buffer.concat([rows(300_000), noise(100_000)]);
const packed = gzipSync(whole);
const cuts = [1_000, 65_536, 1_000_000];

function damaged(at: number): Buffer {
  const bytes = Buffer.from(packed);
  bytes[at < 0 ? bytes.length + at : at]! ^= 0x10;
  return bytes;
}

describe('gunzipped()', () => {
  const accepted: [string, Buffer, Buffer][] = [
    ['one member', packed, whole],
    ['a member of nothing', gzipSync(''), Buffer.alloc(0)],
    [
      'several members',
      Buffer.concat([packed, gzipSync(''), packed]),
      Buffer.concat([whole, whole]),
    ],
    [
      'many members',
      Buffer.concat(Array<Buffer>(300).fill(gzipSync('row '))),
      Buffer.from('row '.repeat(300)),
    ],
  ];
  for (const [title, bytes, expected] of accepted) {
    it(`reads ${title}`, async () => {
      for (const cut of cuts) {
        assert.ok(
          (await joined(gunzipped(inPieces(bytes, cut)))).equals(expected),
          `cut at ${cut}`,
        );
      }
    });
  }

  it('reads members that are cut anywhere', async () => {
    const bytes = Buffer.concat([gzipSync('one, '), gzipSync('two')]);
    for (let cut = 1; cut < bytes.length; cut++) {
      const read = await joined(gunzipped(inPieces(bytes, cut)));
      assert.equal(read.toString(), 'one, two', `cut at ${cut}`);
    }
  });

  const refused: [string, Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['what is no gzip', whole],
    ['half a header', packed.subarray(0, 5)],
    ['data that is cut off', packed.subarray(0, -20)],
    ['data that is cut off where a piece ends', packed.subarray(0, 65_536)],
    ['a trailer that is cut off', packed.subarray(0, -1)],
    ['a missing trailer', packed.subarray(0, -8)],
    ['a flipped bit in the data', damaged(packed.length >> 1)],
    ['a flipped bit in the CRC', damaged(-8)],
    ['a flipped bit in the length', damaged(-4)],
    ['text behind it', Buffer.concat([packed, Buffer.from('garbage')])],
    ['one byte behind it', Buffer.concat([packed, Buffer.from('x')])],
    ['zeros behind it', Buffer.concat([packed, Buffer.alloc(100_000)])],
    ['half a member behind it', Buffer.concat([packed, packed.subarray(0, 5)])],
    ['a damaged member behind it', Buffer.concat([packed, damaged(-8)])],
  ];
  for (const [title, bytes] of refused) {
    it(`refuses ${title}`, async () => {
      for (const cut of cuts) {
        await assert.rejects(
          joined(gunzipped(inPieces(bytes, cut))),
          { name: 'ServiceError', code: 'ARTIFACT_CORRUPT' },
          `cut at ${cut}`,
        );
      }
    });
  }

  it('makes no more of a bomb than is taken', async () => {
    const bomb = Buffer.concat(Array<Buffer>(64).fill(gzipSync(Buffer.alloc(2 ** 22))));
    let taken = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      for await (const piece of inPieces(bomb, 1_000)) {
        taken += piece.length;
        yield piece;
      }
    }
    const stream = gunzipped(source());
    const first = await stream.next();
    assert.ok(first.done === false && first.value.length <= 256 * 1024);
    assert.ok(taken < bomb.length, 'it read on');
    await stream.return(undefined);
  });

  it('fails with what the source fails with, and lets go of a source that it does not read to its end', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* inPieces(packed.subarray(0, 1_000), 100);
      throw new Error('the disk broke');
    }
    await assert.rejects(joined(gunzipped(failing())), { message: 'the disk broke' });

    const over = Promise.withResolvers<undefined>();
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield* inPieces(gzipSync(rows(100_000)), 1_000);
      } finally {
        over.resolve(undefined);
      }
    }
    const stream = gunzipped(endless());
    await stream.next();
    await stream.return(undefined);
    await over.promise;
  });
});
