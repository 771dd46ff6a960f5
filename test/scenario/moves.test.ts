/** Apps and databases move to another server and back, with all that they have, or stay where they were. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import { cleanups } from '../support/cleanups.ts';
import { Databases } from '../support/databases.ts';
import { type AppInfo, archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { type OtherServer, otherServer } from '../support/other-server.ts';
import { freePort } from '../support/ports.ts';

interface Move {
  phase: string;
  error: string | null;
  copiedBytes: number;
  endedAt: string | null;
}

/** Counts its visits in its data, which also has what is easily lost on the way. */
const counter = `
const fs = require('node:fs');
const dir = process.env.APP_DATA_DIR;
if (!fs.existsSync(dir + '/count')) {
  fs.writeFileSync(dir + '/count', '0');
  fs.mkdirSync(dir + '/empty folder');
  fs.writeFileSync(dir + '/secret', 'key', { mode: 0o600 });
  fs.symlinkSync('/usr/share', dir + '/outside');
  fs.writeFileSync(dir + '/line\\nbreak', 'odd');
  fs.utimesSync(dir + '/secret', 1e9, 1e9);
  fs.writeFileSync(dir + '/large', Buffer.alloc(3 * 1024 * 1024, 7));
}
const { mode, mtimeMs } = fs.statSync(dir + '/secret');
const kept = [fs.readdirSync(dir).sort(), (mode & 0o777).toString(8), mtimeMs, fs.readlinkSync(dir + '/outside'), fs.statSync(dir + '/large').size];
require('node:http').createServer((request, answer) => {
  const count = Number(fs.readFileSync(dir + '/count')) + 1;
  fs.writeFileSync(dir + '/count', String(count));
  answer.end(JSON.stringify([count, ...kept]));
}).listen(process.env.PORT);`;

/** Runs nowhere but where it ran first. */
const faithful = `
const fs = require('node:fs');
const file = process.env.APP_DATA_DIR + '/home';
if (!fs.existsSync(file)) fs.writeFileSync(file, process.env.APP_DATA_DIR);
if (fs.readFileSync(file, 'utf8') !== process.env.APP_DATA_DIR) { console.error('not at home'); process.exit(3); }
require('node:http').createServer((request, answer) => answer.end('at home')).listen(process.env.PORT);`;

const local = 'srv_local';

describe('moves', () => {
  const later = cleanups();
  let gangway: Gangway;
  let other: OtherServer;

  before(async () => {
    gangway = await Gangway.open({ env: { GANGWAY_AGENT_PORT: String(await freePort()) } });
    later(() => gangway.end());
    other = await otherServer(gangway);
    later(() => other.end());
  });

  const mutation = (kind: string): string =>
    `mutation($id: ID!, $serverId: ID!) { move${kind}(id: $id, serverId: $serverId) { move { phase } } }`;
  const move = (kind: 'App' | 'Database', id: string, serverId: string): Promise<object> =>
    gangway.client.must<object>(mutation(kind), { id, serverId });
  const refusal = (
    kind: 'App' | 'Database',
    id: string,
    serverId: string,
  ): Promise<string | undefined> => gangway.client.fails(mutation(kind), { id, serverId });
  const lastMove = async (kind: 'app' | 'database', id: string): Promise<Move & { at: string }> => {
    const query = `query($id: ID!) { it: ${kind}(id: $id) { serverId move { phase error copiedBytes endedAt } } }`;
    const { it } = await gangway.client.must<{ it: { serverId: string; move: Move } }>(query, {
      id,
    });
    return { ...it.move, at: it.serverId };
  };
  const ended = async (kind: 'app' | 'database', id: string): Promise<Move & { at: string }> => {
    await until('the move is over', 60_000, async () => {
      const { phase } = await lastMove(kind, id);
      return phase === 'done' || phase === 'failed';
    });
    return await lastMove(kind, id);
  };
  const running = async (
    name: string,
    server: string,
    more: Record<string, unknown> = {},
  ): Promise<AppInfo> => {
    const app = await gangway.client.createApp(name, more);
    await gangway.client.mustUpload(
      app.id,
      archiveOf({ Procfile: 'web: node server.js\n', 'server.js': server }),
    );
    await gangway.client.deployed(app.id);
    return app;
  };
  const answers = async (slug: string, text: RegExp): Promise<string> => {
    let last = '';
    await until(`${slug} answers`, 30_000, async () => {
      last = (await gangway.client.visit(slug)).text;
      return text.test(last);
    });
    return last;
  };
  const folders = (id: string): { here: string; there: string } => ({
    here: path.join(gangway.dataDir, 'apps', id),
    there: path.join(other.dataDir, 'apps', id),
  });
  const gone = (folder: string): Promise<void> =>
    until(`${folder} is gone`, 20_000, () => !fs.existsSync(folder));

  it('takes an app there and back, with its release and all of its data', async () => {
    const app = await running('Counter', counter);
    const { here, there } = folders(app.id);
    const [, ...kept] = JSON.parse(await answers(app.slug, /^\[1,/)) as unknown[];
    assert.deepEqual(kept, [
      ['count', 'empty folder', 'large', 'line\nbreak', 'outside', 'secret'],
      ...['600', 1e12, '/usr/share', 3 * 1024 * 1024],
    ]);
    await move('App', app.id, other.serverId);
    const { phase, error, at, endedAt } = await ended('app', app.id);
    assert.deepEqual([phase, error, at], ['done', null, other.serverId]);
    assert.ok(endedAt);
    // By way of this edge, and at its own.
    assert.deepEqual(JSON.parse(await answers(app.slug, /^\[2,/)), [2, ...kept]);
    assert.deepEqual(JSON.parse((await other.there.visit(app.slug)).text), [3, ...kept]);
    await gone(here);
    await move('App', app.id, local);
    assert.equal((await ended('app', app.id)).phase, 'done');
    assert.deepEqual(JSON.parse(await answers(app.slug, /^\[4,/)), [4, ...kept]);
    await gone(there);
    assert.equal((await other.there.visit(app.slug)).status, 404);
  });

  it('takes a database, whose apps are stopped or moved with it', async () => {
    const databases = new Databases(gangway);
    const { id } = await databases.create({ name: 'Orders' });
    await databases.becomes(id, 'running');
    const sql = async (command: string): Promise<string> => {
      const query =
        'mutation($id: ID!, $command: String!) { execDatabaseConsole(databaseId: $id, command: $command) { output } }';
      const { execDatabaseConsole } = await gangway.client.must<{
        execDatabaseConsole: { output: string };
      }>(query, { id, command });
      return execDatabaseConsole.output;
    };
    await sql('CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    const app = await running('Shop', counter, {
      env: [{ key: 'URL', value: `\${database.${id}.url}` }],
    });
    assert.equal(await refusal('Database', id, other.serverId), 'CONFLICT');
    assert.equal(await refusal('App', app.id, other.serverId), 'CONFLICT');
    await gangway.client.must('mutation($id: ID!) { stopApp(id: $id) { id } }', { id: app.id });
    await move('Database', id, other.serverId);
    const { phase, error, at } = await ended('database', id);
    assert.deepEqual([phase, error, at], ['done', null, other.serverId]);
    assert.match(await sql('SELECT sum(n) FROM kept'), /500500/);
    await gone(folders(id).here);
    await move('App', app.id, other.serverId);
    assert.equal((await ended('app', app.id)).phase, 'done');
    await gangway.client.must('mutation($id: ID!) { startApp(id: $id) { id } }', { id: app.id });
    await answers(app.slug, /^\[1,/);
  });

  it('leaves an app where it was that is not well there', async () => {
    const app = await running('Homebody', faithful);
    await answers(app.slug, /at home/);
    await move('App', app.id, other.serverId);
    // Nothing else is done to it meanwhile.
    const stop = 'mutation($id: ID!) { deleteApp(id: $id) }';
    assert.equal(await gangway.client.fails(stop, { id: app.id }), 'CONFLICT');
    const { phase, error, at } = await ended('app', app.id);
    assert.deepEqual([phase, at], ['failed', local]);
    assert.match(error ?? '', /exit|ended/i);
    await answers(app.slug, /at home/);
    await gone(folders(app.id).there);
    assert.equal((await other.there.visit(app.slug)).status, 404);
  });

  it('refuses what cannot be moved, and ends a move that is taken back', async () => {
    const app = await running('Bound', counter);
    assert.equal(await refusal('App', app.id, local), 'CONFLICT');
    assert.equal(await refusal('App', app.id, 'srv_none'), 'NOT_FOUND');
    const drain =
      'mutation($id: ID!, $drain: Boolean!) { drainServer(id: $id, drain: $drain) { id } }';
    await gangway.client.must(drain, { id: other.serverId, drain: true });
    assert.equal(await refusal('App', app.id, other.serverId), 'CONFLICT');
    await gangway.client.must(drain, { id: other.serverId, drain: false });
    await move('App', app.id, other.serverId);
    assert.equal(await refusal('App', app.id, 'srv_none'), 'NOT_FOUND');
    await move('App', app.id, local);
    const { phase, error, at } = await ended('app', app.id);
    assert.deepEqual(
      [phase, error, at],
      ['failed', 'Somebody wanted it to stay where it was.', local],
    );
    await answers(app.slug, /^\[\d+,/);
  });

  it('stays where it was when the other server, or Gangway, dies on the way', async () => {
    const app = await running('Sturdy', counter);
    await answers(app.slug, /^\[1,/);
    await other.agent.end('SIGKILL');
    await other.connected(false);
    assert.equal(await refusal('App', app.id, other.serverId), 'AGENT_UNREACHABLE');
    await other.agent.start();
    await other.connected(true);
    await move('App', app.id, other.serverId);
    await other.agent.end('SIGKILL');
    assert.deepEqual(
      [(await ended('app', app.id)).phase, (await lastMove('app', app.id)).at],
      ['failed', local],
    );
    await answers(app.slug, /^\[2,/);
    await other.agent.start();
    await other.connected(true);
    await move('App', app.id, other.serverId);
    await gangway.kill9();
    const againMs = Date.now();
    await gangway.start();
    await other.connected(true, againMs);
    // Where it copied it stays; where it had only to start it has gone over.
    const { at } = await ended('app', app.id);
    assert.ok([local, other.serverId].includes(at));
    await answers(app.slug, /^\[3,/);
  });

  it('are what becomes of all that a server has which is removed by force', async () => {
    const query =
      '{ databases { id name serverId } apps { nodes { id slug name serverId } } servers { id draining problem } }';
    type Things = Record<'id' | 'slug' | 'name' | 'serverId', string>[];
    interface All {
      databases: Things;
      apps: { nodes: Things };
      servers: { id: string; draining: boolean; problem: string | null }[];
    }
    const all = (): Promise<All> => gangway.client.must<All>(query);
    const before = await all();
    const isThere = ({ serverId }: { serverId: string }): boolean => serverId === other.serverId;
    assert.deepEqual(
      before.databases.filter(isThere).map(({ name }) => name),
      ['Orders'],
    );
    assert.ok(before.apps.nodes.some((app) => isThere(app) && app.name === 'Shop'));
    const homebody = before.apps.nodes.find(({ name }) => name === 'Homebody');
    assert.ok(homebody);
    const bound = await running('Rooted', faithful, { serverId: other.serverId });
    const remove = 'mutation($id: ID!, $force: Boolean) { removeServer(id: $id, force: $force) }';
    const id = other.serverId;
    assert.equal(await gangway.client.fails(remove, { id }), 'CONFLICT');
    type Removed = { removeServer: boolean };
    assert.equal(
      (await gangway.client.must<Removed>(remove, { id, force: true })).removeServer,
      false,
    );
    // It runs nowhere else, and so the server stays.
    await until('it says why it stays', 90_000, async () =>
      (await all()).servers.some((one) => one.id === id && one.problem !== null),
    );
    const [stays] = (await all()).servers.filter((one) => one.id === id);
    assert.match(stays?.problem ?? '', /^Rooted is not moved: /);
    await gangway.client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: bound.id });
    assert.equal(
      (await gangway.client.must<Removed>(remove, { id, force: true })).removeServer,
      false,
    );
    await gangway.kill9();
    await gangway.start();
    await until(
      'it is removed',
      90_000,
      async () => !(await all()).servers.some((one) => one.id === id),
    );
    assert.ok(![...(await all()).databases, ...(await all()).apps.nodes].some(isThere));
    const shop = before.apps.nodes.find(({ name }) => name === 'Shop');
    await answers(shop?.slug ?? '', /^\[\d+,/);
  });
});
