import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { label, row } from '../../../bench/model.ts';

const throughput = { what: 'throughput', unit: 'req/s', better: 'higher' } as const;

describe('a row', () => {
  it('has the median of ours, the ratio to each other, and its rounds', () => {
    const { ours, others } = row({
      ...throughput,
      rounds: { ours: [8, 10, 9], bare: [10, 10, 10], peer: [3, 3, 3] },
    });
    assert.equal(ours.median, 9);
    assert.deepEqual(ours.rounds, [8, 10, 9]);
    assert.deepEqual(
      others.map(({ name, ratio }) => [name, ratio]),
      [
        ['bare', 0.9],
        ['peer', 3],
      ],
    );
  });

  it('meets a goal from above where higher is better, from below where lower is', () => {
    const rounds = { ours: [2], bare: [1] };
    const goals = [{ against: 'bare', ratio: 2 }, { against: 'bare', ratio: 2.1 }, { value: 2 }];
    const met = (better: 'higher' | 'lower') =>
      row({ ...throughput, better, rounds, goals }).goals.map((goal) => goal.met);
    assert.deepEqual(met('higher'), [true, false, true]);
    assert.deepEqual(met('lower'), [true, true, true]);
    const tight = [{ against: 'bare', ratio: 1.9 }];
    assert.equal(
      row({ ...throughput, better: 'lower', rounds, goals: tight }).goals[0]?.met,
      false,
    );
  });

  it('is refused where a figure is none, so that it is never printed', () => {
    const refused = (rounds: { ours: number[]; bare?: number[] }, why: RegExp) =>
      assert.throws(() => row({ ...throughput, group: 'small', rounds }), why);
    refused({ ours: [] }, /small: throughput: no figure of ours/);
    refused({ ours: [1, Number.NaN] }, /no figure of ours/);
    refused({ ours: [1], bare: [Number.POSITIVE_INFINITY] }, /no figure of bare/);
    refused({ ours: [1], bare: [0] }, /bare is nothing/);
  });

  it('leaves out what used so little that it was not told, with the goals held against it', () => {
    const rounds = { ours: [2], bare: [0], peer: [1] };
    const goals = [{ against: 'bare', ratio: 1.1 }];
    const { others, goals: judged } = row({ ...throughput, better: 'lower', rounds, goals });
    assert.deepEqual([others.map(({ name }) => name), judged], [['peer'], []]);
  });

  it('leaves out who took no part, with the goals held against it', () => {
    const goals = [{ against: 'bare', ratio: 0.9 }, { value: 1 }];
    const { others, goals: judged } = row({
      ...throughput,
      rounds: { ours: [1], bare: [] },
      goals,
    });
    assert.deepEqual(others, []);
    assert.deepEqual(
      judged.map(({ goal }) => goal),
      [{ value: 1 }],
    );
  });

  it('is refused where a goal is held against somebody who is not there', () => {
    const goals = [{ against: 'nobody', ratio: 1 }];
    assert.throws(() => row({ ...throughput, rounds: { ours: [1] }, goals }), /nobody/);
  });

  it('is named by its group and what it is', () => {
    assert.equal(label({ group: 'a', what: 'b' }), 'a: b');
    assert.equal(label({ what: 'b' }), 'b');
  });
});
