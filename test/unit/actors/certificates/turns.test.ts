import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Turns } from '../../../../src/actors/certificates/turns.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const minuteMs = 60_000;

describe('Turns', () => {
  let clock: ManualClock;
  let turns: Turns;
  let begun: string[];
  beforeEach(() => {
    clock = new ManualClock();
    turns = new Turns(clock, 2);
    begun = [];
  });
  const take = (...ids: string[]): void => {
    for (const id of ids) turns.take(id, () => begun.push(id));
  };

  it('lets so many begin at once, the others in their order', () => {
    take('a', 'b', 'c', 'a', 'd');
    assert.deepEqual(begun, ['a', 'b']);
    turns.end('b');
    assert.deepEqual(begun, ['a', 'b', 'c']);
  });

  it('keeps a pause that the authority asked for, whatever else fails and whoever hurries', async () => {
    turns.pause(60 * minuteMs, true);
    turns.pause(minuteMs, false);
    turns.pause(5 * minuteMs, true);
    take('a');
    turns.hurry();
    await clock.advance(60 * minuteMs - 1000);
    assert.deepEqual(begun, []);
    await clock.advance(1000);
    assert.deepEqual(begun, ['a']);
  });

  it('ends its own pause when somebody hurries, and keeps it behind a shorter one of the authority', async () => {
    turns.pause(60 * minuteMs, false);
    turns.pause(minuteMs, true);
    take('a');
    await clock.advance(30 * minuteMs);
    assert.deepEqual(begun, []);
    turns.hurry();
    assert.deepEqual(begun, ['a']);
    turns.pause(minuteMs, true);
    turns.pause(minuteMs, false);
    turns.hurry();
    take('b');
    assert.deepEqual(begun, ['a']);
    await clock.advance(minuteMs);
    assert.deepEqual(begun, ['a', 'b']);
  });
});
