import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BuildQueue } from '../../../../src/actors/build-queue/build-queue.ts';

const never = new AbortController().signal;

describe('BuildQueue', () => {
  it('gives a free slot to the deployment that was made first', async () => {
    const queue = new BuildQueue({ concurrency: 1 });
    const giveBack = await queue.acquire('dpl_0', never);
    const order: string[] = [];
    const wait = (id: string) =>
      queue.acquire(id, never).then((release) => {
        order.push(id);
        release();
      });
    const all = [wait('dpl_3'), wait('dpl_1'), wait('dpl_2')];
    assert.ok(queue.isWaiting('dpl_3'));
    giveBack();
    giveBack();
    await Promise.all(all);
    assert.deepEqual(order, ['dpl_1', 'dpl_2', 'dpl_3']);
    assert.ok(!queue.isWaiting('dpl_3'));
  });

  it('lets a waiting one leave', async () => {
    const queue = new BuildQueue({ concurrency: 1 });
    const giveBack = await queue.acquire('dpl_0', never);
    const leaving = new AbortController();
    const left = queue.acquire('dpl_1', leaving.signal);
    const stays = queue.acquire('dpl_2', never);
    leaving.abort(new Error('gone'));
    await assert.rejects(left, /gone/);
    giveBack();
    (await stays)();
    await assert.rejects(queue.acquire('dpl_3', leaving.signal), /gone/);
  });

  it('counts builds that were found running, also above its bound', async () => {
    const queue = new BuildQueue({ concurrency: 1 });
    const found = [queue.adopt(), queue.adopt()];
    let granted = false;
    const waits = queue.acquire('dpl_1', never).then(() => {
      granted = true;
    });
    found[0]?.();
    await Promise.resolve();
    assert.ok(!granted);
    found[1]?.();
    await waits;
  });

  it('refuses a concurrency that is none', () => {
    assert.throws(() => new BuildQueue({ concurrency: 0 }), RangeError);
  });
});
