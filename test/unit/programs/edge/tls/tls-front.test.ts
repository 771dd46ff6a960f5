import assert from 'node:assert/strict';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { WebSocketServer } from 'ws';

import { systemClock } from '../../../../../src/lib/clock.ts';
import { CertificateAuthority } from '../../../../support/certificate-authority.ts';
import { EdgePlace } from '../../../../support/edge-place.ts';
import { eventually } from '../../../../support/eventually.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { needs } from '../../../../support/programs.ts';

describe('TlsFront', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let place: EdgePlace;
  before(() => {
    authority = new CertificateAuthority();
  });
  after(() => authority.close());
  beforeEach(async () => {
    place = await new EdgePlace().open();
    await place.listenTls();
  });
  afterEach(() => place.close());

  const options = (
    servername: string,
    more: tls.ConnectionOptions = {},
  ): tls.ConnectionOptions => ({
    ...{ host: '127.0.0.1', port: place.tlsPort, ca: authority.root, servername },
    ...more,
  });
  /** The handshake's outcome: whose certificate came, or why none did. */
  const greet = (servername: string, more: tls.ConnectionOptions = {}): Promise<string> =>
    new Promise((resolve) => {
      const socket = tls.connect(options(servername, more), () => {
        resolve(`${String(socket.getPeerCertificate().subject.CN)} ${socket.getProtocol() ?? ''}`);
        socket.destroy();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    });
  const get = (host: string, servername = host, more: https.RequestOptions = {}) =>
    place.askTls({ ca: authority.root, servername, headers: { host }, ...more });
  const app = () => place.app((req, res) => res.end(String(req.headers['x-forwarded-proto'])));

  it('gives each name its certificate, and others none', async () => {
    const certificates = [['a.localhost'], ['*.x.localhost'], ['b.x.localhost']].map((names) =>
      authority.issue(names),
    );
    place.edge.setCertificates(certificates);
    assert.equal(await greet('a.localhost'), 'a.localhost TLSv1.3');
    assert.equal(await greet('A.LOCALHOST'), 'a.localhost TLSv1.3');
    assert.equal(await greet('any.x.localhost'), '*.x.localhost TLSv1.3');
    assert.equal(await greet('b.x.localhost'), 'b.x.localhost TLSv1.3');
    const refused = /ALERT_HANDSHAKE_FAILURE/;
    for (const name of ['c.localhost', 'two.any.x.localhost', 'x.localhost', ''])
      assert.match(await greet(name), refused);
  });

  it('speaks TLS 1.2 and 1.3 with forward secrecy, and nothing older', async () => {
    place.edge.setCertificates([authority.issue(['a.localhost'], 'rsa2048')]);
    const with12 = { maxVersion: 'TLSv1.2' } as const;
    assert.equal(await greet('a.localhost', with12), 'a.localhost TLSv1.2');
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    assert.match(await greet('a.localhost', old), /PROTOCOL_VERSION/);
    const still = { ...with12, ciphers: 'AES128-GCM-SHA256' };
    assert.match(await greet('a.localhost', still), /HANDSHAKE_FAILURE/);
  });

  it('serves with the certificates it was given last, and leaves connections open', async () => {
    const { port } = await app();
    place.routeTo(port);
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    const serial = async (): Promise<string> =>
      new Promise((resolve) => {
        const socket = tls.connect(options('a.localhost'), () => {
          resolve(socket.getPeerCertificate().serialNumber);
          socket.destroy();
        });
      });
    const first = await serial();
    assert.equal((await get('a.localhost', 'a.localhost', { agent })).body, 'https');
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    assert.notEqual(await serial(), first);
    assert.equal((await get('a.localhost', 'a.localhost', { agent })).body, 'https');
    place.edge.setCertificates([{ names: ['a.localhost'], chain: 'nonsense', key: '' }]);
    assert.match(await greet('a.localhost'), /HANDSHAKE_FAILURE/);
    agent.destroy();
  });

  it('refuses requests for another host than the certificate was given for', async () => {
    const { port } = await app();
    const targets = [{ host: '127.0.0.1', port }];
    place.edge.setRoutes(['a.localhost', 'b.localhost'].map((host) => ({ host, targets })));
    place.edge.setCertificates([authority.issue(['a.localhost', 'b.localhost'])]);
    assert.equal((await get('a.localhost')).body, 'https');
    assert.equal((await get('b.localhost', 'a.localhost')).status, 421);
  });

  it('sends visitors of HTTP to HTTPS as long as there is a good certificate', async () => {
    const { port } = await app();
    place.routeTo(port);
    assert.equal((await place.ask()).body, 'http');
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    const moved = await place.ask({ path: '/a?b=c', method: 'POST' });
    assert.equal(moved.status, 308);
    assert.equal(moved.headers.location, `https://a.localhost:${String(place.tlsPort)}/a?b=c`);
    assert.equal((await place.ask({ path: '/.well-known/acme-challenge/x' })).body, 'http');
    const proxied = { 'x-forwarded-proto': 'https' };
    assert.equal((await place.ask({ headers: proxied })).status, 308);
    place.edge.trust(['127.0.0.1']);
    assert.equal((await place.ask({ headers: proxied })).body, 'https');
    place.edge.setCertificates([]);
    assert.equal((await place.ask()).body, 'http');
  });

  it('sends visitors to another host that has no certificate to the port for HTTP', async () => {
    const redirect = { host: 'a.localhost', targets: [], redirectTo: 'b.localhost' };
    place.edge.setRoutes([redirect]);
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    const location = async () => (await get('a.localhost')).headers.location;
    assert.equal(await location(), `http://b.localhost:${String(place.port)}/`);
    place.edge.setCertificates([authority.issue(['a.localhost', 'b.localhost'])]);
    assert.equal(await location(), `https://b.localhost:${String(place.tlsPort)}/`);
  });

  it('carries WebSockets', async () => {
    const made = await app();
    new WebSocketServer({ server: made.server }).on('connection', (socket, req) => {
      socket.send(String(req.headers['x-forwarded-proto']));
    });
    place.routeTo(made.port);
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    const socket = tls.connect(options('a.localhost'));
    socket.write(
      'GET / HTTP/1.1\r\nhost: a.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
        'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    let text = '';
    socket.setEncoding('latin1').on('data', (more: string) => (text += more));
    // A frame of text, not masked.
    await eventually('a message', () => text.endsWith('\x81\x05https'));
    assert.match(text, /^HTTP\/1.1 101 /);
    socket.destroy();
  });

  it('goes on with a session at another edge of the same keys', async () => {
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    const session = await new Promise<Buffer>((resolve) => {
      const socket = tls.connect(options('a.localhost')).resume();
      socket.once('session', (ticket) => {
        resolve(ticket);
        socket.destroy();
      });
    });
    const isReused = (): Promise<boolean> =>
      new Promise((resolve, reject) => {
        const socket = tls.connect(options('a.localhost', { session }), () => {
          resolve(socket.isSessionReused());
          socket.destroy();
        });
        socket.once('error', reject);
      });
    assert.ok(await isReused());
    await place.reopen();
    await place.listenTls();
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    assert.ok(await isReused());
    place.edge.setTicketKeys(Buffer.alloc(48, 8).toString('base64'));
    assert.equal(await isReused(), false);
  });
});

describe('TlsFront with its bounds', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  before(() => {
    authority = new CertificateAuthority();
  });
  after(() => authority.close());

  const closed = (socket: net.Socket): Promise<void> =>
    new Promise((resolve) => {
      socket.on('error', () => undefined).once('close', () => resolve());
      socket.resume();
    });

  it('closes a connection whose handshake does not end, however it is drawn out', async (t) => {
    const clock = new ManualClock();
    const place = await new EdgePlace({ clock }).open();
    t.after(() => place.close());
    await place.listenTls();
    const sockets = [Buffer.alloc(0), Buffer.from([22, 3, 1, 2, 0, 1])].map((bytes) => {
      const socket = net.connect(place.tlsPort, '127.0.0.1');
      socket.write(bytes);
      return socket;
    });
    await Promise.all(sockets.map((socket) => new Promise((done) => socket.once('connect', done))));
    const ends = sockets.map(closed);
    await eventually('both are closed', async () => {
      await clock.advance(20_000);
      return sockets.every((socket) => socket.destroyed);
    });
    await Promise.all(ends);
  });

  it('counts connections in and before their handshake as those of their client', async (t) => {
    const pace = { atOnce: 100, everyMs: 1 };
    const near = { connections: 4, waiting: 2, pace };
    const place = await new EdgePlace({ bounds: { near } }).open();
    t.after(() => place.close());
    await place.listenTls();
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    const idle = net.connect(place.tlsPort, '127.0.0.1');
    const ended = closed(idle);
    await new Promise((done) => idle.once('connect', done));
    const ca = authority.root;
    const greeted = [1, 2].map(() => {
      const at = { host: '127.0.0.1', port: place.tlsPort, ca, servername: 'a.localhost' };
      return tls.connect(at);
    });
    await Promise.all(
      greeted.map((socket) => new Promise((done) => socket.once('secureConnect', done))),
    );
    await ended; // It had waited for longest.
    const [first, second] = greeted.map(closed);
    net
      .connect(place.tlsPort, '127.0.0.1')
      .on('error', () => undefined)
      .unref();
    await first; // Now this one has.
    greeted[1]?.destroy();
    await second;
  });

  it('lets others be answered while very many shake hands', async (t) => {
    const place = await new EdgePlace({ clock: systemClock }).open();
    t.after(() => place.close());
    await place.listenTls();
    place.edge.setCertificates([authority.issue(['a.localhost'], 'rsa2048')]);
    const { port } = await place.app((_req, res) => res.end('quick'));
    place.edge.setRoutes([{ host: 'plain.localhost', targets: [{ host: '127.0.0.1', port }] }]);
    let greeted = 0;
    const ca = authority.root;
    const sockets = Array.from({ length: 200 }, () => {
      const at = { host: '127.0.0.1', port: place.tlsPort, ca, servername: 'a.localhost' };
      return tls.connect(at, () => greeted++).on('error', () => undefined);
    });
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    const answer = await place.ask({ headers: { host: 'plain.localhost' } });
    assert.equal(answer.body, 'quick');
    await eventually('all have shaken hands', () => greeted === sockets.length);
  });
});
