import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Gangway, until } from '../support/gangway.ts';
import { signal } from '../support/processes.ts';

const waitMs = 20_000;

/** A service that breaks in this way at SIGUSR2. */
async function openWith(
  t: TestContext,
  fault: string,
  provoked: RegExp,
  own: Record<string, string> = {},
): Promise<Gangway> {
  const file = fileURLToPath(new URL(`../fixtures/faults/${fault}.ts`, import.meta.url));
  const env = { ...own, NODE_OPTIONS: `--import=${file}` };
  const gangway = await Gangway.create({ env, provoked });
  t.after(() => gangway.end());
  await gangway.start();
  await gangway.client.setUp();
  return gangway;
}

async function metric(gangway: Gangway, line: string): Promise<boolean> {
  return (await gangway.client.ask('/metrics')).text.includes(line);
}

describe('a service with a bug', () => {
  it('goes on serving when nobody caught what was thrown or rejected, and counts it', async (t) => {
    const gangway = await openWith(t, 'throws-on-signal', /not_caught|not_handled/);
    for (const times of [1, 2]) {
      signal(gangway.pid, 'SIGUSR2');
      await until('both are logged', waitMs, () =>
        ['exception_not_caught', 'rejection_not_handled'].every(
          (event) => gangway.logged(event).length === times,
        ),
      );
      const [{ err } = {}] = gangway.logged('exception_not_caught');
      assert.equal((err as { message: string }).message, 'thrown where nobody catches');
      const { me } = await gangway.client.must('{ me { email } }');
      assert.ok(me);
      await gangway.client.must('mutation($name: String!) { createFolder(name: $name) { id } }', {
        name: `after ${String(times)}`,
      });
    }
    const name = 'gangway_uncaught_errors_total';
    assert.ok(await metric(gangway, `${name}{kind="exception"} 2`));
    assert.ok(await metric(gangway, `${name}{kind="rejection"} 2`));
    assert.equal((await gangway.stop()).code, 0);
  });

  it('ends in order when its store is broken, and serves what was stored at its next start', async (t) => {
    const gangway = await openWith(t, 'store-breaks-on-signal', /store_broken/);
    await gangway.client.must('mutation { createFolder(name: "kept") { id } }');
    signal(gangway.pid, 'SIGUSR2');
    let times = 0;
    await until('a change is refused', waitMs, async () => {
      times += 1;
      const name = `perhaps ${String(times)}`;
      const change = 'mutation($name: String!) { createFolder(name: $name) { id } }';
      return (await gangway.client.fails(change, { name })) === 'INTERNAL';
    });
    assert.deepEqual(await gangway.ended(), { code: 1, signal: null });
    assert.equal(gangway.logged('store_broken').length, 1);
    assert.equal(gangway.logged('draining').length, 1);
    await gangway.start();
    const { folders } = await gangway.client.must<{ folders: object[] }>('{ folders { name } }');
    assert.equal(folders.length, times);
  });

  it('ends when one of its gateway threads cannot go on, and says so once', async (t) => {
    const threads = { GANGWAY_GATEWAY_THREADS: '2' };
    const gangway = await openWith(t, 'journal-is-gone-on-signal', /thread_lost|_failed/, threads);
    const ended = gangway.ended();
    let isOver = false;
    void ended.then(() => (isOver = true));
    signal(gangway.pid, 'SIGUSR2');
    await until('it ends', waitMs, async () => {
      const change = 'mutation { createFolder(name: "more") { id } }';
      if (!isOver) await gangway.client.fails(change).catch(() => undefined);
      return isOver;
    });
    assert.deepEqual(await ended, { code: 1, signal: null });
    assert.equal(gangway.logged('gateway_thread_lost').length, 1);
  });
});
