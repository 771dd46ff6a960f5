import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FairQueue } from '../../src/workers/fair-queue.ts';

const quantum = 10;
const weightMax = 40;
const keys = ['a', 'b', 'c', 'd', 'e'] as const;
type Key = (typeof keys)[number];

interface Value {
  key: Key;
  n: number;
  weight: number;
}

const key = fc.constantFrom(...keys);
const weight = fc.integer({ min: 1, max: weightMax });
const push = fc.record({ do: fc.constant('push' as const), key, weight });
const take = fc.record({ do: fc.constant('take' as const) });
const charge = fc.record({
  do: fc.constant('charge' as const),
  key,
  weight: fc.integer({ min: -50, max: 50 }),
});
const remove = fc.record({
  do: fc.constant('remove' as const),
  of: fc.integer({ min: 2, max: 5 }),
});
const often = { arbitrary: push, weight: 8 };
const steps = fc.array(
  fc.oneof(often, { arbitrary: take, weight: 6 }, charge, remove),
  { maxLength: 400 }, // prettier-ignore
);

describe('FairQueue', () => {
  it('loses nothing, gives nothing twice, and keeps the order of each key', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const queue = new FairQueue<Value>({ quantum });
        const waiting = new Map<Key, Value[]>(keys.map((one) => [one, []]));
        const left = () => [...waiting.values()].reduce((sum, line) => sum + line.length, 0);
        const taken = (value: Value | undefined): void => {
          if (value === undefined) assert.equal(left(), 0);
          else assert.equal(waiting.get(value.key)?.shift(), value);
        };
        let n = 0;
        for (const step of all) {
          switch (step.do) {
            case 'push': {
              const value = { key: step.key, n: n++, weight: step.weight };
              waiting.get(step.key)?.push(value);
              queue.push(step.key, step.weight, value);
              break;
            }
            case 'take':
              taken(queue.take());
              break;
            case 'charge':
              queue.charge(step.key, step.weight);
              break;
            case 'remove': {
              const unwanted = (value: Value): boolean => value.n % step.of === 0;
              const removed = queue.remove(unwanted);
              for (const [one, line] of waiting) {
                const gone = line.filter(unwanted);
                assert.deepEqual(
                  removed.filter((value) => value.key === one),
                  gone,
                );
                waiting.set(
                  one,
                  line.filter((value) => !unwanted(value)),
                );
              }
              break;
            }
          }
          assert.equal(queue.size, left());
        }
        while (queue.size > 0) taken(queue.take());
        assert.equal(left(), 0);
      }),
    );
  });

  it('serves keys that always have something waiting alike, by weight', () => {
    const loads = fc.array(fc.array(weight, { minLength: 1, maxLength: 8 }), {
      minLength: 2,
      maxLength: 5,
    });
    fc.assert(
      fc.property(loads, fc.integer({ min: 1, max: 300 }), (weights, rounds) => {
        const queue = new FairQueue<Value>({ quantum });
        const counts = weights.map(() => 0);
        const pushNext = (i: number): void => {
          const line = weights[i] ?? [];
          const n = counts[i] ?? 0;
          counts[i] = n + 1;
          const value = { key: keys[i] ?? 'a', n, weight: line[n % line.length] ?? 1 };
          queue.push(value.key, value.weight, value);
        };
        for (let i = 0; i < weights.length; i++) for (let k = 0; k < 3; k++) pushNext(i);
        const served = new Map<Key, number>();
        // What each was served more than another, from any moment to any other.
        const spread = new Map<string, { least: number; most: number }>();
        for (let round = 0; round < rounds; round++) {
          const value = queue.take();
          assert.ok(value);
          served.set(value.key, (served.get(value.key) ?? 0) + value.weight);
          pushNext(keys.indexOf(value.key));
          for (let i = 1; i < weights.length; i++) {
            for (let j = 0; j < i; j++) {
              const one = served.get(keys[i] ?? 'a') ?? 0;
              const more = one - (served.get(keys[j] ?? 'a') ?? 0);
              const seen = spread.get(`${i}-${j}`) ?? { least: 0, most: 0 };
              seen.least = Math.min(seen.least, more);
              seen.most = Math.max(seen.most, more);
              spread.set(`${i}-${j}`, seen);
              assert.ok(seen.most - seen.least <= 2 * quantum + 2 * weightMax);
            }
          }
        }
      }),
    );
  });

  it('lets a key that comes new wait for no more than one turn of another', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(key, weight), { maxLength: 200 }),
        fc.nat(100),
        (backlog, takes) => {
          const queue = new FairQueue<string>({ quantum });
          for (const [one, heavy] of backlog) queue.push(one, heavy, one);
          for (let i = 0; i < takes; i++) queue.take();
          // Those that came new before it have their turn first, one quantum and one entry each.
          queue.push('new', 1, 'new');
          let before = 0;
          while (queue.take() !== 'new') before++;
          assert.ok(before <= keys.length * (quantum + 1));
        },
      ),
    );
  });
});
