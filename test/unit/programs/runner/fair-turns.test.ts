import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { FairTurns, type Room, type Taker } from '../../../../src/programs/runner/fair-turns.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';

/** Has so many lines of a byte, and tells what it took each time. */
class Lines implements Taker {
  taken: number[] = [];
  left: number;

  constructor(left: number) {
    this.left = left;
  }

  take(room: Room): boolean {
    const count = Math.min(this.left, room.lines, room.bytes);
    room.lines -= count;
    room.bytes -= count;
    this.left -= count;
    this.taken.push(count);
    return this.left > 0;
  }
}

describe('FairTurns', () => {
  it('gives a taker its part of a turn, however often it offers more', async () => {
    const clock = new ManualClock();
    const turns = new FairTurns(clock, memoryLogger());
    const flood = new Lines(10_000);
    for (let i = 0; i < 50; i++) turns.offer(flood);
    assert.deepEqual(flood.taken, [256]);
    await clock.advance(1);
    assert.deepEqual(flood.taken, [256, 256]);
    await clock.advance(40);
    assert.equal(flood.left, 0);
    assert.ok(flood.taken.every((count) => count <= 256));
  });

  it('gives a taker that has few lines its part of the bytes', async () => {
    const clock = new ManualClock();
    const turns = new FairTurns(clock, memoryLogger());
    let taken = 0;
    const oneLine: Taker = {
      take: (room) => {
        taken += room.bytes;
        room.bytes = 0;
        return true;
      },
    };
    for (let turn = 1; turn <= 3; turn++) {
      turns.offer(oneLine);
      assert.equal(taken, turn * 16 * 1024);
      await clock.advance(1);
    }
  });

  it('serves who has little in the very turn of a flood', () => {
    const turns = new FairTurns(new ManualClock(), memoryLogger());
    turns.offer(new Lines(1_000_000));
    const quiet = new Lines(1);
    turns.offer(quiet);
    assert.equal(quiet.left, 0);
  });

  it('bounds what all take of a turn, and serves each in its turn', async () => {
    const clock = new ManualClock();
    const turns = new FairTurns(clock, memoryLogger());
    const floods = Array.from({ length: 10 }, () => new Lines(1_000_000));
    const taken = (): number => floods.reduce((sum, { left }) => sum + 1_000_000 - left, 0);
    for (const flood of floods) turns.offer(flood);
    for (let turn = 1; turn <= 20; turn++) {
      assert.equal(taken(), 1024 * turn);
      await clock.advance(1);
    }
    const each = floods.map(({ left }) => left);
    assert.ok(Math.max(...each) - Math.min(...each) <= 256);
  });

  it('comes to a newcomer although floods use up every turn', async () => {
    const clock = new ManualClock();
    const turns = new FairTurns(clock, memoryLogger());
    for (let i = 0; i < 10; i++) turns.offer(new Lines(1_000_000));
    const quiet = new Lines(1);
    turns.offer(quiet);
    assert.equal(quiet.left, 1);
    await clock.advance(3);
    assert.equal(quiet.left, 0);
  });

  it('goes on with the others when a taker fails', async () => {
    const clock = new ManualClock();
    const logger = memoryLogger();
    const turns = new FairTurns(clock, logger);
    const other = new Lines(3000);
    turns.offer({
      take: () => {
        throw new Error('broken');
      },
    });
    turns.offer(other);
    await clock.advance(12);
    assert.equal(other.left, 0);
    assert.deepEqual(
      logger.events.map(({ event }) => event),
      ['output_not_taken'],
    );
  });
});
