import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { systemClock } from '../../../src/lib/clock.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import {
  type PoolAsker,
  QueryPool,
  type QueryPoolOptions,
} from '../../../src/workers/query-pool.ts';
import { type HeldSetup, heldUs, lightUs } from '../../fixtures/workers/held-query-task.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

/** A pool whose workers wait for `step` with whatever begins with `held`. */
class HeldPool {
  readonly pool: QueryPool;
  readonly #setup: HeldSetup = {
    gate: new Int32Array(new SharedArrayBuffer(4)),
    order: new Int32Array(new SharedArrayBuffer(4)),
    workers: new Int32Array(new SharedArrayBuffer(4)),
  };

  constructor(more: Partial<QueryPoolOptions> = {}) {
    this.pool = new QueryPool({
      threads: 1,
      setup: this.#setup,
      clock: systemClock,
      logger: memoryLogger(),
      task: new URL('../../fixtures/workers/held-query-task.ts', import.meta.url),
      ...more,
    });
  }

  /** Lets so many batches that hold something held be answered. */
  step(times = 1_000_000): void {
    Atomics.add(this.#setup.gate, 0, times);
    Atomics.notify(this.#setup.gate, 0);
  }

  /** How many questions any worker has begun. */
  get begun(): number {
    return Atomics.load(this.#setup.order, 0);
  }

  /** Until so many workers serve. */
  serve(count: number): Promise<void> {
    return eventually(`${count} workers`, () => Atomics.load(this.#setup.workers, 0) === count);
  }

  hasBegun(count: number): Promise<void> {
    return eventually(`${count} begun`, () => this.begun === count);
  }

  /** When it was begun, among all that were, counted from 0. */
  async ask(key: string, query: string, more: Partial<PoolAsker> = {}): Promise<number> {
    const { body } = await this.pool.ask(
      { query, operationName: null, variables: {}, principal: {}, via: 'http' },
      { caller: null, key, weight: lightUs, heavy: false, ...more },
    );
    const [order, echoed] = Buffer.from(body).toString().split(' ');
    assert.equal(echoed, query);
    return Number(order);
  }
}

const pools: HeldPool[] = [];
afterEach(async () => {
  for (const held of pools.splice(0)) {
    held.step();
    await held.pool.close();
  }
});

function newPool(more: Partial<QueryPoolOptions> = {}): HeldPool {
  const held = new HeldPool(more);
  pools.push(held);
  return held;
}

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === code;

describe('QueryPool, among callers', () => {
  it('answers light questions while a heavy one is held', async () => {
    const held = newPool();
    const heavy = held.ask('greedy', 'held', { heavy: true });
    await held.hasBegun(1);
    const light = await Promise.all(
      Array.from({ length: 20 }, (_, i) => held.ask(i % 2 ? 'greedy' : 'other', `light${i}`)),
    );
    assert.equal(light.length, 20);
    held.step();
    assert.equal(await heavy, 0);
  });

  it('lets a caller with one question wait for one turn of one with a thousand', async () => {
    const held = newPool();
    const first = held.ask('greedy', 'held');
    await held.hasBegun(1);
    const greedy = Array.from({ length: 1_000 }, (_, i) => held.ask('greedy', `g${i}`));
    const other = held.ask('other', 'o');
    held.step();
    // Ahead of it: what one worker is sent ahead, 2,000, and one turn, 500, by hundreds.
    assert.ok((await other) <= 26);
    assert.equal(await first, 0);
    assert.equal((await Promise.all(greedy)).length, 1_000);
  });

  it('gives callers of heavy questions turns, one question at a time', async () => {
    const held = newPool();
    const weight = heldUs;
    const greedy = Array.from({ length: 100 }, (_, i) =>
      held.ask('greedy', `held${i}`, { heavy: true, weight }),
    );
    await held.hasBegun(1);
    const others = ['b', 'c', 'd'].map((key) => held.ask(key, 'held', { heavy: true, weight }));
    held.step(4);
    assert.deepEqual((await Promise.all(others)).sort(), [1, 2, 3]);
    held.step();
    await Promise.all(greedy);
  });

  it('refuses the caller that holds more than is left, and takes questions of others', async () => {
    const held = newPool({ callsMax: 100 });
    const first = held.ask('greedy', 'held');
    await held.hasBegun(1);
    const asked = [first, ...Array.from({ length: 50 }, (_, i) => held.ask('greedy', `g${i}`))];
    await assert.rejects(held.ask('greedy', 'more'), refusedWith('RATE_LIMITED'));
    for (let i = 0; i < 49; i++) asked.push(held.ask(`other${i}`, 'o'));
    await assert.rejects(held.ask('newcomer', 'o'), refusedWith('OVERLOADED'));
    held.step();
    assert.equal((await Promise.all(asked)).length, 100);
    assert.equal(typeof (await held.ask('greedy', 'again')), 'number');
  });

  it('keeps a place for light questions when the heavy ones are too many', async () => {
    const held = newPool({ heavyCallsMax: 2 });
    const heavy = [1, 2].map((i) => held.ask(`k${i}`, 'held', { heavy: true }));
    await assert.rejects(held.ask('k3', 'held', { heavy: true }), refusedWith('OVERLOADED'));
    assert.equal(typeof (await held.ask('k3', 'light')), 'number');
    held.step();
    await Promise.all(heavy);
  });

  it('never sends what its caller left while it waited for its turn', async () => {
    const held = newPool();
    const heavy = { heavy: true };
    const first = held.ask('a', 'held', heavy);
    await held.hasBegun(1);
    const gone = new AbortController();
    const dropped = held.ask('b', 'held', { heavy: true, caller: gone.signal });
    const kept = held.ask('c', 'held', heavy);
    gone.abort();
    // Before its turn: nothing has been answered yet.
    await assert.rejects(dropped, refusedWith('DEADLINE_EXCEEDED'));
    assert.equal(held.begun, 1);
    held.step();
    assert.deepEqual(await Promise.all([first, kept]), [0, 1]);
  });

  it('fails what waited for its turn beyond its deadline', async () => {
    const clock = new ManualClock();
    const held = newPool({ clock, deadlineMs: 5_000 });
    const first = held.ask('a', 'held', { heavy: true });
    const second = held.ask('b', 'held', { heavy: true });
    const third = held.ask('c', 'held', { heavy: true });
    await held.hasBegun(1);
    await clock.advance(4_000);
    held.step(1);
    assert.equal(await first, 0);
    await held.hasBegun(2);
    await Promise.all([
      assert.rejects(third, refusedWith('DEADLINE_EXCEEDED')),
      clock.advance(1_500),
    ]);
    held.step(1);
    assert.equal(await second, 1);
  });

  for (const heavy of [false, true]) {
    const kind = heavy ? 'heavy' : 'light';
    it(`ends the worker for ${kind} questions when none came for a while, and starts another`, async () => {
      const clock = new ManualClock();
      const held = newPool({ clock, idleMs: 60_000 });
      assert.equal(await held.ask('a', 'first', { heavy }), 0);
      await clock.advance(59_000);
      assert.equal(await held.ask('a', 'second', { heavy }), 1);
      await held.serve(1);
      await clock.advance(60_000);
      await held.serve(0);
      assert.equal(await held.ask('a', 'third', { heavy }), 2);
      await held.serve(1);
    });
  }
});
