import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { tarEntry } from '../support/archives.ts';
import { cleanups } from '../support/cleanups.ts';
import { archiveOf, packed, Visitor } from '../support/gangway-client.ts';
import type { AppInfo, Client, HookAnswer } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { type FoundProcess, processesOf } from '../support/processes.ts';

/** Does it once the gate of this name is open; at once without a name. */
function behind(gate: string | null, code: string): string {
  if (gate === null) return code;
  return `(function wait() {
    const file = process.env.HOME + '/${gate}';
    if (!require('node:fs').existsSync(file)) return setTimeout(wait, 20);
    ${code}
  })();`;
}

function openGate({ dataDir }: Gangway, app: AppInfo, gate: string): void {
  writeFileSync(join(dataDir, 'apps', app.id, 'home', gate), '');
}

/** Says which release it is; listens only once its gate is open. */
function server(name: string, gate: string | null = null): string {
  const answer = `(_request, response) => response.end('${name}')`;
  return behind(gate, `require('node:http').createServer(${answer}).listen(process.env.PORT);`);
}

const built = { build: { buildCommand: 'node build.js' } };

function slowBuild(name: string, gate: string | null = null): Buffer {
  return archiveOf({
    Procfile: 'web: node server.js',
    'build.js': behind(gate, "console.log('built at last');"),
    'server.js': server(name),
  });
}

function release(name: string, gate: string | null = null): Buffer {
  return archiveOf({ Procfile: 'web: node server.js', 'server.js': server(name, gate) });
}

describe('kill -9 of the service', () => {
  const later = cleanups();
  let gangway: Gangway;
  let client: Client;
  let steady: AppInfo;
  let visitor: Visitor;
  before(async () => {
    gangway = await Gangway.open();
    later(() => gangway.end());
    client = gangway.client;
    steady = await client.runningApp('Steady', packed('procfile'));
    // It goes on answering through all that follows.
    visitor = new Visitor(client, steady.slug);
    later(() => visitor.end());
  });

  /** Files that are still arriving. */
  function temporary(): string[] {
    const folder = join(gangway.dataDir, 'uploads', 'tmp');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  async function statusOf(id: string): Promise<string> {
    return (await client.deployment(id))?.status ?? 'unknown';
  }

  it('during an upload leaves the archive before, and nothing of the new one', async () => {
    const query = 'query($id: ID!) { app(id: $id) { upload { filename size } } }';
    const uploadOf = () => client.must<object>(query, { id: steady.id });
    const known = await uploadOf();
    const socket = slowUpload(gangway, steady.id, client.cookie);
    await until('it arrives', 10_000, () => temporary().length === 1);
    await gangway.kill9();
    socket.destroy();
    await gangway.start();
    await until('the temporary files are gone', 10_000, () => temporary().length === 0);
    assert.deepEqual(await uploadOf(), known);
    await client.mustUpload(steady.id, packed('procfile'));
    const blobs = join(gangway.dataDir, 'uploads', steady.id);
    await until('the replaced archive is gone', 10_000, () => readdirSync(blobs).length === 1);
    await client.deployed(steady.id);
  });

  it('during a build lets it go on and come to its end', async () => {
    const app = await client.runningApp('Builder', slowBuild('first'), built);
    await client.mustUpload(app.id, slowBuild('second', 'built'));
    const id = await client.redeploy(app.id);
    await until('it builds', 20_000, async () => (await statusOf(id)) === 'building');
    await gangway.restart();
    assert.equal((await client.visit(app.slug)).text, 'first');
    await gangway.restart();
    openGate(gangway, app, 'built');
    assert.equal(await client.finished(id), 'ready');
    assert.equal((await client.visit(app.slug)).text, 'second');
    const { log = '' } = (await client.deployment(id)) ?? {};
    assert.equal(log.split('built at last').length - 1, 1, log);
  });

  it('while a release starts leaves the traffic where it is until that is healthy', async () => {
    const app = await client.runningApp('Starter', release('first'));
    const guest = new Visitor(client, app.slug);
    await client.mustUpload(app.id, release('second', 'healthy'));
    const id = await client.redeploy(app.id);
    await until('it starts', 20_000, async () => (await statusOf(id)) === 'starting');
    await gangway.restart();
    assert.equal((await client.visit(app.slug)).text, 'first');
    openGate(gangway, app, 'healthy');
    assert.equal(await client.finished(id), 'ready');
    assert.equal((await client.visit(app.slug)).text, 'second');
    await guest.end();
  });

  it('in a storm of hook calls loses none that was answered', { timeout: 180_000 }, async () => {
    const token = await client.token({ capabilities: ['deploy_apps'] });
    const hooks: string[] = [];
    for (let number = 0; number < 6; number++) {
      const app = await client.createApp(`Storm ${String(number)}`);
      await client.mustUpload(app.id, archiveOf({ 'index.html': `storm ${String(number)}` }));
      hooks.push(await client.hookPath(app.id));
    }
    const answered: HookAnswer[] = [];
    let refused = 0;
    const call = async (path: string): Promise<void> => {
      try {
        const headers = { authorization: `Bearer ${token}` };
        const { status, text } = await gangway.stranger().ask(path, { method: 'POST', headers });
        assert.equal(status, 200, text);
        answered.push(JSON.parse(text) as HookAnswer);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        refused += 1; // The service was gone.
      }
    };
    // 500 calls, most of them to one app, cut twice.
    for (const cut of [true, true, false]) {
      const calls = Array.from({ length: 167 }, (_, number) =>
        call(hooks[number % 3 === 0 ? (number / 3) % hooks.length : 0] ?? ''),
      );
      if (cut) {
        const enough = answered.length + 40;
        await until('some are answered', 20_000, () => answered.length >= enough);
        await gangway.kill9();
      }
      await Promise.all(calls);
      if (cut) await gangway.start();
    }
    assert.ok(answered.length >= 167 + 80, `${String(answered.length)} and ${String(refused)}`);
    const ids = new Set(answered.map(({ deploymentId }) => deploymentId));
    for (const id of ids) assert.equal(await client.finished(id), 'ready');
    for (const [number, path] of hooks.entries()) {
      const slug = `storm-${String(number)}`;
      assert.equal((await client.visit(slug)).text, `storm ${String(number)}`, path);
    }
  });

  it('while a log is followed shows each line once', async () => {
    const env = [{ key: 'LINES_PER_SECOND', value: '1000', isSecret: false }];
    const app = await client.runningApp('Talker', packed('chatty'), { env });
    let text = '';
    let lastId = '';
    for (let round = 0; round < 3; round++) {
      const from: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
      const url = `${gangway.url}/api/apps/${app.id}/logs?tail=5000`;
      const tail = await new LogTail(url, { cookie: client.cookie, ...from }).opened();
      await until('lines', 20_000, () => tail.log.length > 20_000);
      if (round < 2) {
        await gangway.kill9();
        await until('the stream is cut', 10_000, () => tail.ended);
      } else tail.close();
      text += tail.log;
      lastId = tail.lastId;
      assert.deepEqual(
        tail.parser.comments.filter((comment) => comment.startsWith('gap')),
        [],
      );
      if (round < 2) await gangway.start();
    }
    const numbers = text
      .split('\n')
      .slice(0, -1)
      .map((line) => Number(/^line (\d+) /.exec(line)?.[1]));
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => (numbers[0] ?? 0) + index),
    );
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: app.id });
  });
});

describe('kill -9 of the runner', () => {
  let gangway: Gangway;
  let client: Client;
  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
  });
  after(() => gangway.end());

  const answers = (app: AppInfo, text: RegExp): Promise<void> =>
    until('the app answers', 40_000, async () => text.test((await client.visit(app.slug)).text));

  it('starts again what ran, once, and goes on with its log', async () => {
    const app = await client.runningApp('Survivor', packed('procfile'));
    const first = (await client.visit(app.slug)).text;
    await gangway.killRunner();
    await answers(app, /^procfile \d+$/m);
    assert.notEqual((await client.visit(app.slug)).text, first);
    const isIt = ({ command }: FoundProcess): boolean => command.endsWith(' web.js');
    await until('the old one is gone', 10_000, () => processesOf(app.id).filter(isIt).length === 1);
    const tail = new LogTail(`${gangway.url}/api/apps/${app.id}/logs`, { cookie: client.cookie });
    await until('both starts', 10_000, () => tail.log.split('up\n').length === 3);
    tail.close();
    await client.deployed(app.id);
  });

  it('during a build ends the deployment in bounded time', async () => {
    const app = await client.runningApp('Rebuilt', slowBuild('first'), built);
    await client.mustUpload(app.id, slowBuild('second', 'rebuilt'));
    const id = await client.redeploy(app.id);
    await until('it builds', 20_000, async () => {
      const found = await client.deployment(id);
      return found?.log.includes('node build.js') === true;
    });
    await gangway.killRunner();
    openGate(gangway, app, 'rebuilt');
    const status = await client.finished(id, 60_000);
    assert.ok(['ready', 'failed'].includes(status), status);
    await answers(app, status === 'ready' ? /second/ : /first/);
    await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'second');
  });

  it('together with the service is a restart of the machine: all comes back', async () => {
    const app = await client.runningApp('Phoenix', release('phoenix'));
    await client.must('mutation($id: ID!) { stopApp(id: $id) { status } }', {
      id: (await client.runningApp('Stopped', release('stopped'))).id,
    });
    await gangway.kill9();
    await gangway.killRunner();
    await gangway.start();
    await answers(app, /^phoenix$/);
    assert.equal((await client.visit('stopped')).status, 503);
    const statuses = async (): Promise<(string | undefined)[]> => {
      const { apps } = await client.must<{ apps: { nodes: { slug: string; status: string }[] } }>(
        '{ apps { nodes { slug status } } }',
      );
      const status = Object.fromEntries(apps.nodes.map((one) => [one.slug, one.status]));
      return [status['phoenix'], status['stopped']];
    };
    // Its visitors may be answered before its actor has looked at it: until then the status is that of before.
    await until('one is active and one stopped', 20_000, async () =>
      isDeepStrictEqual(await statuses(), ['active', 'stopped']),
    );
    await answers(app, /^phoenix$/);
    assert.deepEqual(await statuses(), ['active', 'stopped']);
  });
});

/** An upload that sends its first bytes and then no more. */
function slowUpload(gangway: Gangway, appId: string, cookie: string): Socket {
  const socket = connect(gangway.port, '127.0.0.1');
  socket.on('error', () => undefined);
  const lines = [
    `POST /api/apps/${appId}/upload HTTP/1.1`,
    'host: localhost',
    `cookie: ${cookie}`,
    'x-upload-filename: new.tar',
    'content-length: 10000000',
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(tarEntry({ name: 'a.txt', data: 'a'.repeat(100_000) }));
  return socket;
}
