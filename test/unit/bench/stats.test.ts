import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { median, medianRatio, quantile, spreadOf } from '../../../bench/stats.ts';

describe('statistics of rounds', () => {
  it('take the middle of an odd and of an even number of rounds', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.ok(Number.isNaN(median([])));
  });

  it('lie between two rounds where a quantile falls there', () => {
    assert.equal(quantile([0, 10], 0.25), 2.5);
    assert.equal(quantile([7], 0.99), 7);
    assert.deepEqual(spreadOf([5, 1, 2, 3, 4]), {
      min: 1,
      median: 3,
      max: 5,
      quartiles: [2, 4],
    });
  });

  it('hold each round against the one beside it, so that a slow round says nothing', () => {
    assert.equal(medianRatio([10, 1, 10], [20, 2, 20]), 0.5);
    // The medians alone would say 0.1.
    assert.equal(medianRatio([10, 1, 1], [20, 2, 2]), 0.5);
  });

  it('hold the medians against each other where rounds are not as many', () => {
    assert.equal(medianRatio([1, 2, 3], [4]), 0.5);
  });
});
