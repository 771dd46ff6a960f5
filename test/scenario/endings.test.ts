/** How a service ends: what it waits for, what cuts that short, and what it does not go on without. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { servingArchive } from '../support/console-place.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { sameStopMs } from '../../src/service/signals.ts';
import { Gangway, until } from '../support/gangway.ts';
import { signal } from '../support/processes.ts';
import { secondMs, TimeMachine } from '../support/time-machine.ts';

const patienceMs = 20_000;
const endless = 'while :; do sleep 0.05; done';

describe('a service with a request under way', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-endings-'));
  const time = new TimeMachine(join(folder, 'time'));
  let gangway: Gangway;
  let app: AppInfo;
  before(async () => {
    const env = { GANGWAY_GATEWAY_THREADS: '1', GANGWAY_DRAIN_SECONDS: '80' };
    gangway = await Gangway.open(time.options(env));
    app = await gangway.client.runningApp('Busy', servingArchive);
  });
  after(async () => {
    try {
      await gangway.end();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  /** A command that has begun. */
  async function exec(command: string): Promise<{ answer: Promise<unknown> }> {
    const begun = `begun-${String(Math.random()).slice(2)}`;
    const { client } = gangway;
    const answer = client.must<{ execConsole: { exitCode: number } }>(
      'mutation($id: ID!, $command: String!) { execConsole(appId: $id, command: $command) { exitCode } }',
      { id: app.id, command: `touch "$APP_DATA_DIR/${begun}"; ${command}` },
    );
    answer.catch(() => undefined);
    const look = `mutation($id: ID!) { execConsole(appId: $id, command: "ls $APP_DATA_DIR") { output } }`;
    await until('it has begun', patienceMs, async () => {
      const { execConsole } = await client.must<{ execConsole: { output: string } }>(look, {
        id: app.id,
      });
      return execConsole.output.includes(begun);
    });
    return { answer };
  }

  it('answers it while drainSeconds are not over', async () => {
    const { answer } = await exec('until [ -e "$HOME/go" ]; do sleep 0.05; done');
    const exit = gangway.stop();
    await until('it drains', patienceMs, () => gangway.logged('draining').length === 1);
    await time.jump(30 * secondMs);
    writeFileSync(join(gangway.dataDir, 'apps', app.id, 'home', 'go'), '');
    assert.deepEqual(await answer, { execConsole: { exitCode: 0 } });
    assert.deepEqual(await exit, { code: 0, signal: null });
    await gangway.start();
  });

  it('ends at a second signal', async () => {
    const { answer } = await exec(endless);
    const drains = gangway.logged('draining').length;
    const exit = gangway.stop();
    await until('it drains', patienceMs, () => gangway.logged('draining').length > drains);
    await time.jump(sameStopMs);
    signal(gangway.pid, 'SIGTERM');
    assert.deepEqual(await exit, { code: 1, signal: null });
    await assert.rejects(answer);
  });
});

it('a service that lost a gateway thread ends and says so', async (t) => {
  const preload = fileURLToPath(new URL('../support/failing-thread.ts', import.meta.url));
  const gangway = await Gangway.create({
    env: { GANGWAY_GATEWAY_THREADS: '2' },
    nodeArgs: ['--import', preload],
  });
  t.after(() => gangway.end());
  const { code, signal: name, text } = await gangway.run(['serve']);
  assert.deepEqual({ code, name }, { code: 1, name: null }, text);
  assert.equal(text.match(/"level":60,.*"msg":"gateway_thread_lost"/g)?.length, 1, text);
});

it('a service that is told to stop while it starts ends in order, though its start fails', async (t) => {
  const fault = fileURLToPath(
    new URL('../fixtures/faults/fails-while-it-stops.ts', import.meta.url),
  );
  const gangway = await Gangway.create({ nodeArgs: ['--import', fault] });
  t.after(() => gangway.end());
  const { code, signal: name, text } = await gangway.run(['serve']);
  assert.deepEqual({ code, name }, { code: 0, name: null }, text);
  for (const event of ['draining', 'start_cut_short', 'stopped'])
    assert.equal(text.split(`"msg":"${event}"`).length, 2, text);
  assert.doesNotMatch(text, /^gangway: /m);
});
