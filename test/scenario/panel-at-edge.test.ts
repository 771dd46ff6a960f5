/** The panel at the edge: under a host of its own, over HTTPS with a certificate that came by itself. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import { tar } from '../support/archives.ts';
import { cleanups } from '../support/cleanups.ts';
import { DnsServer } from '../support/dns-server.ts';
import { eventually, found } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { owner } from '../support/gangway-client.ts';
import { PanelVisitor } from '../support/panel-visitor.ts';
import { Pebble } from '../support/pebble.ts';
import { plainRequest } from '../support/plain-request.ts';
import { freePort } from '../support/ports.ts';
import { needs } from '../support/programs.ts';

const host = 'panel.example';
const visitor = '127.0.0.2';
/** What somebody says of himself. */
const forged = {
  'x-forwarded-for': '203.0.113.9',
  'x-forwarded-proto': 'http',
  'x-real-ip': '203.0.113.9',
  forwarded: 'for=203.0.113.9',
};
const logIn = `mutation($email: String!, $password: String!) {
  login(email: $email, password: $password) { viewer { id } } }`;
const setUp = `mutation($email: String!, $password: String!) {
  completeSetup(email: $email, password: $password, name: "Eve", teamName: "E") { viewer { id } } }`;
const sessions = '{ mySessions { address current } }';

describe('the panel at the edge', { skip: needs('pebble', 'openssl') }, () => {
  const later = cleanups();
  let dns: DnsServer;
  let gangway: Gangway;
  let person: PanelVisitor;
  let tlsPort: number;

  before(async () => {
    dns = await DnsServer.open();
    later(() => dns.close());
    dns.set('A', host, '127.0.0.1');
    const port = await freePort();
    tlsPort = await freePort();
    const pebble = await Pebble.open({ dns: dns.address, httpPort: port });
    later(() => pebble.close());
    gangway = await Gangway.create({
      env: {
        GANGWAY_EDGE_PORT: String(port),
        GANGWAY_EDGE_TLS_PORT: String(tlsPort),
        GANGWAY_PUBLIC_URL: `https://${host}:${String(tlsPort)}`,
        GANGWAY_EDGE_PANEL: 'on',
        GANGWAY_PANEL_HSTS_SECONDS: '300',
        GANGWAY_ACME_DIRECTORY: pebble.directory,
        GANGWAY_ACME_CA: pebble.ca,
        GANGWAY_APPS_DOMAIN: 'apps.example',
      },
    });
    later(() => gangway.end());
    const root = await pebble.root();
    person = new PanelVisitor({ port, tlsPort, host, root, address: visitor });
    await gangway.start();
    await eventually('the panel over HTTPS', () =>
      person.ask({ path: '/api/health' }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });

  it('takes nobody for a person of this machine, whatever he says', async () => {
    const local = new PanelVisitor({ ...person.options, address: '127.0.0.1' });
    for (const headers of [{}, forged, { ...forged, 'x-forwarded-for': '127.0.0.1' }]) {
      const { code } = await local.graphql(setUp, owner, headers);
      assert.equal(code, 'SETUP_CODE_REQUIRED');
    }
    const page = await local.ask({ path: '/setup' });
    assert.match(page.text, /name="setupCode"/);
    // Who is at the port itself, on this machine, needs none.
    await gangway.client.setUp();
  });

  it('signs people in by their own address, with a cookie for HTTPS alone', async () => {
    const { data, seen } = await person.graphql(logIn, owner, forged);
    assert.ok(data, seen.text);
    assert.match(person.cookies.join(), /session_token=.*; Secure/);
    assert.equal(seen.headers['strict-transport-security'], 'max-age=300');
    const { mySessions } = await person.must<{
      mySessions: { address: string; current: boolean }[];
    }>(sessions);
    assert.deepEqual(
      mySessions.filter(({ current }) => current).map(({ address }) => address),
      [visitor],
    );
  });

  it('refuses what the page of another host makes a browser send', async () => {
    const rename = 'mutation { updateInstanceSettings(logMaxDays: 9) { logMaxDays } }';
    const origin = `https://shop.apps.example:${String(tlsPort)}`;
    assert.equal((await person.graphql(rename, {}, { origin })).code, 'CROSS_SITE');
    assert.equal((await person.graphql(rename)).code, undefined);
  });

  it('sends those who come by HTTP to HTTPS, and lets nothing through', async () => {
    const { status, headers } = await person.plain({ path: '/api/health?a=b' });
    assert.deepEqual([status, headers.location], [308, `${person.origin}/api/health?a=b`]);
    const proof = await person.plain({ path: '/.well-known/acme-challenge/token' });
    assert.match(proof.text, /^token\.[\w-]{43}$/);
    const other = await person.plain({ path: '/.well-known/acme-challenge/a/b' });
    assert.equal(other.status, 308);
  });

  it('answers on its connections for no app', async () => {
    await person.must('mutation { createApp(input: { name: "Beside", source: UPLOAD }) { id } }');
    const asked = { path: '/api/health', host: 'beside.apps.example' };
    await eventually('the app', async () => (await person.plain(asked)).status === 503);
    assert.equal((await person.ask(asked)).status, 421);
  });

  it('streams both ways', async () => {
    const { createApp: app } = await person.must<{ createApp: { id: string } }>(
      'mutation { createApp(input: { name: "Shop", source: UPLOAD }) { id } }',
    );
    const stream = await person.open({
      ...{ method: 'POST', path: '/api/graphql' },
      headers: {
        ...{ accept: 'text/event-stream', 'content-type': 'application/json' },
        origin: person.origin,
      },
      body: JSON.stringify({ query: `subscription { appStatus(id: "${app.id}") { name } }` }),
    });
    assert.equal(stream.statusCode, 200);
    let told = '';
    stream.setEncoding('utf8').on('data', (text: string) => (told += text));
    await eventually('the first event', () => told.includes('"name":"Shop"'));
    await person.must(`mutation { updateApp(id: "${app.id}", name: "Store") { id } }`);
    await eventually('the next event', () => told.includes('"name":"Store"'));
    stream.destroy();
    // Of what is sent in two halves the first arrives before the second is there.
    const archive = tar({ name: 'index.html', data: Buffer.alloc(2 << 20, 'a') });
    const length = { 'content-length': archive.length };
    const upload = person.begin({
      ...{ method: 'POST', path: `/api/apps/${app.id}/upload` },
      headers: { 'x-upload-filename': 'site.tar', origin: person.origin, ...length },
    });
    const answer = once(upload, 'response') as Promise<[IncomingMessage]>;
    upload.write(archive.subarray(0, archive.length / 2));
    const arriving = path.join(gangway.dataDir, 'uploads', 'tmp');
    await eventually('the first half', () => {
      const names = fs.existsSync(arriving) ? fs.readdirSync(arriving) : [];
      return names.some((name) => fs.statSync(path.join(arriving, name)).size >= 1e6);
    });
    upload.end(archive.subarray(archive.length / 2));
    const [{ statusCode }] = await answer;
    assert.equal(statusCode, 200);
  });

  it('carries WebSockets of its own pages alone', async (t) => {
    await assert.rejects(person.follow('https://shop.apps.example'), { status: 403 });
    const socket = await person.follow();
    t.after(() => socket.close());
    socket.send({ type: 'connection_init' });
    assert.equal((await socket.next())?.type, 'connection_ack');
    socket.subscribe('1', sessions);
    const told = await socket.next();
    assert.equal(told?.type, 'next');
    assert.match(JSON.stringify(told), /"address":"127\.0\.0\.2","current":true/);
  });

  it('is told of by a page while Gangway is away, and is back by itself', async () => {
    await gangway.kill9();
    const { status, headers, text } = await person.ask({ path: '/', headers: { accept: '*/*' } });
    assert.deepEqual([status, headers['retry-after']], [503, '2']);
    assert.match(text, /Gangway is restarting/);
    await gangway.start();
    const { mySessions } = await found('the panel again', async () => {
      const { data } = await person.graphql<{ mySessions: unknown[] }>(sessions);
      return data ?? undefined;
    });
    assert.ok(mySessions.length > 0);
  });

  it('is no domain, and no name, of an app', async () => {
    const { createApp: app } = await person.must<{ createApp: { id: string } }>(
      'mutation { createApp(input: { name: "Other", source: UPLOAD }) { id } }',
    );
    const add = `mutation($host: String!) { addDomain(appId: "${app.id}", host: $host) { id } }`;
    for (const name of [host, `PANEL.example.`]) {
      const { code } = await person.graphql(add, { host: name });
      assert.equal(code, 'BAD_USER_INPUT', name);
    }
  });

  it('believes nobody at its port, and lets no app to its sockets', async (t) => {
    const { port, dataDir } = gangway;
    const signIn = await plainRequest({
      ...{ port, method: 'POST', path: '/api/graphql' },
      headers: { host: `127.0.0.1:${String(port)}`, 'content-type': 'application/json', ...forged },
      body: JSON.stringify({ query: logIn, variables: owner }),
    });
    const cookie = String(signIn.headers['set-cookie']).split(';')[0] ?? '';
    const seen = await plainRequest({
      ...{ port, method: 'POST', path: '/api/graphql' },
      headers: { host: `127.0.0.1:${String(port)}`, 'content-type': 'application/json', cookie },
      body: JSON.stringify({ query: sessions }),
    });
    assert.match(seen.text, /"address":"127\.0\.0\.1","current":true/);
    if (process.getuid?.() !== 0) {
      t.diagnostic('that apps cannot reach the sockets needs root');
      return;
    }
    const socket = path.join(dataDir, 'run', 'panel', 'panel-0.sock');
    const script = `require('node:net').connect(${JSON.stringify(socket)})
      .on('connect', () => process.exit(7)).on('error', ({ code }) => process.exit(code === 'EACCES' ? 3 : 4))`;
    const app = spawn(process.execPath, ['-e', script], {
      ...{ uid: 219_004, gid: 219_004, cwd: '/', stdio: 'ignore' },
    });
    assert.deepEqual(await once(app, 'exit'), [3, null]);
  });
});
