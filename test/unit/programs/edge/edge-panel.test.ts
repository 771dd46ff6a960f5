/** The edge in front of the panel, as apps and visitors who mean harm may try it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

import { closeServer, EdgePlace } from '../../../support/edge-place.ts';
import { CertificateAuthority } from '../../../support/certificate-authority.ts';
import { needs } from '../../../support/programs.ts';

const host = 'panel.localhost';
const origin = 'https://panel.localhost:8443';

describe('an edge in front of the panel', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let place: EdgePlace;
  let panel: http.Server;
  let dir: string;
  /** What came to the panel. */
  let asked: http.IncomingMessage[];

  before(() => {
    authority = new CertificateAuthority();
  });
  after(() => authority.close());
  beforeEach(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-edge-panel-'));
    place = await new EdgePlace().open();
    await place.listenTls();
    asked = [];
    await openPanel();
    route();
  });
  afterEach(async () => {
    await place.close();
    await closeServer(panel);
    fs.rmSync(dir, { recursive: true });
  });

  const socket = (): string => path.join(dir, 'panel-0.sock');
  const openPanel = async (): Promise<void> => {
    panel = http.createServer((request, response) => {
      asked.push(request);
      response.end('the panel');
    });
    panel.listen(socket());
    await once(panel, 'listening');
  };
  const route = (...before: { host: string; targets: { host: string; port: number }[] }[]) =>
    place.edge.setRoutes([
      ...before,
      {
        host,
        targets: [{ host, port: 0, socket: socket() }],
        vacancy: 'panel_away',
        panel: { origin },
        acmeThumbprint: 'print',
      },
    ]);
  const certify = () => place.edge.setCertificates([authority.issue([host])]);
  const askTls = (more: http.RequestOptions = {}, servername = host) =>
    place.askTls({ ca: authority.root, servername, headers: { host }, ...more });
  const ask = (more: http.RequestOptions = {}) => place.ask({ headers: { host }, ...more });

  it('passes nothing on over HTTP, with a certificate or without', async () => {
    const bare = await ask({ path: '/a?b' });
    assert.equal(bare.status, 503);
    assert.match(bare.body, /certificate for that is not there yet/);
    certify();
    const { status, headers } = await ask({ path: '/a?b' });
    assert.deepEqual([status, headers.location], [308, `${origin}/a?b`]);
    const challenge = '/.well-known/acme-challenge/';
    assert.equal((await ask({ path: `${challenge}t` })).body, 't.print');
    assert.equal((await ask({ path: `${challenge}t/` })).status, 308);
    const said = { host, 'x-forwarded-proto': 'https' };
    assert.equal((await ask({ headers: said })).status, 308);
    assert.deepEqual(asked, []);
    place.edge.trust(['127.0.0.1']);
    assert.equal(
      (await ask({ headers: said })).body,
      'the panel',
      'a trusted proxy has come by it',
    );
  });

  it('tells it who the visitor is, and nothing that he says of himself', async () => {
    certify();
    const id = randomUUID();
    const forged = {
      ...{ host, forwarded: 'for=1.1.1.1', 'x-forwarded-for': '1.1.1.1', 'x-real-ip': '1.1.1.1' },
      ...{ x_forwarded_for: '1.1.1.1', 'x-request-id': id },
    };
    const answer = await askTls({ headers: forged });
    assert.equal(answer.body, 'the panel');
    const headers = asked[0]?.headers ?? {};
    assert.deepEqual(
      [headers['x-forwarded-for'], headers['x-forwarded-proto'], headers['x-real-ip']],
      ['127.0.0.1', 'https', undefined],
    );
    assert.equal(headers['x_forwarded_for'], undefined);
    assert.equal(headers.forwarded, `for=127.0.0.1;host="${host}";proto=https`);
    assert.notEqual(headers['x-request-id'], id);
    assert.equal(answer.headers['x-request-id'], headers['x-request-id']);
  });

  it('lets nobody in by a connection that was made for an app, and no app in its place', async () => {
    const app = await place.app((_request, response) => response.end('an app'));
    const targets = [{ host: '127.0.0.1', port: app.port }];
    route({ host, targets }, { host: '*.localhost', targets }, { host: 'a.localhost', targets });
    place.edge.setCertificates([authority.issue([host]), authority.issue(['a.localhost'])]);
    assert.equal((await askTls({}, 'a.localhost')).status, 421);
    assert.equal((await askTls({ headers: { host: 'a.localhost' } })).status, 421);
    assert.deepEqual(asked, []);
    assert.equal((await askTls()).body, 'the panel');
  });

  it('says that it is away, and brings people back to it by itself', async () => {
    certify();
    assert.equal((await askTls()).body, 'the panel');
    await closeServer(panel);
    const away = await askTls({ headers: { host, accept: 'text/html' } });
    assert.deepEqual([away.status, away.headers['retry-after']], [503, '2']);
    assert.match(away.body, /<p>Gangway is restarting, or is stopped/);
    await openPanel();
    assert.equal((await askTls()).body, 'the panel');
  });
});
