import assert from 'node:assert/strict';
import type { Http2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';

import { orderGuard } from '../../../src/lib/http2-order.ts';

function session() {
  let torn = 0;
  const guard = orderGuard(() => (torn += 1));
  const stream = (): { readable: Readable; text: () => string } => {
    const readable = new Readable({ read: () => undefined });
    guard(readable as unknown as Http2Stream);
    return { readable, text: () => String(readable.read() ?? '') };
  };
  return { stream, torn: () => torn };
}

describe('the order of what a session reads', () => {
  it('hands out what comes next, of the same buffer or of another, for any stream', () => {
    const { stream, torn } = session();
    const [one, other] = [stream(), stream()];
    const [first, second] = [Buffer.from('0123456789'), Buffer.from('abcdefghij')];
    one.readable.push(first.subarray(0, 4));
    other.readable.push(first.subarray(4, 6));
    one.readable.push(first.subarray(7));
    one.readable.push(second.subarray(0, 2));
    assert.deepEqual([one.text(), other.text(), torn()], ['0123789ab', '45', 0]);
  });

  it('says once that a part comes again, whichever stream it is for, and hands out nothing more', async () => {
    const { stream, torn } = session();
    const [one, other] = [stream(), stream()];
    const bytes = Buffer.from('0123456789');
    one.readable.push(bytes.subarray(0, 8));
    assert.equal(other.readable.push(bytes.subarray(6, 9)), false);
    one.readable.push(bytes.subarray(9));
    one.readable.push(Buffer.from('another'));
    one.readable.push(null);
    assert.deepEqual([one.text(), other.text(), torn()], ['01234567', '', 1]);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(one.readable.readableEnded, false);
  });
});
