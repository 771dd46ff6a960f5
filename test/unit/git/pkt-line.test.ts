import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  flushPacket,
  MalformedPackets,
  packet,
  packetMaxBytes,
  packetsIn,
} from '../../../src/git/pkt-line.ts';

async function read(chunks: readonly Uint8Array[]): Promise<string[]> {
  const found: string[] = [];
  const source = async function* () {
    yield* chunks;
  };
  for await (const one of packetsIn(source())) {
    found.push(one.kind === 'data' ? one.bytes.toString('latin1') : one.kind);
  }
  return found;
}

describe('packetsIn()', () => {
  it('gives back what was sent, however it was split', async () => {
    const texts = fc.array(fc.string({ maxLength: 300 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 50 }), async (sent, step) => {
        const bytes = Buffer.concat([...sent.map((text) => packet(text)), Buffer.from('00000001')]);
        const chunks: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += step) chunks.push(bytes.subarray(at, at + step));
        const expected = sent.map((text) => Buffer.from(text).toString('latin1'));
        assert.deepEqual(await read(chunks), [...expected, 'flush', 'delimiter']);
      }),
    );
  });

  it('refuses what is no packet', async () => {
    for (const text of ['zzzz', '0003', 'fff1', '00', '0009abc', '-001', ' 005a']) {
      await assert.rejects(read([Buffer.from(text)]), MalformedPackets, text);
    }
    assert.deepEqual(await read([Buffer.from(`0004${flushPacket}`)]), ['', 'flush']);
  });

  it('takes packets of the greatest length, and sends none above it', async () => {
    const most = 'x'.repeat(packetMaxBytes - 4);
    assert.deepEqual(await read([packet(most)]), [most]);
    assert.throws(() => packet(`${most}x`), RangeError);
  });
});
