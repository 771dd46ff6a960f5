import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HashingTurns } from '../../../../src/auth/sign-in/hashing-turns.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';

/** Work that ends when it is told to, in the order in which it began. */
function setUp(cores = 4) {
  const turns = new HashingTurns(cores);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const refused: string[] = [];
  const done: Promise<void>[] = [];
  const ask = (address: string, name = address): void => {
    const work = turns.run(address, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    done.push(
      work.catch((error: unknown) => {
        assert.ok(error instanceof ServiceError);
        refused.push(`${name} ${error.code}`);
      }),
    );
  };
  /** Ends work until none is under way. */
  const endAll = async (): Promise<void> => {
    for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
      end();
      await new Promise(setImmediate);
    }
    await Promise.all(done);
  };
  return { begun, refused, ask, endAll };
}

const settled = (): Promise<void> => new Promise(setImmediate);

describe('HashingTurns', () => {
  it('lets two run at once, and networks take turns with the rest', async () => {
    const { begun, ask, endAll } = setUp();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) ask('192.0.2.1', name);
    ask('192.0.2.2', 'b1');
    ask('192.0.2.2', 'b2');
    ask('192.0.2.3', 'c1');
    assert.deepEqual(begun, ['a1', 'a2']);
    await endAll();
    assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2', 'a5']);
  });

  it('leaves a core of two to others', async () => {
    const { begun, ask, endAll } = setUp(2);
    for (const name of ['a1', 'a2']) ask('192.0.2.1', name);
    assert.deepEqual(begun, ['a1']);
    await endAll();
    assert.deepEqual(begun, ['a1', 'a2']);
  });

  it('bounds what waits of a network, and delays another one by a turn', async () => {
    const { begun, refused, ask, endAll } = setUp();
    for (let i = 0; i < 150; i += 1) ask(`2001:db8:1:1::${i.toString(16)}`, 'flood');
    await settled();
    assert.deepEqual(
      refused,
      Array.from({ length: 48 }, () => 'flood RATE_LIMITED'),
    );
    ask('2001:db8:1:2::1', 'honest');
    await endAll();
    assert.equal(refused.length, 48);
    assert.equal(begun.indexOf('honest'), 3);
    assert.equal(begun.length, 103);
  });

  it('gives a place of the network that has most to one that has fewer when all are taken', async () => {
    const { begun, refused, ask, endAll } = setUp();
    for (let i = 0; i < 1_002; i += 1) ask(`192.0.2.${String(i % 12)}`, `flood ${String(i % 12)}`);
    await settled();
    assert.deepEqual(refused, []);
    ask('192.0.2.99', 'honest');
    await settled();
    assert.equal(refused.length, 1);
    assert.match(refused.join(), /^flood \d+ OVERLOADED$/);
    ask('192.0.2.3', 'greedy');
    await settled();
    assert.deepEqual(refused.slice(1), ['greedy OVERLOADED']);
    await endAll();
    assert.ok(begun.includes('honest'));
    assert.equal(begun.length, 1_002);
  });

  it('gives the place on when work fails', async () => {
    const turns = new HashingTurns();
    const failing = (): Promise<never> => Promise.reject(new Error('no memory'));
    const all = Array.from({ length: 9 }, () => turns.run('192.0.2.1', failing));
    const outcomes = await Promise.allSettled(all);
    assert.ok(outcomes.every(({ status }) => status === 'rejected'));
    assert.equal(await turns.run('192.0.2.1', () => Promise.resolve(7)), 7);
  });
});
