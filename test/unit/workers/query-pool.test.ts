import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { ServiceError } from '../../../src/lib/errors.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { QueryPool, type QueryPoolOptions } from '../../../src/workers/query-pool.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

const pools: QueryPool[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
});

function newPool(more: Partial<QueryPoolOptions> = {}): QueryPool {
  const pool = new QueryPool({
    threads: 1,
    setup: {},
    clock: systemClock,
    logger: memoryLogger(),
    task: new URL('../../fixtures/workers/query-task.ts', import.meta.url),
    ...more,
  });
  pools.push(pool);
  return pool;
}

async function answerOf(pool: QueryPool, query: string, caller: AbortSignal | null = null) {
  const call = { query, operationName: null, variables: {}, principal: {}, via: 'http' };
  return await pool.ask(call, { key: 'one', weight: 1, heavy: false, caller });
}

async function ask(pool: QueryPool, query: string, caller: AbortSignal | null = null) {
  return Buffer.from((await answerOf(pool, query, caller)).body).toString();
}

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === code;

describe('QueryPool', () => {
  it('sends all questions of one turn as one batch and gives each its own answer', async () => {
    const pool = newPool();
    const answers = await Promise.all(['a', 'bü', 'c'].map((query) => ask(pool, query)));
    assert.deepEqual(answers, ['1:3:a', '1:3:bü', '1:3:c']);
    assert.equal(await ask(pool, 'd'), '2:1:d');
  });

  it('is ready once a worker that was started ahead has answered', async () => {
    const pool = newPool();
    assert.equal(pool.ready, false);
    pool.start();
    pool.start();
    assert.equal(await ask(pool, 'a'), '2:1:a');
    assert.equal(pool.ready, true);
  });

  it('shares a large turn between its workers', async () => {
    const pool = newPool({ threads: 2 });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(pool, `q${i}`)));
    assert.deepEqual(new Set(answers.map((answer) => answer.split(':')[1])), new Set(['20']));
  });

  it('lends a worker memory again once every answer in it was given back, however often each was', async () => {
    const pool = newPool();
    const [one, other] = await Promise.all([answerOf(pool, 'a'), answerOf(pool, 'b')]);
    one.giveBack();
    one.giveBack();
    assert.equal(await ask(pool, 'spare'), 'spare none');
    assert.equal(Buffer.from(other.body).toString(), '1:2:b');
    other.giveBack();
    assert.equal(await ask(pool, 'spare'), 'spare 10');
    assert.equal(await ask(pool, 'spare'), 'spare none');
  });

  it('refuses more than callsMax with OVERLOADED', async () => {
    const pool = newPool({ callsMax: 2 });
    const kept = [ask(pool, 'a'), ask(pool, 'b')];
    await assert.rejects(ask(pool, 'c'), refusedWith('OVERLOADED'));
    assert.deepEqual(await Promise.all(kept), ['1:2:a', '1:2:b']);
    assert.equal(await ask(pool, 'd'), '2:1:d');
  });

  it('asks once more when a worker dies, and lives on after a question that kills it twice', async () => {
    const pool = newPool();
    assert.equal(await ask(pool, 'a'), '1:1:a');
    await assert.rejects(ask(pool, 'die'), refusedWith('INTERNAL'));
    let answer = '';
    while (answer === '') {
      answer = await ask(pool, 'b').catch((error: unknown) => {
        assert.ok(refusedWith('OVERLOADED')(error));
        return '';
      });
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    assert.equal(answer, '1:1:b');
  });

  it('ends a worker that holds a question beyond its deadline, and starts another', async () => {
    const pool = newPool({ deadlineMs: 6_000 });
    assert.equal(await ask(pool, 'a'), '1:1:a');
    await assert.rejects(ask(pool, 'hang'), refusedWith('DEADLINE_EXCEEDED'));
    const answer = await ask(pool, 'b').catch(() => ask(pool, 'b'));
    assert.match(answer, /:b$/);
  });

  it('drops what nobody waits for before it is sent', async () => {
    const pool = newPool();
    const gone = new AbortController();
    const [dropped, kept] = [ask(pool, 'die', gone.signal), ask(pool, 'a')];
    gone.abort();
    await assert.rejects(dropped);
    assert.equal(await kept, '1:1:a');
  });

  it('answers for a worker that cannot live', async () => {
    const pool = newPool({ setup: { fail: true } });
    await assert.rejects(ask(pool, 'a'), refusedWith('INTERNAL'));
    await assert.rejects(ask(pool, 'a'), refusedWith('OVERLOADED'));
  });

  it('finishes what is under way when it is closed, and takes no more', async () => {
    const pool = newPool();
    const last = ask(pool, 'a');
    const closed = pool.close();
    await assert.rejects(ask(pool, 'b'), refusedWith('SHUTTING_DOWN'));
    assert.equal(await last, '1:1:a');
    await closed;
    await pool.close();
  });
});
