import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { Balancer } from '../../../src/lib/balancer.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Target {
  name: string;
}

const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

describe('Balancer', () => {
  let clock: ManualClock;
  let balancer: Balancer<Target>;
  beforeEach(() => {
    clock = new ManualClock();
    balancer = new Balancer(clock);
  });

  const order = (...targets: Target[]): string => {
    const ordered = balancer.order(targets);
    return ordered.map(({ name }) => name).join('');
  };
  const firsts = (times: number): string =>
    Array.from({ length: times }, () => order(a, b, c)[0]).join('');

  it('prefers who has the fewest under way', () => {
    for (const target of [a, a, b]) balancer.begin(target);
    assert.equal(order(a, b, c), 'cba');
    balancer.end(a);
    balancer.end(a);
    balancer.begin(c);
    assert.equal(order(a, b, c)[0], 'a');
  });

  it('goes by turns among equals', () => {
    assert.equal(firsts(6), 'abcabc');
    balancer.begin(b);
    assert.equal(firsts(4), 'acac');
  });

  it('takes out one that refused, and has a single one try it after a while', async () => {
    balancer.noteRefused(a);
    assert.equal(order(a, b, c), 'bca');
    assert.ok(!firsts(9).includes('a'));
    await clock.advance(2000);
    assert.equal(firsts(9).split('a').length, 2);
    await clock.advance(2000);
    assert.equal(firsts(9).split('a').length, 2);
    balancer.noteTaken(a);
    assert.equal(firsts(9).split('a').length, 4);
  });

  it('tries even those that refused where there is no other', () => {
    balancer.noteRefused(a);
    balancer.noteRefused(b);
    assert.equal(order(a, b).length, 2);
    assert.equal(order(a), 'a');
  });
});
