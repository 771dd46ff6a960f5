import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Paces } from '../../../../src/graphql/execution/pace.ts';

const cost = 1_000;

describe('Paces', () => {
  it('take a document for what it costs until it has run, and are careful with its time', () => {
    const paces = new Paces();
    assert.equal(paces.costOf({}, cost), cost);
    assert.equal(paces.expectUs({}, cost), 2_010);
  });

  it('come to count a slow document as what it takes, each by itself', () => {
    const [paces, slow, other] = [new Paces(), {}, {}];
    for (let run = 0; run < 5; run++) paces.learn(slow, cost, 10_010);
    assert.equal(paces.expectUs(slow, cost), 10_010);
    assert.equal(paces.costOf(slow, cost), 5 * cost);
    assert.equal(paces.costOf(other, cost), cost);
  });

  it('do not take one slow run for more than noise', () => {
    const [paces, document] = [new Paces(), {}];
    for (let run = 0; run < 200; run++) {
      paces.learn(document, cost, run % 10 === 0 ? 5_000_000 : 300);
    }
    const expectedUs = paces.expectUs(document, cost);
    assert.ok(expectedUs >= 290 && expectedUs < 650, String(expectedUs));
  });

  it('do not let a few fast runs hide a slow one', () => {
    const [paces, document] = [new Paces(), {}];
    for (let run = 0; run < 200; run++) paces.learn(document, cost, run % 4 === 0 ? 20_000 : 10);
    assert.ok(paces.costOf(document, cost) > 2 * cost);
  });

  it('take a document that is known to be quick for lighter than its cost, within bounds', () => {
    const [paces, document] = [new Paces(), {}];
    paces.learn(document, cost, 0);
    assert.ok(paces.costOf(document, cost) < cost);
    for (let run = 0; run < 1_000; run++) paces.learn(document, cost, 0);
    assert.equal(paces.costOf(document, cost), cost / 8);
    assert.equal(paces.expectUs(document, cost), 60);
    for (let run = 0; run < 20; run++) paces.learn(document, cost, 20_010);
    assert.equal(paces.costOf(document, cost), 10 * cost);
  });

  it('know what a document usually takes, however slow some of its runs are', () => {
    const [paces, document] = [new Paces(), {}];
    assert.equal(paces.usualUs(document, cost), 2_010);
    for (let run = 0; run < 200; run++) paces.learn(document, cost, run % 4 === 0 ? 50_000 : 300);
    const usualUs = paces.usualUs(document, cost);
    assert.ok(usualUs >= 290 && usualUs < 400, String(usualUs));
    assert.ok(paces.expectUs(document, cost) > usualUs);
  });
});
