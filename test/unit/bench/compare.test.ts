import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { differenceOf, differences } from '../../../bench/compare.ts';
import { row } from '../../../bench/model.ts';
import type { Row } from '../../../bench/model.ts';
import { differenceTable } from '../../../bench/report/difference.ts';

function rowOf(what: string, ours: readonly number[], better: 'higher' | 'lower' = 'higher'): Row {
  return row({ what, unit: 'req/s', better, rounds: { ours } });
}

function difference(base: readonly number[], head: readonly number[], better?: 'higher' | 'lower') {
  const [one] = differences([rowOf('x', base, better)], [rowOf('x', head, better)]);
  assert.ok(one);
  return differenceOf(one).change;
}

describe('a comparison', () => {
  it('puts head beside base, row by row, by what they are called', () => {
    const rows = differences(
      [rowOf('a', [1]), rowOf('gone', [1])],
      [rowOf('new', [5]), rowOf('a', [2])],
    );
    assert.deepEqual(
      rows.map(({ what, ours, others }) => [what, ours.median, others[0]?.name, others[0]?.ratio]),
      [['a', 2, 'base', 2]],
    );
  });

  it('tells what is more than the rounds differ among themselves', () => {
    assert.equal(difference([100, 101, 99, 100, 100], [120, 121, 119, 120, 122]), 'better');
    assert.equal(difference([100, 101, 99, 100, 100], [80, 81, 79, 80, 82]), 'worse');
    assert.equal(difference([100, 101, 99], [120, 121, 119], 'lower'), 'worse');
    assert.equal(difference([100, 140, 60, 100, 90], [105, 90, 120, 70, 130]), 'within the spread');
    assert.equal(difference([5, 5, 5], [5, 5, 5]), 'within the spread');
  });

  it('tells nothing from one round, or from rounds that have no counterpart', () => {
    assert.equal(difference([100], [200]), 'too few rounds');
    assert.equal(difference([100, 100, 100], [200, 200]), 'too few rounds');
  });

  it('prints base, head, ratio and what came of it', () => {
    const rows = differences(
      [rowOf('throughput', [100, 100, 100])],
      [rowOf('throughput', [110, 111, 112])],
    );
    const [head, line] = differenceTable(rows).split('\n');
    assert.match(head ?? '', /base +head +unit +ratio +change/);
    assert.match(
      line ?? '',
      /throughput +100 +111 +req\/s +1\.110 +better, beyond the spread of 1\.0 %/,
    );
  });
});
