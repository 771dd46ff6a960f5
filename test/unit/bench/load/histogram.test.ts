import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Histogram } from '../../../../bench/load/histogram.ts';

function of(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

describe('Histogram', () => {
  it('tells every quantile to within 1.6 % and a microsecond, and the longest exactly', () => {
    const latency = fc.double({ min: 0, max: 3_600_000, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (all, q) => {
          const sorted = all.toSorted((a, b) => a - b);
          const exact = sorted[Math.max(1, Math.ceil(all.length * q)) - 1] ?? 0;
          const told = of(all).quantile(q);
          assert.ok(Math.abs(told - exact) <= exact * 0.016 + 0.001, `${told} for ${exact}`);
          assert.equal(of(all).quantile(1), sorted.at(-1));
        },
      ),
    );
  });

  it('counts what others counted as if it had counted it itself', () => {
    const [one, other] = [of([1, 2, 3]), of([40, 50])];
    one.merge(other);
    assert.deepEqual(one.percentiles(), of([1, 2, 3, 40, 50]).percentiles());
    assert.equal(one.count, 5);
  });

  it('has no quantile of nothing, and counts no latency that is none', () => {
    assert.ok(Number.isNaN(new Histogram().quantile(0.5)));
    assert.throws(() => of([-1]), /no latency/);
    assert.throws(() => of([Number.NaN]), /no latency/);
  });

  it('counts what is longer than it can tell as the longest', () => {
    const days = 40 * 86_400_000;
    assert.equal(of([days]).quantile(1), days);
  });
});
