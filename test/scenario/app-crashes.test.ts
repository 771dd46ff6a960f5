/** Apps that end by themselves, in a whole service with real processes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { archiveOf } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { SseParser } from '../support/sse-parser.ts';

const server = `require('node:http').createServer((request, response) => {
  if (request.url === '/kill') process.kill(process.pid, 'SIGKILL');
  else if (request.url === '/end') { console.error('out of luck'); process.exit(5); }
  else response.end('up');
}).listen(process.env.PORT, () => console.log('listening'));`;
const files = { Procfile: 'web: node server.js', 'server.js': server };

interface Ends {
  status: string;
  restarts: number;
  lastExit: {
    at: string;
    code: number | null;
    signal: string | null;
    reason: string;
    lastLines: string[];
  } | null;
}

describe('an app that ends by itself', () => {
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
    app = await client.runningApp('Fragile', archiveOf(files));
  });
  after(() => gangway.end());

  async function ends(): Promise<Ends> {
    const query = `query($id: ID!) { app(id: $id) {
      status restarts lastExit { at code signal reason lastLines } } }`;
    return (await client.must<{ app: Ends }>(query, { id: app.id })).app;
  }
  async function systemLines(): Promise<string[]> {
    const query = 'query($id: ID!) { logs(appId: $id) { nodes { stream text } } }';
    const { logs } = await client.must<{ logs: { nodes: { stream: string; text: string }[] } }>(
      query,
      { id: app.id },
    );
    return logs.nodes.filter(({ stream }) => stream === 'system').map(({ text }) => text);
  }
  const isUp = async (): Promise<boolean> => (await client.visit(app.slug)).text === 'up';

  it('is told in the app, in its log and to who watches that', async (t) => {
    assert.deepEqual(await ends(), { status: 'active', restarts: 0, lastExit: null });
    const leave = new AbortController();
    t.after(() => {
      leave.abort();
    });
    const { body } = await fetch(`${client.url}/api/apps/${app.id}/logs?notices=1`, {
      headers: { cookie: client.cookie },
      signal: leave.signal,
    });
    assert.ok(body);
    const watched = (async () => {
      const parser = new SseParser();
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        for (const { event, data } of parser.push(chunk)) if (event === 'notice') return data;
      }
      return null;
    })();
    await client.visit(app.slug, '/end');
    await until('it has ended', 30_000, async () => (await ends()).restarts === 1);
    const { lastExit } = await ends();
    assert.deepEqual([lastExit?.code, lastExit?.signal, lastExit?.reason], [5, null, 'exited']);
    await until(
      'its last words',
      30_000,
      async () => (await ends()).lastExit?.lastLines.join() === 'listening,out of luck',
    );
    const { atMs, nextStartAtMs, ...notice } = JSON.parse(String(await watched)) as object & {
      atMs: number;
      nextStartAtMs: number;
    };
    const end = { kind: 'crash', reason: 'exited', code: 5, signal: null };
    assert.deepEqual(notice, { ...end, restarts: 1, inRow: 1 });
    assert.equal(new Date(atMs).toISOString(), lastExit?.at);
    assert.ok(nextStartAtMs > atMs);
    assert.deepEqual(await systemLines(), [
      'The app exited with code 5. It is started again (restart 1 of this release).',
    ]);
    await until('it is up', 30_000, isUp);
    await until('it is active', 30_000, async () => (await ends()).status === 'active');
  });

  it('is told once of what happened while the service was away', async () => {
    await gangway.kill9();
    await client.visit(app.slug, '/kill');
    await until('it is up again', 30_000, isUp);
    await gangway.start();
    await until('it is known', 30_000, async () => (await ends()).restarts === 2);
    await until('it is told', 30_000, async () => (await systemLines()).length === 2);
    const { lastExit } = await ends();
    assert.deepEqual([lastExit?.signal, lastExit?.reason], ['SIGKILL', 'killed']);
    await gangway.restart();
    await gangway.killRunner();
    await until('the next runner told', 30_000, async () => (await systemLines()).length === 3);
    const [, killed, lost] = await systemLines();
    assert.equal(
      killed,
      'The app was ended by SIGKILL. It runs again (restart 2 of this release).',
    );
    assert.match(
      String(lost),
      /^The runner ended while this ran\. It ended 3 times in a row\. It .* again/,
    );
    await until('it is up', 30_000, isUp);
    assert.equal((await ends()).restarts, 3);
  });

  it('is no news when somebody stops or restarts it', async () => {
    await client.must('mutation($id: ID!) { restartApp(id: $id) { id } }', { id: app.id });
    await client.must('mutation($id: ID!) { stopApp(id: $id) { id } }', { id: app.id });
    await until('it is stopped', 30_000, async () => (await ends()).status === 'stopped');
    assert.equal((await systemLines()).length, 3);
    assert.equal((await ends()).restarts, 3);
  });
});
