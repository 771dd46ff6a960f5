import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { newTallyMemory, OwnTally, type Tally, ThreadTally } from '../../../src/lib/tally.ts';

const tallies: Record<string, () => Tally> = {
  'OwnTally()': () => new OwnTally(),
  'ThreadTally()': () => new ThreadTally(newTallyMemory(64)),
};

for (const [name, create] of Object.entries(tallies)) {
  describe(name, () => {
    it('counts what was added and not removed', () => {
      const tally = create();
      tally.add('a');
      tally.add('a');
      tally.add('b');
      tally.remove('b');
      tally.remove('never added');
      assert.deepEqual(
        ['a', 'b', 'c'].map((key) => tally.count(key)),
        [2, 0, 0],
      );
    });
  });
}

describe('ThreadTally() of several threads', () => {
  it('is one tally, whichever thread adds and removes', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.record({ key, thread: fc.nat(2), adds: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const memory = newTallyMemory(64);
        const threads = [1, 2, 3].map(() => new ThreadTally(memory));
        const model = new OwnTally();
        for (const { key: one, thread, adds } of steps) {
          for (const tally of [model, threads[thread]]) {
            if (adds) tally?.add(one);
            else tally?.remove(one);
          }
          for (const tally of threads) assert.equal(tally.count(one), model.count(one));
        }
      }),
    );
  });

  it('counts no more than it has places for, and goes on when there are some again', () => {
    const tally = new ThreadTally(newTallyMemory(64));
    for (let i = 0; i < 200; i += 1) tally.add(`key ${String(i)}`);
    for (let i = 0; i < 200; i += 1) tally.remove(`key ${String(i)}`);
    tally.add('one more');
    assert.equal(tally.count('one more'), 1);
  });

  it('loses and invents nothing when threads add and remove at the same moment', async () => {
    const memory = newTallyMemory(64);
    const module = new URL('../../../src/lib/tally.ts', import.meta.url).href;
    const code = `
      import { workerData } from 'node:worker_threads';
      import { ThreadTally } from ${JSON.stringify(module)};
      const { memory, seed } = workerData;
      const tally = new ThreadTally(memory);
      const held = [];
      for (let i = 0; i < 60_000; i += 1) {
        const key = 'key ' + ((i * 7 + seed) % 40);
        tally.add(key);
        held.push(key);
        if (held.length > 8) tally.remove(held.shift());
      }
      for (const key of held) tally.remove(key);
      for (let i = 0; i < seed; i += 1) tally.add('kept');`;
    const workers = [1, 2, 3].map(
      (seed) => new Worker(code, { eval: true, workerData: { memory, seed } }),
    );
    await Promise.all(workers.map((worker) => once(worker, 'exit')));
    const tally = new ThreadTally(memory);
    assert.equal(tally.count('kept'), 6);
    for (let i = 0; i < 40; i += 1) assert.equal(tally.count(`key ${String(i)}`), 0);
  });
});
