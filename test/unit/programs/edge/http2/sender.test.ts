import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { pingFrame } from '../../../../../src/programs/edge/http2/frames.ts';
import { SendStream } from '../../../../../src/programs/edge/http2/send-stream.ts';
import { Sender } from '../../../../../src/programs/edge/http2/sender.ts';
import { settle } from '../../../../support/manual-clock.ts';

interface Seen {
  type: number;
  flags: number;
  stream: number;
  length: number;
}

/** A socket whose other side takes a write when it is let. */
class Client extends Writable {
  readonly writes: Seen[][] = [];
  #taken: (() => void) | undefined;
  takes = true;

  constructor() {
    super({ decodeStrings: true, highWaterMark: 64 * 1024 });
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    const seen: Seen[] = [];
    for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
      const stream = bytes.readUInt32BE(at + 5);
      seen.push({ type, flags, stream, length: bytes.readUIntBE(at, 3) });
    }
    this.writes.push(seen);
    if (this.takes) done();
    else this.#taken = done;
  }

  take(): void {
    this.takes = true;
    this.#taken?.();
  }

  get streams(): number[] {
    return this.writes.flat().map(({ stream }) => stream);
  }
}

describe('Sender', () => {
  let client: Client;
  let sender: Sender;
  let overwhelmed: number;
  let sent: number[];
  /** What its session is told to hold. */
  let held: number;
  beforeEach(() => {
    client = new Client();
    overwhelmed = 0;
    sent = [];
    held = 0;
    const share = {
      isTight: false,
      add: (bytes: number) => (held += bytes),
      close: () => undefined,
    };
    sender = new Sender(client as unknown as TLSSocket, share, () => overwhelmed++);
  });
  afterEach(() => client.destroy());
  const answer = (id: number, bytes: number, window = 1_000_000): SendStream => {
    const stream = new SendStream(id, window, () => sent.push(id));
    stream.head('\x88');
    if (bytes > 0) stream.data('x'.repeat(bytes));
    stream.end('');
    sender.ready(stream);
    return stream;
  };

  it('writes all of a turn at once, with no frame that is empty', async () => {
    answer(1, 5);
    sender.control(pingFrame('12345678', 1));
    answer(3, 0);
    await settle();
    const [only, ...others] = client.writes;
    assert.deepEqual(others, []);
    assert.deepEqual(only, [
      { type: 6, flags: 1, stream: 0, length: 8 },
      { type: 1, flags: 4, stream: 1, length: 1 },
      { type: 0, flags: 1, stream: 1, length: 5 },
      { type: 1, flags: 5, stream: 3, length: 1 },
    ]);
    assert.deepEqual(sent, [1, 3]);
    assert.equal(sender.held, 0);
  });

  it('has streams send by rounds, a frame of data each', async () => {
    answer(1, 40_000);
    answer(3, 20_000);
    answer(5, 5);
    await settle();
    assert.deepEqual(client.streams, [1, 1, 3, 3, 5, 5, 1, 3, 1]);
    const ends = client.writes.flat().filter(({ type, flags }) => type === 0 && flags === 1);
    assert.deepEqual(
      ends.map(({ stream }) => stream),
      [5, 3, 1],
    );
  });

  it('sends as much as the window of a stream lets it, and others meanwhile', async () => {
    const held = answer(1, 100, 30);
    answer(3, 10);
    await settle();
    assert.deepEqual(
      client.writes.flat().map(({ length }) => length),
      [1, 30, 1, 10],
    );
    assert.ok(held.widen(100));
    sender.ready(held);
    await settle();
    assert.deepEqual(client.writes.at(-1), [{ type: 0, flags: 1, stream: 1, length: 70 }]);
  });

  it('sends heads, but no data, while the window of the connection is used up', async () => {
    answer(1, 65_535 + 10);
    await settle();
    const before = client.writes.length;
    answer(3, 5);
    answer(5, 0);
    await settle();
    assert.deepEqual(client.writes.slice(before).flat(), [
      { type: 1, flags: 4, stream: 3, length: 1 },
      { type: 1, flags: 5, stream: 5, length: 1 },
    ]);
    assert.ok(sender.widen(12));
    await settle();
    assert.deepEqual(client.writes.at(-1), [
      { type: 0, flags: 1, stream: 1, length: 10 },
      { type: 0, flags: 0, stream: 3, length: 2 },
    ]);
    assert.equal(sender.widen(2 ** 31 - 1), true);
    assert.equal(sender.widen(2 ** 31 - 1), false);
  });

  it('has streams wait while the client takes nothing', async () => {
    assert.ok(sender.widen(1_000_000));
    client.takes = false;
    answer(1, 500_000);
    await settle();
    const waiting = sender.held;
    assert.ok(waiting > 300_000);
    answer(3, 5);
    await settle();
    assert.ok(!client.streams.includes(3));
    client.take();
    await settle();
    assert.equal(sender.held, 0);
    assert.ok(client.streams.includes(3));
  });

  it('says so when a client that takes nothing asks for more than is kept', async () => {
    client.takes = false;
    assert.ok(sender.widen(1_000_000));
    answer(1, 200_000);
    await settle();
    for (let at = 0; at < 4000; at++) sender.control(pingFrame('12345678', 1));
    assert.equal(overwhelmed > 0, true);
  });

  it('drops what a stream that was ended had to send', async () => {
    const stream = answer(1, 5);
    sender.forget(stream);
    await settle();
    assert.deepEqual([client.writes, sender.held], [[], 0]);
  });

  it('sends the last frames at once, and nothing behind them', async () => {
    answer(1, 5);
    sender.last(pingFrame('12345678', 0));
    answer(3, 5);
    await settle();
    assert.deepEqual(client.streams, [0]);
    assert.equal(client.writableEnded, true);
  });
});
