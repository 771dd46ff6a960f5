import assert from 'node:assert/strict';
import { it } from 'node:test';

import { Watch } from '../../../../src/programs/edge/watch.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

it('Watch dates as Node does', () => {
  const dayMs = 24 * 3_600_000;
  for (let atMs = 0; atMs < 800 * dayMs; atMs += 13 * dayMs + 3_723_456) {
    const watch = new Watch(new ManualClock(atMs));
    assert.equal(watch.date, new Date(atMs).toUTCString());
    watch.close();
  }
});
