import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { Calm } from '../../../../../src/programs/edge/http2/calm.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

describe('Calm', () => {
  let clock: ManualClock;
  let lost: number;
  let calm: Calm;
  beforeEach(() => {
    clock = new ManualClock();
    lost = 0;
    calm = new Calm(clock, () => lost++);
  });
  const repeat = (times: number, act: () => void): void => {
    for (let at = 0; at < times; at++) act();
  };

  it('is lost with more than 200 at once, and 20 a second', async () => {
    repeat(200, () => calm.count());
    assert.equal(lost, 0);
    await clock.advance(1000);
    repeat(20, () => calm.count());
    assert.equal(lost, 0);
    calm.count();
    assert.equal(lost, 1);
  });

  it('counts of what goes along with answers only what is beyond them', () => {
    repeat(1000, () => calm.spend());
    calm.earn(500);
    repeat(500 + 200, () => calm.spend());
    assert.equal(lost, 0);
    calm.spend();
    assert.equal(lost, 1);
  });

  it('lets nobody earn more than a while needs', () => {
    repeat(10_000, () => calm.earn(16));
    repeat(10_200, () => calm.spend());
    assert.equal(lost, 0);
    calm.spend();
    assert.equal(lost, 1);
  });
});
