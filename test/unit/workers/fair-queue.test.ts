import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairQueue } from '../../../src/workers/fair-queue.ts';

function takeAll<T>(queue: FairQueue<T>): T[] {
  const taken: T[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next);
  return taken;
}

describe('FairQueue', () => {
  it('keeps the order within a key and serves keys in turn', () => {
    const queue = new FairQueue<string>({ quantum: 1 });
    for (const value of ['a1', 'a2', 'a3']) queue.push('a', 1, value);
    for (const value of ['b1', 'b2']) queue.push('b', 1, value);
    assert.equal(queue.size, 5);
    assert.deepEqual(takeAll(queue), ['a1', 'b1', 'a2', 'b2', 'a3']);
    assert.equal(queue.size, 0);
    assert.equal(queue.take(), undefined);
  });

  it('serves by weight, not by number', () => {
    const queue = new FairQueue<string>({ quantum: 10 });
    for (let i = 0; i < 3; i++) queue.push('heavy', 10, 'H');
    for (let i = 0; i < 30; i++) queue.push('light', 1, 'l');
    const order = takeAll(queue).join('');
    assert.equal(order, `H${'l'.repeat(10)}H${'l'.repeat(10)}H${'l'.repeat(10)}`);
  });

  it('serves a key that comes new before one that has a thousand waiting', () => {
    const queue = new FairQueue<string>({ quantum: 1 });
    for (let i = 0; i < 1_000; i++) queue.push('greedy', 1, 'g');
    assert.equal(queue.take(), 'g');
    queue.push('other', 1, 'o');
    const next = [queue.take(), queue.take()];
    assert.ok(next.includes('o'), 'within one turn of the other');
  });

  it('gives a key that comes new again and again no more than its share', () => {
    const queue = new FairQueue<string>({ quantum: 1 });
    for (let i = 0; i < 100; i++) queue.push('steady', 1, 's');
    let steady = 0;
    for (let i = 0; i < 60; i++) {
      if (i % 2 === 0) queue.push('comes and goes', 1, 'c');
      if (queue.take() === 's') steady++;
    }
    assert.ok(steady >= 29, `${steady} of 60`);
  });

  it('serves what weighs more than any turn, and makes its key wait as long', () => {
    const queue = new FairQueue<string>({ quantum: 1 });
    queue.push('a', 5, 'A1');
    queue.push('a', 5, 'A2');
    for (let i = 1; i <= 8; i++) queue.push('b', 1, `b${i}`);
    assert.deepEqual(takeAll(queue), [
      'A1', 'b1', 'b2', 'b3', 'b4', 'b5', 'A2', 'b6', 'b7', 'b8',
    ]); // prettier-ignore
    queue.push('endless', Number.POSITIVE_INFINITY, 'e1');
    queue.push('endless', Number.POSITIVE_INFINITY, 'e2');
    queue.push('b', 1, 'b');
    assert.deepEqual(takeAll(queue), ['e1', 'b', 'e2']);
  });

  it('charges a key for what its entries did not tell', () => {
    const queue = new FairQueue<string>({ quantum: 1 });
    for (let i = 0; i < 3; i++) queue.push('a', 1, 'a');
    for (let i = 0; i < 3; i++) queue.push('b', 1, 'b');
    assert.equal(queue.take(), 'a');
    queue.charge('a', 2);
    assert.deepEqual(takeAll(queue), ['b', 'b', 'b', 'a', 'a']);
    queue.charge('a', 5);
    queue.charge('nobody', 5);
    queue.push('a', 1, 'a');
    assert.equal(queue.take(), 'a');
  });

  it('takes out what nobody wants any more and leaves the rest in order', () => {
    const queue = new FairQueue<number>({ quantum: 2 });
    for (let i = 0; i < 10; i++) queue.push(i < 5 ? 'a' : 'b', 1, i);
    assert.deepEqual(
      queue.remove((value) => value % 2 === 1),
      [1, 3, 5, 7, 9],
    );
    assert.equal(queue.size, 5);
    assert.deepEqual(takeAll(queue), [0, 2, 6, 8, 4]);
    queue.push('a', 1, 1);
    assert.deepEqual(
      queue.remove(() => true),
      [1],
    );
    assert.equal(queue.take(), undefined);
  });
});
