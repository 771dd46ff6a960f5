/** Heads that two parsers could read differently: between visitors, the edge and apps all must see the same messages. */
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { EdgePlace } from '../support/edge-place.ts';

const chunked = 'Transfer-Encoding: chunked';
/** What stands in the head of a request whose body looks like another request. */
const framings: readonly string[] = [
  `Content-Length: 5\r\n${chunked}`,
  `${chunked}\r\nContent-Length: 5`,
  `Content-Length: 5\r\nTransfer-Encoding : chunked`,
  `Content-Length: 5\r\n Transfer-Encoding: chunked`,
  `Content-Length: 5\r\nX: y\r\n\tTransfer-Encoding: chunked`,
  `Content-Length: 5\r\nX: y\nTransfer-Encoding: chunked`,
  `Content-Length: 5\r\nX: y\rTransfer-Encoding: chunked`,
  `Content-Length: 5\r\nTransfer-Encoding:\tchunked`,
  `Content-Length: 5\r\nTransfer-Encoding:\x0bchunked`,
  `Content-Length: 5\r\nTransfer-Encoding: xchunked`,
  `Content-Length: 5\r\nTransfer-Encoding: chunked, identity`,
  `Content-Length: 5\r\nTransfer-Encoding: identity`,
  `Content-Length: 5\r\nTransfer_Encoding: chunked`,
  `Content-Length: 5\r\nTransfer-Encoding: "chunked"`,
  `Content-Length: 5\r\nTransfer-Encoding\x00: chunked`,
  `Content-Length: 5\r\nX: Transfer-Encoding: chunked`,
  `Content-Length: 5\r\nConnection: content-length`,
  `Content-Length: 5\r\nConnection: transfer-encoding\r\n${chunked}`,
  `${chunked}\r\nConnection: transfer-encoding`,
  `${chunked}\r\n${chunked}`,
  `${chunked}\r\nTransfer-Encoding: identity`,
  `${chunked}\r\nTransfer-Encoding: x`,
  'Transfer-Encoding: identity',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: ChUnKeD',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding: ',
  'Content-Length: 5\r\nContent-Length: 5',
  'Content-Length: 5\r\nContent-Length: 0',
  'Content-Length: 0\r\nContent-Length: 5',
  'Content-Length: 5, 5',
  'Content-Length: +5',
  'Content-Length: -5',
  'Content-Length: 0x5',
  'Content-Length: 5 ',
  'Content-Length: 5;',
  'Content-Length: ',
  'Content-Length : 5',
  'Content-Length: 5\x00',
  'Content-Length: 18446744073709551621',
  'content_length: 5',
  'Content-Length: 5\r\nExpect: 100-continue',
  'Content-Length: 5\r\nUpgrade: h2c\r\nConnection: Upgrade',
];

/** How an answer is framed behind which another stands that nobody asked for. */
const answers: readonly string[] = [
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi',
  'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi',
  `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${chunked}\r\n\r\n0\r\n\r\n`,
  `HTTP/1.1 200 OK\r\n${chunked}\r\n\r\n0\r\n\r\n`,
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  `HTTP/1.1 200 OK\r\n${chunked}\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
  'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n',
  `HTTP/1.1 204 No Content\r\n${chunked}\r\n\r\n`,
  'HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n',
  'HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\nhi',
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n',
  'HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi',
  'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi',
];

describe('smuggling through the edge', () => {
  let place: EdgePlace;
  let evil: net.Server;
  let sockets: Set<Socket>;
  /** What the app took for heads. */
  let seen: http.IncomingHttpHeaders[];
  beforeEach(async () => {
    place = await new EdgePlace().open();
    sockets = new Set();
    seen = [];
  });
  afterEach(async () => {
    await place.close();
    for (const socket of sockets) socket.destroy();
    evil.close();
  });

  const listen = async (server: net.Server): Promise<number> => {
    evil = server;
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };

  for (const insecureHTTPParser of [false, true]) {
    const parser = insecureHTTPParser ? 'forgiving' : 'strict';
    it(`brings an app that is ${parser} no request but those of the edge`, async () => {
      const server = http.createServer({ insecureHTTPParser }, (req, res) => {
        seen.push(req.headers);
        req.resume().on('error', () => undefined);
        res.setHeader('x-app', '1');
        res.end('app');
      });
      place.routeTo(await listen(server));
      const inner = 'GET /smuggled HTTP/1.1\r\nHost: a.localhost\r\nX-Inner: 1\r\n';
      for (const framing of framings) {
        seen = [];
        const head = `POST / HTTP/1.1\r\nHost: a.localhost\r\n${framing}\r\n\r\n`;
        const last = 'GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: close\r\n\r\n';
        const told = await place.raw(`${head}0\r\n\r\n${inner}\r\n${last}`);
        const answered = told.split('x-app: 1').length - 1;
        // No answer is without its request, and each came by a head that the edge has made.
        assert.ok(answered <= seen.length, framing);
        for (const headers of seen) assert.equal(headers['x-forwarded-for'], '127.0.0.1', framing);
      }
    });
  }

  it('gives no visitor an answer that was not to theirs', async () => {
    let answer = '';
    const server = net.createServer((socket) =>
      socket.on('data', () =>
        socket.write(`${answer}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`, 'latin1'),
      ),
    );
    const port = await listen(server);
    const quiet = await place.app((req, res) => res.end(`quiet ${req.url ?? ''}`));
    place.edge.setRoutes([
      { host: 'a.localhost', targets: [{ host: '127.0.0.1', port }] },
      { host: 'b.localhost', targets: [{ host: '127.0.0.1', port: quiet.port }] },
    ]);
    for (answer of answers) {
      const first = 'GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n';
      const second = 'GET /2 HTTP/1.1\r\nHost: b.localhost\r\nConnection: close\r\n\r\n';
      const told = await place.raw(first + second);
      // An answer, or a page in its place; then that of the other app, or nothing where the connection is closed.
      const [, one = '', two = '', ...more] = told.split(/^HTTP\/1\.1 /m);
      assert.equal(more.length, 0, answer);
      assert.match(one, /^(?:200|204|304|502) /, answer);
      if (answer.includes(' 100 ')) assert.match(one, /evil|502/);
      else assert.doesNotMatch(one, /evil/, answer);
      if (two !== '') assert.match(two, /quiet \/2/, answer);
    }
  });
});
