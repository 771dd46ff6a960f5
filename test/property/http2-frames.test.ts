/** Any frames of HTTP/2 that fast-check makes up, to an edge that others visit meanwhile. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';

import { defaultEdgeSettings } from '../../src/protocol/app-edge-settings.ts';
import { CertificateAuthority } from '../support/certificate-authority.ts';
import { cleanups } from '../support/cleanups.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';
import { host, number, post, pseudo } from '../support/http2-cases.ts';
import { fieldBlock, frame, preface, RawHttp2, types } from '../support/http2-frames.ts';
import { needs } from '../support/programs.ts';

const runs = 40;
const bytes = fc.uint8Array({ maxLength: 60 });
const stream = fc.oneof(fc.constantFrom(1, 3, 5, 7, 9), fc.integer({ min: 0, max: 12 }));
const flags = fc.oneof(fc.constantFrom(0, 1, 4, 5, 4, 5), fc.integer({ min: 0, max: 255 }));
const block = fc.oneof(
  fc.constantFrom(fieldBlock(...pseudo), fieldBlock(...post), fieldBlock(['x', 'y'])),
  fc.constantFrom(
    fieldBlock(...post, ['content-length', '20']),
    fieldBlock(...post, ['expect', '100-continue']),
    // The path `/`, the method `GET` and so on, and a name for the table that is named at once.
    Buffer.concat([Buffer.of(0x82, 0x84, 0x87), fieldBlock([':authority', host])]),
    Buffer.of(0x40, 1, 0x61, 1, 0x62, 0xbe, 0xbe),
  ),
  bytes,
);
const windows = fc.constantFrom(0, 1, 100, 65_535, 2 ** 31 - 1).map(number);
const settings = fc.array(fc.tuple(fc.integer({ min: 0, max: 8 }), windows), { maxLength: 3 });
const payloads: Readonly<Record<number, fc.Arbitrary<Uint8Array>>> = {
  [types.headers]: block,
  [types.continuation]: block,
  [types.windowUpdate]: windows,
  [types.rst]: windows,
  [types.settings]: settings.map((all) =>
    Buffer.concat(all.flatMap(([id, value]) => [Buffer.of(0, id), value])),
  ),
  [types.ping]: fc.uint8Array({ minLength: 8, maxLength: 8 }),
  [types.goaway]: fc.uint8Array({ minLength: 8, maxLength: 20 }),
  [types.priority]: fc.uint8Array({ minLength: 5, maxLength: 5 }),
};
type Made = [type: number, flags: number, stream: number, payload: Uint8Array];
const wellMade: fc.Arbitrary<Made> = fc
  .constantFrom(...[0, 1, 1, 1, 0, 3, 8, 9, 4, 2, 6, 7])
  .chain((type) => fc.tuple(fc.constant(type), flags, stream, payloads[type] ?? bytes));
const anyFrame: fc.Arbitrary<Made> = fc.tuple(
  fc.integer({ min: 0, max: 11 }),
  flags,
  stream,
  bytes,
);
const frames = fc.array(fc.oneof({ weight: 12, arbitrary: wellMade }, anyFrame), { maxLength: 40 });
const pieces = fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 10 });

describe('the edge before any frames', { skip: needs('openssl') }, () => {
  const onEnd = cleanups();
  let place: EdgePlace;
  let root: string;
  let other: http2.ClientHttp2Session;
  let port: number;
  before(async () => {
    const authority = new CertificateAuthority();
    ({ root } = authority);
    onEnd(() => authority.close());
    place = await new EdgePlace().open();
    onEnd(() => place.close());
    await place.listenTls();
    place.edge.setCertificates([authority.issue([host])]);
    ({ port } = await place.app((req, res) => {
      req.on('error', () => undefined);
      res.write(`${req.method ?? ''} ${req.url ?? ''} `);
      req.on('data', (some: Buffer) => res.write(some)).on('end', () => res.end());
    }));
    place.routeTo(port);
    const at = `https://127.0.0.1:${String(place.tlsPort)}`;
    other = http2.connect(at, { ca: root, servername: host });
    onEnd(() => other.destroy());
  });

  const answerTo = async (path: string, body: string): Promise<string> => {
    const head = { ':authority': host, ':path': path, ':method': 'POST' };
    const asking = other.request(head);
    asking.end(body);
    return Buffer.concat(await asking.toArray()).toString();
  };

  it('gives others their answers, forgets who has gone, and holds no place for them', async () => {
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(frames, pieces, fc.boolean(), async (sent, cuts, resets) => {
        const raw = await RawHttp2.open(place.tlsPort, host, root);
        const all = Buffer.concat([preface, ...sent.map((one) => frame(...one))]);
        let at = 0;
        const answers: Promise<string>[] = [];
        for (const cut of [...cuts, all.length]) {
          raw.socket.write(all.subarray(at, at + cut));
          at += cut;
          const body = `body ${String(++asked)}`;
          answers.push(answerTo(`/${String(asked)}`, body));
          await new Promise(setImmediate);
        }
        const got = await Promise.all(answers);
        got.forEach((answer, nthOf) => {
          const nth = String(asked - got.length + 1 + nthOf);
          assert.equal(answer, `POST /${nth} body ${nth}`);
        });
        if (resets && !raw.socket.destroyed) raw.socket.destroy();
        else raw.socket.end();
        if (!raw.socket.closed) await once(raw.socket, 'close');
      }),
      { numRuns: runs },
    );
    const settings = { ...defaultEdgeSettings, maxConnections: 1 };
    place.edge.setRoutes([{ host, targets: [{ host: '127.0.0.1', port }], settings }]);
    await eventually('a place', async () => (await answerTo('/last', 'x')) === 'POST /last x');
    other.close();
    let isDrained = false;
    place.edge.drain(60_000, () => (isDrained = true));
    await eventually('no connection is left', () => isDrained);
  });
});
