import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import type { RequestListener } from 'node:http';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

import { defaultEdgeSettings } from '../../../../../src/protocol/app-edge-settings.ts';
import { CertificateAuthority } from '../../../../support/certificate-authority.ts';
import { EdgePlace } from '../../../../support/edge-place.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needs } from '../../../../support/programs.ts';

describe('Http2Sessions', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let place: EdgePlace;
  let session: http2.ClientHttp2Session;
  before(() => {
    authority = new CertificateAuthority();
  });
  after(() => authority.close());
  beforeEach(async () => {
    place = await new EdgePlace().open();
    await place.listenTls();
    place.edge.setCertificates([authority.issue(['a.localhost', 'b.localhost'])]);
    const at = `https://127.0.0.1:${String(place.tlsPort)}`;
    session = http2.connect(at, { ca: authority.root, servername: 'a.localhost' });
    session.on('error', () => undefined);
  });
  afterEach(async () => {
    session.destroy();
    await place.close();
  });

  const serve = async (handler: RequestListener): Promise<void> => {
    place.routeTo((await place.app(handler)).port);
  };
  const open = (
    headers: http2.OutgoingHttpHeaders = {},
    options: http2.ClientSessionRequestOptions = {},
  ): http2.ClientHttp2Stream => {
    const stream = session.request({ ':authority': 'a.localhost', ...headers }, options);
    return stream.on('error', () => undefined);
  };
  const ask = async (headers: http2.OutgoingHttpHeaders = {}, body?: string | Buffer) => {
    const stream = open(headers, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    return answerOf(stream);
  };
  const answerOf = async (stream: http2.ClientHttp2Stream) => {
    const chunks: Buffer[] = [];
    let trailers: http2.IncomingHttpHeaders = {};
    stream.once('trailers', (more: http2.IncomingHttpHeaders) => (trailers = more));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    const [headers, , raw] = (await once(stream, 'response')) as [
      http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader,
      number,
      string[],
    ];
    if (!stream.closed) await once(stream, 'close');
    const body = Buffer.concat(chunks).toString('latin1');
    return { status: headers[':status'], headers, raw, body, trailers };
  };
  /** Of fields as they came: names and values in turn. */
  const valuesOf = (raw: readonly string[], name: string): string[] =>
    raw.filter((_value, at) => at % 2 === 1 && raw[at - 1] === name);

  it('brings a request to the app as one of HTTP/1.1, and its answer back', async () => {
    await serve((req, res) => {
      const { host, cookie, te, 'x-forwarded-proto': proto } = req.headers;
      res.setHeader('set-cookie', ['a=1', 'b=2']);
      res.writeHead(201).end(JSON.stringify([req.method, req.url, host, cookie, te, proto]));
    });
    const answer = await ask({ ':path': '/a?b=c', cookie: ['x=1', 'y=2'], te: 'trailers' });
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(answer.headers['connection'], undefined);
    const seen = ['GET', '/a?b=c', 'a.localhost', 'x=1; y=2', null, 'https'];
    assert.equal(answer.body, JSON.stringify(seen));
  });

  it('takes bodies both ways, with and without a length, and trailers', async () => {
    await serve((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        res.writeHead(200, { trailer: 'x-sum' });
        res.write(Buffer.concat(chunks));
        res.addTrailers({ 'x-sum': String(req.trailers['x-in']) });
        res.end();
      });
    });
    const large = Buffer.alloc(3_000_000, 'abc').toString();
    const whole = await ask({ ':method': 'POST' }, large);
    assert.ok(whole.body === large);
    const sized = await ask({ ':method': 'POST', 'content-length': 3 }, 'abc');
    assert.equal(sized.body, 'abc');
    const stream = open({ ':method': 'POST' }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers({ 'x-in': 'seven' }));
    stream.end('body');
    const answer = await answerOf(stream);
    assert.deepEqual([answer.body, answer.trailers['x-sum']], ['body', 'seven']);
  });

  it('brings an app no trailers that would say what the head has to', async () => {
    await serve((req, res) => {
      req.resume().on('end', () => res.end(JSON.stringify(req.trailers)));
    });
    // There is no connection to the app yet: they are here before the body is taken.
    const stream = open({ ':method': 'POST' }, { waitForTrailers: true });
    const forbidden = { 'x-forwarded-for': '1.2.3.4', cookie: 'a=b', authorization: 'x', a_b: 'c' };
    stream.once('wantTrailers', () => stream.sendTrailers({ ...forbidden, 'x-sum': 'seven' }));
    stream.end('body');
    assert.equal((await answerOf(stream)).body, '{"x-sum":"seven"}');
  });

  it('passes on what an app says twice', async () => {
    await serve((_req, res) => {
      res.setHeader('x-content-type-options', ['nosniff', 'nosniff']);
      res.setHeader('content-encoding', ['br', 'gzip']);
      res.setHeader('www-authenticate', ['Basic', 'Digest']);
      res.end('here');
    });
    const { status, headers, raw, body } = await ask();
    assert.deepEqual([status, body], [200, 'here']);
    assert.deepEqual(valuesOf(raw, 'x-content-type-options'), ['nosniff', 'nosniff']);
    assert.deepEqual(valuesOf(raw, 'content-encoding'), ['br', 'gzip']);
    assert.equal(headers['www-authenticate'], 'Basic, Digest');
  });

  it('passes on interim answers, and asks for a body itself once it is wanted', async () => {
    await serve((req, res) => {
      res.writeEarlyHints({ link: '</a.css>; rel=preload' });
      req.resume().on('end', () => res.end(String(req.headers.expect)));
    });
    const stream = open({ ':method': 'POST', expect: '100-continue' });
    const hints: unknown[] = [];
    stream.on('headers', (headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader) => {
      if (headers[':status'] === 103) hints.push(headers['link']);
    });
    stream.once('continue', () => stream.end('body'));
    assert.equal((await answerOf(stream)).body, 'undefined');
    assert.deepEqual(hints, ['</a.css>; rel=preload']);
  });

  it('has access logs say the version', async () => {
    const { port } = await place.app((_req, res) => res.end('here'));
    const targets = [{ host: '127.0.0.1', port }];
    const settings = { ...defaultEdgeSettings, accessLog: true };
    const app = { id: 'app_1', name: 'a' };
    place.edge.setRoutes([{ host: 'a.localhost', targets, settings, app }]);
    await ask({ ':path': '/seen' });
    const lines = (): string =>
      place.news.flatMap((news) => ('access' in news ? news.access : [])).join();
    await eventually('a line', () => lines().includes('"GET /seen HTTP/2" 200 4 '));
  });

  it('reads no faster than the other side takes', async () => {
    let written = 0;
    await serve((_req, res) => {
      const chunk = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (written < 64 * 1024 * 1024) {
          written += chunk.length;
          if (!res.write(chunk)) return;
        }
        res.end();
      };
      res.on('drain', more);
      more();
    });
    const stream = open();
    await once(stream, 'response');
    let before = -1;
    await eventually('the app waits', async () => {
      const isSame = before === written;
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return isSame;
    });
    assert.ok(written < 32 * 1024 * 1024, String(written));
    let taken = 0;
    stream.on('data', (chunk: Buffer) => (taken += chunk.length));
    await once(stream, 'end');
    assert.equal(taken, 64 * 1024 * 1024);
  });

  it('answers in the place of apps, HEAD without a body', async () => {
    assert.equal((await ask()).status, 404);
    assert.equal((await ask({ ':method': 'HEAD' })).body, '');
    await serve((_req, res) => res.end('here'));
    const elsewhere = await ask({ ':authority': 'b.localhost' });
    place.edge.setRoutes(
      ['a.localhost', 'b.localhost'].map((host) => ({ host, targets: [], vacancy: 'stopped' })),
    );
    assert.equal(elsewhere.status, 404);
    assert.equal((await ask({ ':authority': 'b.localhost' })).status, 421);
    const stopped = await ask({ accept: 'text/plain' });
    assert.equal(stopped.status, 503);
    assert.match(stopped.headers.date ?? '', /GMT$/);
    assert.match(stopped.body, /stopped/);
  });

  it('ends what the app breaks off so that it does not look whole', async () => {
    await serve((_req, res) => {
      res.write('12345', () => res.destroy());
    });
    const stream = open().resume();
    await new Promise<void>((resolve) => stream.once('close', () => resolve()));
    assert.equal(stream.rstCode, http2.constants.NGHTTP2_INTERNAL_ERROR);
    assert.equal(session.closed, false);
  });

  it('lets the app go when the visitor does', async () => {
    let [begun, gone] = [0, 0];
    await serve((req, res) => {
      begun++;
      res.write('more');
      req.socket.once('close', () => gone++);
    });
    const stream = open();
    await once(stream, 'response');
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await eventually('the app is left', () => begun === 1 && gone === 1);
  });

  it('carries many requests of one connection at once', async () => {
    await serve((req, res) => res.end(req.url));
    const paths = Array.from({ length: 100 }, (_, n) => `/${String(n)}`);
    const answers = await Promise.all(paths.map((path) => ask({ ':path': path })));
    assert.deepEqual(
      answers.map(({ body }) => body),
      paths,
    );
  });

  it('tells sessions when it drains, and ends with their last stream', async () => {
    const held: (() => void)[] = [];
    await serve((_req, res) => {
      held.push(() => res.end('late'));
    });
    const asked = ask();
    await eventually('it is under way', () => held.length === 1);
    const told = once(session, 'goaway');
    let isDrained = false;
    place.edge.drain(60_000, () => (isDrained = true));
    await told;
    assert.equal(isDrained, false);
    held[0]?.();
    assert.equal((await asked).body, 'late');
    await eventually('it is drained', () => isDrained);
  });
});
