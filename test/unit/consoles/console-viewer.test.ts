import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { ConsoleViewer } from '../../../src/consoles/console-viewer.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemorySink } from '../../support/memory-sink.ts';

const kib = 1024;
const exitFrame = Buffer.from('event: exit\ndata: ""\n\n');

describe('ConsoleViewer', () => {
  let clock: ManualClock;
  let sink: MemorySink;
  let rooms: number;
  let done: number;
  let viewer: ConsoleViewer;

  beforeEach(() => {
    clock = new ManualClock();
    sink = new MemorySink();
    rooms = 0;
    done = 0;
    viewer = new ConsoleViewer({
      sink,
      clock,
      frameBytes: 64 * kib,
      flushMs: 50,
      pingMs: 15_000,
      onRoom: () => rooms++,
      onPing: () => undefined,
      onDone: () => done++,
    });
  });

  it('begins with the session, what was shown last, and where that ends', () => {
    viewer.begin('str_1', Buffer.from('before'));
    assert.deepEqual(sink.kinds, ['session', 'data']);
    assert.deepEqual(sink.comments, ['live']);
    assert.equal(sink.text, 'before');
    viewer.push(Buffer.from('.'));
    assert.equal(sink.lastId, 'str_1');
  });

  it('sends what is little at once, each by itself', () => {
    viewer.begin('str_1', Buffer.alloc(0));
    for (let i = 0; i < 30; i++) viewer.push(Buffer.from(`${String(i)} `));
    assert.equal(sink.events.length, 31);
  });

  it('sends a flood as one frame a flush, of 64 KiB at most, and loses nothing', async () => {
    const line = 'x'.repeat(4 * kib);
    for (let i = 0; i < 25; i++) viewer.push(Buffer.from(line));
    const early = sink.events.length;
    for (let flush = 0; flush < 4; flush++) {
      const before = sink.events.length;
      await clock.advance(50);
      assert.ok(sink.events.length - before <= 1);
    }
    assert.ok(early <= 6, String(early));
    assert.equal(sink.text.length, 25 * 4 * kib);
    assert.ok(sink.chunks.every(({ length }) => length <= 64 * kib));
  });

  it('keeps a frame below its bound also where escapes make it long', async () => {
    viewer.push(Buffer.from('\u001b'.repeat(60 * kib)));
    for (let i = 0; i < 20; i++) await clock.advance(50);
    assert.equal(sink.text, '\u001b'.repeat(60 * kib));
    assert.ok(sink.chunks.every(({ length }) => length <= 64 * kib));
  });

  it('cuts no character, wherever bytes and frames are cut', async () => {
    const text = 'é€😀'.repeat(20_000);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 1_001) viewer.push(bytes.subarray(at, at + 1_001));
    for (let i = 0; i < 20; i++) await clock.advance(50);
    assert.equal(sink.text, text);
  });

  it('shows what is no UTF-8 as such, also at the very end', () => {
    viewer.push(Buffer.from([0x61, 0xff, 0x62]));
    viewer.push(Buffer.from([0xe2, 0x82]));
    viewer.finish(exitFrame);
    assert.equal(sink.text, 'a\ufffdb\ufffd');
    assert.deepEqual(sink.kinds.at(-1), 'exit');
    assert.ok(sink.ended);
  });

  it('is full when its client does not read', () => {
    sink.room = 1;
    viewer.push(Buffer.alloc(1, 'a'));
    assert.equal(viewer.full, false);
    for (let i = 0; i < 40; i++) viewer.push(Buffer.alloc(4 * kib, 'b'));
    assert.equal(viewer.full, true);
    assert.equal(sink.text, 'a');
    assert.equal(rooms, 0);
  });

  it('tells of room once it caught up', async () => {
    sink.room = 1;
    for (let i = 0; i < 40; i++) viewer.push(Buffer.alloc(4 * kib, 'b'));
    sink.drain();
    for (let i = 0; i < 5; i++) await clock.advance(50);
    assert.equal(rooms, 1);
    assert.equal(sink.text.length, 160 * kib);
  });

  it('skips to what is newest for who cannot wait', () => {
    sink.room = 1;
    for (let i = 0; i < 40; i++) viewer.push(Buffer.alloc(4 * kib, 'b'));
    viewer.skip();
    assert.equal(viewer.full, false);
    viewer.push(Buffer.from('newest'));
    sink.drain();
    assert.equal(sink.text, `${'b'.repeat(4 * kib)}newest`);
  });

  it('ends behind all that was put out, at the pace of its client', async () => {
    sink.room = 1;
    for (let i = 0; i < 30; i++) viewer.push(Buffer.alloc(4 * kib, 'c'));
    viewer.finish(exitFrame);
    assert.equal(sink.ended, false);
    assert.equal(done, 0);
    sink.drain();
    for (let i = 0; i < 5; i++) await clock.advance(50);
    assert.equal(sink.text.length, 120 * kib);
    assert.equal(sink.kinds.at(-1), 'exit');
    assert.ok(sink.ended);
    assert.equal(done, 1);
  });

  it('pings, but not into a full socket', async () => {
    await clock.advance(31_000);
    assert.deepEqual(sink.comments, ['ping', 'ping']);
    sink.room = 1;
    viewer.push(Buffer.from('x'));
    await clock.advance(31_000);
    assert.equal(sink.comments.length, 2);
  });

  it('writes nothing once its client has left', async () => {
    viewer.left();
    viewer.push(Buffer.from('x'));
    viewer.finish(exitFrame);
    await clock.advance(60_000);
    assert.equal(sink.chunks.length, 0);
  });
});
