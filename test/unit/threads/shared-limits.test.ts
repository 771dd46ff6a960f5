import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { newLimitMemory, ThreadLimits } from '../../../src/threads/shared-limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const perMinute = { burst: 10, windowMs: 60_000 };

/** Limits of two threads on one clock that stands until it is moved. */
function setUp(places?: number) {
  const clock = new ManualClock();
  const memory = newLimitMemory(places);
  const nowUs = (): bigint => BigInt(clock.now()) * 1_000n;
  const [one, other] = [new ThreadLimits(memory, nowUs), new ThreadLimits(memory, nowUs)];
  return { clock, one, other };
}

describe('ThreadLimits', () => {
  it('counts at once what is spent on any thread', async () => {
    const { clock, one, other } = setUp();
    const [here, there] = [one.newLimit('calls', perMinute), other.newLimit('calls', perMinute)];
    for (let i = 0; i < 10; i += 1) assert.equal((i % 2 === 0 ? here : there).take('key'), 0);
    assert.deepEqual([here.take('key'), there.take('key'), there.waitS('key')], [6, 6, 6]);
    assert.equal(there.take('another'), 0);
    assert.equal(other.newLimit('others', perMinute).take('key'), 0);
    await clock.advance(6_000);
    assert.equal(there.waitS('key'), 0);
    assert.deepEqual([there.take('key'), here.take('key')], [0, 6]);
  });

  it('owes what was charged, and forgives it on all threads', () => {
    const { one, other } = setUp();
    const [here, there] = [one.newLimit('calls', perMinute), other.newLimit('calls', perMinute)];
    here.charge('key', 0);
    here.charge('key', 30);
    assert.equal(there.waitS('key'), 126);
    there.forgive('key');
    there.forgive('none');
    assert.equal(here.take('key'), 0);
  });

  it('forgets those who are held up last, however many others come', () => {
    const { one } = setUp(64);
    const limit = one.newLimit('calls', perMinute);
    limit.charge('greedy', 100);
    for (let i = 0; i < 5_000; i += 1) assert.equal(limit.take(`flood ${String(i)}`), 0);
    assert.ok(limit.waitS('greedy') > 0);
  });

  it('allows a burst and no more to threads that take at the same moment', async () => {
    const memory = newLimitMemory(64);
    const module = new URL('../../../src/threads/shared-limits.ts', import.meta.url).href;
    const begin = new SharedArrayBuffer(4);
    const code = `
      import { parentPort, workerData } from 'node:worker_threads';
      import { ThreadLimits } from ${JSON.stringify(module)};
      const limit = new ThreadLimits(workerData.memory, () => 1n).newLimit('calls', { burst: 5000, windowMs: 60000 });
      parentPort.postMessage('ready');
      Atomics.wait(new Int32Array(workerData.begin), 0, 0);
      let allowed = 0;
      for (let i = 0; i < 4000; i += 1) if (limit.take('key') === 0) allowed += 1;
      parentPort.postMessage(allowed);`;
    const workers = [1, 2, 3].map(
      () => new Worker(code, { eval: true, workerData: { memory, begin } }),
    );
    const next = (worker: Worker): Promise<unknown> =>
      new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    await Promise.all(workers.map(next));
    const counts = Promise.all(workers.map(next));
    Atomics.store(new Int32Array(begin), 0, 1);
    Atomics.notify(new Int32Array(begin), 0);
    const allowed = (await counts) as number[];
    assert.equal(
      allowed.reduce((sum, one) => sum + one, 0),
      5_000,
    );
    await Promise.all(workers.map((worker) => worker.terminate()));
  });
});
