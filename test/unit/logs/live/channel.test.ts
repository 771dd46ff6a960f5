import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LogChannel } from '../../../../src/logs/live/channel.ts';
import type { LogLine } from '../../../../src/logs/files/log.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const flushMs = 50;

function line(offset: number): LogLine {
  return { offset, atMs: 0, stream: 'stdout', bytes: Buffer.from('a line\n') };
}

function make() {
  const clock = new ManualClock();
  const channel = new LogChannel({
    log: 'app:app_one',
    reader: {
      range: () => undefined,
      offsetAt: () => 1,
      lastOf: () => [],
      read: () => ({ lines: [], gap: 0, nextOffset: 1 }),
    },
    clock,
    ringBytes: 10_000,
    flushMs,
    onUnused: () => undefined,
  });
  const startMs = clock.now();
  const wakes: number[] = [];
  const view = channel.attach(() => wakes.push(clock.now() - startMs));
  /** A line every millisecond. */
  const print = async (ms: number): Promise<void> => {
    for (let i = 0; i < ms; i++) {
      channel.appended([line(channel.nextOffset)]);
      await settle();
      await clock.advance(1);
    }
  };
  return { clock, channel, wakes, view, print };
}

describe('a log channel', () => {
  it('wakes its viewers at once after a rest, and then once in the time between two flushes', async () => {
    const { channel, clock, wakes, print } = make();
    await print(160);
    assert.deepEqual(wakes, [0, 50, 100, 150]);
    await clock.advance(500);
    channel.appended([line(channel.nextOffset)]);
    await settle();
    assert.equal(wakes.at(-1), 660);
  });

  it('wakes them as much earlier as the slowest says that it takes it to hand lines on', async () => {
    const { channel, wakes, view, print } = make();
    view.leadMs = 4;
    channel.attach(() => undefined).leadMs = 10;
    await print(125);
    assert.deepEqual(wakes, [0, 40, 80, 120]);
  });

  it('keeps its pace for the others when the slowest has left', async () => {
    const { channel, wakes, print } = make();
    const slow = channel.attach(() => undefined);
    slow.leadMs = 10;
    await print(10);
    slow.detach();
    await print(120);
    assert.deepEqual(wakes, [0, 40, 90]);
  });
});
