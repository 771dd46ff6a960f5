/** Frames that cost a client nothing and a server much, over one connection. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';

import { CertificateAuthority } from '../support/certificate-authority.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';
import {
  endHeaders,
  endStream,
  fieldBlock,
  frame,
  preface,
  RawHttp2,
  types,
} from '../support/http2-frames.ts';
import { needs } from '../support/programs.ts';
import { recordingLogger } from '../support/silent-logger.ts';

const host = 'a.localhost';
const head = fieldBlock(
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', host],
);

describe('floods of HTTP/2', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let place: EdgePlace;
  let logger: ReturnType<typeof recordingLogger>;
  let asked = 0;
  before(async () => {
    authority = new CertificateAuthority();
    logger = recordingLogger();
    place = await new EdgePlace({ logger }).open();
    await place.listenTls();
    place.edge.setCertificates([authority.issue([host])]);
    const { port } = await place.app((_req, res) => {
      asked++;
      res.end('here');
    });
    place.routeTo(port);
  });
  after(async () => {
    await place.close();
    authority.close();
  });

  /**
   * Sends `next` again and again until the connection ends; resolves with the code of GOAWAY, -1 where that was lost: the
   * kernel resets a connection that is closed with something unread.
   */
  const flood = async (next: (turn: number) => Buffer, turnsMax = 2000): Promise<number> => {
    const raw = await RawHttp2.open(place.tlsPort, host, authority.root);
    const { socket } = raw;
    const closed = once(socket, 'close');
    raw.write(preface);
    for (let turn = 0; turn < turnsMax && socket.writable; turn++) {
      if (!raw.write(next(turn))) await Promise.race([once(socket, 'drain'), closed]);
      if (turn % 50 === 0) await new Promise(setImmediate);
    }
    await closed;
    return raw.goawayCode ?? -1;
  };
  const isWell = async (): Promise<void> => {
    const answer = await place.askTls({ ca: authority.root, servername: host });
    assert.equal(answer.body, 'here');
  };
  const calm = 11;
  /** Ends with the word for it, by the edge's own count. */
  const isCalmed = async (next: (turn: number) => Buffer): Promise<void> => {
    const before = ended();
    const code = await flood(next);
    assert.ok(code === calm || code === -1, String(code));
    assert.equal(ended(), before + 1);
  };
  const ended = (): number =>
    logger.records.filter(({ event }) => event === 'edge_session_ended').length;

  it('that take each request back end with ENHANCE_YOUR_CALM, and ask the app little', async () => {
    await isCalmed((turn) => {
      const stream = turn * 2 + 1;
      const cancel = Buffer.from([0, 0, 0, 8]);
      return Buffer.concat([
        frame(types.headers, endStream | endHeaders, stream, head),
        frame(types.rst, 0, stream, cancel),
      ]);
    });
    assert.ok(asked < 600, String(asked));
    await isWell();
  });

  it('of CONTINUATION frames end the connection', async () => {
    const more = frame(types.continuation, 0, 1, Buffer.from([0x00, 1, 0x61, 1, 0x62]));
    const code = await flood((turn) => (turn === 0 ? frame(types.headers, 0, 1, head) : more));
    assert.notEqual(code, 0);
    await isWell();
  });

  it('of PING and of SETTINGS frames end with ENHANCE_YOUR_CALM', async () => {
    await isCalmed(() => frame(types.ping, 0, 0, Buffer.alloc(8)));
    await isCalmed(() => frame(types.settings, 0, 0));
    await isWell();
  });

  it('of empty DATA frames end the connection', async () => {
    const empty = frame(types.data, 0, 1);
    const code = await flood((turn) =>
      turn === 0 ? frame(types.headers, endHeaders, 1, head) : empty,
    );
    assert.notEqual(code, 0);
    await isWell();
  });

  it('of frames that are mostly of no use end with ENHANCE_YOUR_CALM', async () => {
    const one = Buffer.of(0, 0, 0, 1);
    await isCalmed(() => frame(types.windowUpdate, 0, 0, one));
    await isCalmed(() => frame(types.priority, 0, 1, Buffer.alloc(5)));
    await isCalmed(() => frame(0xbe, 0, 0));
    await isCalmed((turn) =>
      turn === 0
        ? frame(types.headers, endStream | endHeaders, 1, head)
        : frame(types.rst, 0, 1, Buffer.of(0, 0, 0, 8)),
    );
    await isWell();
  });

  it('that have the edge take each request back itself end with ENHANCE_YOUR_CALM', async () => {
    const before = asked;
    await isCalmed((turn) => {
      const stream = turn * 2 + 1;
      return Buffer.concat([
        frame(types.headers, endHeaders, stream, head),
        frame(types.windowUpdate, 0, stream, Buffer.alloc(4)),
      ]);
    });
    assert.ok(asked - before < 600, String(asked - before));
    await isWell();
  });

  it('of heads that grow where they are read end with 431', async () => {
    // An entry of the table, which each byte behind it names again.
    const entry = Buffer.concat([
      Buffer.of(0x40, 1, 0x61, 0x7f, 0xa1, 0x1e),
      Buffer.alloc(4000, 'v'),
    ]);
    const bomb = Buffer.concat([head, entry, Buffer.alloc(12_000, 0xbe)]);
    const raw = await RawHttp2.open(place.tlsPort, host, authority.root);
    const before = asked;
    raw.write(preface, frame(types.headers, endStream | endHeaders, 1, bomb));
    await eventually('an answer', () => raw.isAnswered(1));
    const answer = raw.frames.find(({ type, stream }) => type === types.headers && stream === 1);
    assert.match(answer?.payload.toString('latin1') ?? '', /431/);
    raw.socket.destroy();
    assert.equal(asked, before);
  });
});
