import assert from 'node:assert/strict';
import type { Http2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';

import { HeldBytes } from '../../../src/agents/held-bytes.ts';

const mebibyte = 1024 * 1024;

class Stream extends Readable {
  override _read(): void {
    // What comes is pushed.
  }

  close(): void {
    this.emit('closing');
  }
}

function streams(held: HeldBytes, count: number): Stream[] {
  return Array.from({ length: count }, () => {
    const stream = new Stream();
    held.watch(stream as unknown as Http2Stream);
    return stream;
  });
}

describe('what visitors leave unread', () => {
  it('is kept below the bound, and given up where nothing was taken for longest', () => {
    const [a, b, c, idle] = streams(new HeldBytes(5 * mebibyte), 4) as [
      Stream,
      Stream,
      Stream,
      Stream,
    ];
    idle.push('some');
    for (const stream of [a, b]) stream.push(Buffer.alloc(2 * mebibyte));
    assert.deepEqual([a.destroyed, b.destroyed], [false, false]);
    // A slow one goes on, and the other stands still.
    a.read(1024);
    c.push(Buffer.alloc(2 * mebibyte));
    assert.deepEqual(
      [a, b, c, idle].map(({ destroyed }) => destroyed),
      [false, true, false, false],
    );
  });

  it('is no less than what the bound allows, however many come and go', () => {
    const held = new HeldBytes(4 * mebibyte);
    for (let i = 0; i < 20; i++) {
      const [stream] = streams(held, 1) as [Stream];
      stream.push(Buffer.alloc(3 * mebibyte));
      assert.equal(stream.destroyed, false);
      stream.read();
      stream.destroy();
      stream.emit('close');
    }
  });
});
