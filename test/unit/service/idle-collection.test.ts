import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { collectWhenIdle } from '../../../src/service/idle-collection.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('collectWhenIdle()', () => {
  let clock: ManualClock;
  let held: number;
  let load: number;
  let collections: number;
  let stop: () => void;
  beforeEach(async () => {
    clock = new ManualClock();
    held = 100;
    load = 0;
    collections = 0;
    stop = collectWhenIdle({
      clock,
      everyMs: 1_000,
      growthBytes: 50,
      heldBytes: () => held,
      load: () => load,
      collect: () => collections++,
    });
    await clock.advance(1_000);
  });

  it('collects once what the start left', async () => {
    await clock.advance(10_000);
    assert.equal(collections, 1);
  });

  it('collects once when a load has left more', async () => {
    held = 200;
    await clock.advance(10_000);
    assert.equal(collections, 2);
  });

  it('waits while the thread works', async () => {
    [held, load] = [200, 0.5];
    await clock.advance(5_000);
    assert.equal(collections, 1);
    load = 0;
    await clock.advance(1_000);
    assert.equal(collections, 2);
  });

  it('leaves little alone', async () => {
    held = 150;
    await clock.advance(5_000);
    assert.equal(collections, 1);
  });

  it('counts from the least that was held since', async () => {
    held = 20;
    await clock.advance(1_000);
    held = 80;
    await clock.advance(1_000);
    assert.equal(collections, 2);
  });

  it('ends', async () => {
    stop();
    held = 200;
    await clock.advance(5_000);
    assert.equal(collections, 1);
  });
});
