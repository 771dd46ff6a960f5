/** Requests of HTTP/2 that would be two, or others, as HTTP/1.1: an app gets none but those that the edge understood. */
import assert from 'node:assert/strict';
import http from 'node:http';
import http2 from 'node:http2';
import { after, afterEach, before, describe, it } from 'node:test';

import { CertificateAuthority } from '../support/certificate-authority.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';
import { data, type Fields, headers, host, post, pseudo } from '../support/http2-cases.ts';
import { endHeaders, preface, RawHttp2 } from '../support/http2-frames.ts';
import { needs } from '../support/programs.ts';

const crlf = '\r\n';
const own = `a${crlf}X-Inner: 1`;
const inner = `GET /smuggled HTTP/1.1${crlf}Host: ${host}${crlf}X-Inner: 1${crlf}${crlf}`;
const with_ = (name: string, value: string): Fields =>
  pseudo.map((field) => (field[0] === name ? [name, value] : field));
const and = (...fields: Fields): Fields => [...pseudo, ...fields];

/** Heads behind which nothing comes. */
const heads: readonly Fields[] = [
  // Values that end their line.
  ...[own, `${own}${crlf}${crlf}${inner}`, 'a\nX-Inner: 1', 'a\rX-Inner: 1', 'a\0', `a${crlf}`],
  `a${crlf} folded`,
  `a${crlf}Transfer-Encoding: chunked`,
  `a${crlf}Content-Length: 40`,
].map((value) => (typeof value === 'string' ? and(['x-own', value]) : value));

/** Names that are none, or that others take for another. */
const names: readonly Fields[] = [
  `x-own: a${crlf}x-inner`,
  `x${crlf}${crlf}get /smuggled http/1.1${crlf}x`,
  'transfer-encoding:',
  'transfer-encoding: chunked\r\nx',
  'transfer-encoding ',
  ' transfer-encoding',
  'transfer-encoding\t',
  'transfer-encoding\0',
  'transfer\x0bencoding',
  'Transfer-Encoding',
  'transfer_encoding',
  'content-length ',
  'content_length',
  'Content-Length',
  'host ',
  'Host',
  'x inner',
  'x:inner',
  '',
  'x\x7f',
  'x\xff',
].map((name) => and([name, 'chunked']));

const lines: readonly Fields[] = [
  ...['/ HTTP/1.1\r\nX-Inner: 1\r\nx: y', '/smuggled HTTP/1.1', '/smuggled a', '/smuggled\t', '\0'],
  ...['/smuggled\x7f', `http://b.localhost/smuggled`, 'smuggled', '', `/smuggled\r\n\r\n${inner}`],
]
  .map((path) => with_(':path', path))
  .concat(
    [`GET / HTTP/1.1${crlf}X-Inner: 1${crlf}${crlf}GET`, 'GET /smuggled', 'GET\t', 'G:T', ''].map(
      (method) => with_(':method', method),
    ),
    [own, `${host}${crlf}X-Inner: 1`, `${host}, b`, `${host} b`, 'b@a.localhost'].map((name) =>
      with_(':authority', name),
    ),
    ['a.localhost/smuggled', 'a.localhost:80:80', 'a.localhost\0', ''].map((name) =>
      with_(':authority', name),
    ),
    [`https${crlf}X-Inner: 1`, ''].map((scheme) => with_(':scheme', scheme)),
    [
      and(['host', 'b.localhost']),
      and(['host', `${host}${crlf}X-Inner: 1`]),
      and(['host', host], ['host', 'b.localhost']),
      and([':path', '/smuggled']),
      and([':method', 'POST']),
      and([':authority', 'b.localhost']),
      and(['x', 'y'], [':path', '/smuggled']),
      and(['cookie', `a=1${crlf}X-Inner: 1`]),
      and(['cookie', 'a=1'], ['cookie', 'b=2\nX-Inner: 1']),
      and(['connection', 'x-forwarded-for']),
      and(['connection', 'close, content-length']),
      and(['keep-alive', 'x'], ['x', 'y']),
      and(['proxy-connection', 'keep-alive']),
      and(['upgrade', 'websocket']),
      and(['upgrade', 'h2c'], ['http2-settings', 'AAMAAABkAAQAAP__']),
      and(['te', 'trailers, chunked']),
      and(['transfer-encoding', 'chunked']),
      and(['x-forwarded-for', '1.2.3.4'], ['forwarded', 'for=1.2.3.4']),
      and(['x_forwarded_for', '1.2.3.4'], ['x-real-ip', '1.2.3.4']),
    ],
  );

/** Heads with a body that looks like another request. */
const framings: readonly Fields[] = [
  [],
  ...['0', '5', '4', '+5', '0x5', '5,5', '-5', ' 5', '5 ', '', '1e1', '18446744073709551621'].map(
    (length): Fields => [['content-length', length]],
  ),
  ...['chunked', 'identity', 'gzip, chunked', ' chunked', ''].map((coding): Fields => [
    ['transfer-encoding', coding],
  ]),
  [
    ['content-length', '5'],
    ['content-length', String(inner.length + 5)],
  ],
  [
    ['content-length', '5'],
    ['transfer-encoding', 'chunked'],
  ],
  [['content_length', '5']],
  [['transfer_encoding', 'chunked']],
  [['expect', '100-continue']],
  [['te', 'chunked']],
];
const trailers: readonly Fields[] = [
  [['content-length', '0']],
  [['transfer-encoding', 'chunked']],
  [['host', 'b.localhost']],
  [['x-inner\r\n', '1']],
  [['x', `y${crlf}${crlf}${inner}`]],
  [[':path', '/smuggled']],
  [['x-forwarded-for', '1.2.3.4']],
];

type Variant = readonly Buffer[];
const variants: readonly Variant[] = [
  ...[...heads, ...names, ...lines].map((fields) => [headers(1, fields)]),
  ...framings.map((fields) => [
    headers(1, [...post, ...fields], endHeaders),
    data(1, `0${crlf}${crlf}`, 0),
    data(1, inner),
  ]),
  ...trailers.map((fields) => [
    headers(1, post, endHeaders),
    data(1, `0${crlf}${crlf}`, 0),
    headers(1, fields),
  ]),
];

describe('smuggling by HTTP/2 through the edge', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let place: EdgePlace;
  let raw: RawHttp2 | undefined;
  let other: http2.ClientHttp2Session;
  let seen: http.IncomingMessage[] = [];
  before(async () => {
    authority = new CertificateAuthority();
    place = await new EdgePlace().open();
    await place.listenTls();
    place.edge.setCertificates([authority.issue([host])]);
    const at = `https://127.0.0.1:${String(place.tlsPort)}`;
    other = http2.connect(at, { ca: authority.root, servername: host });
  });
  afterEach(() => raw?.socket.destroy());
  after(async () => {
    other.destroy();
    await place.close();
    authority.close();
  });

  /** Until the edge has made of it what it makes. */
  const sent = async (variant: Variant): Promise<void> => {
    if (raw === undefined || raw.isClosed || raw.socket.destroyed) {
      raw = await RawHttp2.open(place.tlsPort, host, authority.root);
      raw.write(preface);
    }
    const one = raw;
    const isOver = (): boolean =>
      one.isAnswered(1) || one.resetCode(1) !== undefined || one.isClosed;
    one.write(...variant);
    await eventually('an end', isOver);
    one.socket.destroy();
  };

  /** Another visitor's answer. */
  const next = async (): Promise<string> => {
    const stream = other.request({ ':authority': host, ':path': '/next' });
    return Buffer.concat(await stream.toArray()).toString();
  };

  for (const insecureHTTPParser of [false, true]) {
    const parser = insecureHTTPParser ? 'forgiving' : 'strict';
    it(`brings an app that is ${parser} no request but those of the edge`, async (t) => {
      const server = http.createServer({ insecureHTTPParser }, (req, res) => {
        seen.push(req);
        req.on('error', () => undefined);
        req.resume().on('end', () => res.end(`app ${req.method ?? ''} ${req.url ?? ''}`));
      });
      t.after(() => server.closeAllConnections());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      t.after(() => server.close());
      const address = server.address();
      assert.ok(typeof address === 'object' && address !== null);
      place.routeTo(address.port);
      assert.ok(variants.length >= 90, String(variants.length));
      let passed = 0;
      for (const [at, variant] of variants.entries()) {
        const what = `${String(at)}: ${Buffer.concat(variant).toString('latin1')}`;
        seen = [];
        await sent(variant);
        assert.ok(seen.length <= 1, what);
        passed += seen.length;
        for (const { url = '', headers: told } of seen) {
          assert.doesNotMatch(url, /smuggled/, what);
          assert.equal(told['x-inner'], undefined, what);
          assert.equal(told['x-forwarded-for'], '127.0.0.1', what);
          assert.equal(told.host, host, what);
          assert.equal(told['x_forwarded_for'] ?? told['transfer_encoding'], undefined, what);
        }
        // Over the connections that are kept to the app.
        assert.equal(await next(), 'app GET /next', what);
      }
      assert.ok(passed >= 5, String(passed));
    });
  }
});
