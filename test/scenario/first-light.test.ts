import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { packed, Visitor } from '../support/gangway-client.ts';
import type { AppInfo, Client, HookAnswer } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { needs } from '../support/programs.ts';

const numbered = /^line (\d+) of many, as a busy app prints them$/;

interface Run {
  from: number;
  to: number;
}

/**
 * The runs that a busy app's log shows, in the order of their beginnings; while one takes the place
 * of another, lines of both come side by side. Fails where a line is missing, torn or twice.
 */
function runsOf(text: string): Run[] {
  const runs: Run[] = [];
  for (const line of text.split('\n').slice(0, -1)) {
    const number = Number(numbered.exec(line)?.[1] ?? NaN);
    assert.ok(!Number.isNaN(number), `a whole line: ${JSON.stringify(line)}`);
    const run = runs.find(({ to }) => to === number - 1);
    if (run !== undefined) run.to = number;
    else {
      const known = JSON.stringify(runs);
      assert.ok(runs.length === 0 || number === 0, `${String(number)} continues none of ${known}`);
      runs.push({ from: number, to: number });
    }
  }
  return runs;
}

describe('first light', () => {
  let gangway: Gangway;
  let client: Client;
  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
  });
  after(() => gangway.end());

  /** Uploads, calls the hook as CI does, waits until it is live. */
  async function deployByHook(app: AppInfo, archive: Buffer): Promise<void> {
    await client.mustUpload(app.id, archive);
    const token = await client.token({ capabilities: ['deploy_apps'] });
    const answer = await gangway.stranger().ask(await client.hookPath(app.id), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(answer.status, 200, answer.text);
    const hook = JSON.parse(answer.text) as HookAnswer;
    assert.deepEqual(
      { ...hook, deploymentId: '' },
      { deploymentId: '', appId: app.id, status: 'queued', url: app.url },
    );
    const status = await client.finished(hook.deploymentId);
    assert.equal(status, 'ready', (await client.deployment(hook.deploymentId))?.log);
  }

  function tail(app: AppInfo, query: string, headers: Record<string, string> = {}): LogTail {
    return new LogTail(`${gangway.url}/api/apps/${app.id}/logs?${query}`, {
      cookie: client.cookie,
      ...headers,
    });
  }

  it('takes an Express app from an archive to a browser', { skip: needs('curl') }, async () => {
    const app = await client.createApp('Shop', {
      build: { healthPath: '/healthz' },
      env: [{ key: 'GREETING', value: 'hello from a variable', isSecret: false }],
    });
    await deployByHook(app, packed('express'));
    // As a person opens it: the name resolves to this machine.
    assert.equal(
      execFileSync('curl', ['-sS', app.url], { encoding: 'utf8' }),
      'hello from a variable',
    );
    const log = await tail(app, 'tail=10').opened();
    await until('the log', 10_000, () => /^listening on \d+$/m.test(log.log));
    log.close();
    const state = await client.must<{
      app: { status: string; latestDeployment: { status: string } };
    }>('query($id: ID!) { app(id: $id) { status latestDeployment { status } } }', { id: app.id });
    assert.deepEqual(state.app, { status: 'active', latestDeployment: { status: 'ready' } });
  });

  it('builds a Vite site and serves it with its assets', async () => {
    const app = await client.createApp('Site');
    await deployByHook(app, packed('vite-static'));
    const page = await client.visit(app.slug);
    assert.equal(page.status, 200);
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.text)?.[1] ?? '';
    assert.match((await client.visit(app.slug, script)).text, /built in/);
    assert.equal((await client.visit(app.slug, '/no-such-file.js')).status, 404);
  });

  it('shows 5,000 lines a second in order, each once, over reconnects and a redeploy', async () => {
    const app = await client.createApp('Chatty');
    await deployByHook(app, packed('chatty'));
    const steady = await tail(app, 'tail=0').opened();
    await until('lines', 20_000, () => steady.log.length > 100_000);
    const visitor = new Visitor(client, app.slug);
    // One that reconnects where it was cut, several times, also in the middle of a redeploy.
    let resumed = '';
    let lastId = '';
    const cut = async (): Promise<void> => {
      const part = await tail(
        app,
        'tail=0',
        lastId === '' ? {} : { 'last-event-id': lastId },
      ).opened();
      await until('more lines', 20_000, () => part.log.length > 200_000);
      part.close();
      resumed += part.log;
      lastId = part.lastId;
    };
    await cut();
    await cut();
    const deploying = deployByHook(app, packed('chatty'));
    while (!(await settled(deploying))) await cut();
    // Lines of the new release, by both.
    const isOfNew = (text: string): boolean => (runsOf(text)[1]?.to ?? 0) > 1000;
    while (!isOfNew(resumed)) await cut();
    await until('lines of the new release', 20_000, () => isOfNew(steady.log));
    await visitor.end();
    steady.close();
    for (const text of [steady.log, resumed]) {
      const runs = runsOf(text);
      assert.equal(runs.length, 2);
      assert.equal(runs[1]?.from, 0);
    }
    // The same bytes, whoever reads them.
    const common = steady.log.indexOf(resumed.slice(0, resumed.indexOf('\n') + 1));
    const shorter = Math.min(steady.log.length - common, resumed.length);
    assert.ok(steady.log.slice(common, common + shorter) === resumed.slice(0, shorter));
  });
});

async function settled(promise: Promise<void>): Promise<boolean> {
  const waiting = Symbol('waiting');
  return (await Promise.race([promise, Promise.resolve(waiting)])) !== waiting;
}
