/** Frames that cost a client nothing and a server much, over one connection. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import tls from 'node:tls';
import { after, before, describe, it } from 'node:test';

import { CertificateAuthority } from '../support/certificate-authority.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { needs } from '../support/programs.ts';
import { recordingLogger } from '../support/silent-logger.ts';

const [data, headers, rst, settings, ping, goaway, continuation] = [0, 1, 3, 4, 6, 7, 9];
const [endStream, endHeaders] = [1, 4];

function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK: GET https / by the static table, and the authority as a literal. */
const host = 'a.localhost';
const block = Buffer.concat([
  Buffer.from([0x82, 0x87, 0x84, 0x01, host.length]),
  Buffer.from(host, 'latin1'),
]);
const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
  frame(settings, 0, 0),
]);

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
    const at = { host: '127.0.0.1', port: place.tlsPort, servername: host, ca: authority.root };
    const socket = tls.connect({ ...at, ALPNProtocols: ['h2'] });
    let received = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => (received = Buffer.concat([received, bytes])));
    socket.on('error', () => undefined);
    const closed = once(socket, 'close');
    await once(socket, 'secureConnect');
    socket.write(preface);
    for (let turn = 0; turn < turnsMax && socket.writable; turn++) {
      if (!socket.write(next(turn))) await Promise.race([once(socket, 'drain'), closed]);
      if (turn % 50 === 0) await new Promise(setImmediate);
    }
    await closed;
    return goawayCode(received);
  };
  const goawayCode = (bytes: Buffer): number => {
    let code = -1;
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
      if (bytes[at + 3] === goaway) code = bytes.readUInt32BE(at + 13);
    return code;
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
        frame(headers, endStream | endHeaders, stream, block),
        frame(rst, 0, stream, cancel),
      ]);
    });
    assert.ok(asked < 600, String(asked));
    await isWell();
  });

  it('of CONTINUATION frames end the connection', async () => {
    const more = frame(continuation, 0, 1, Buffer.from([0x00, 1, 0x61, 1, 0x62]));
    const code = await flood((turn) => (turn === 0 ? frame(headers, 0, 1, block) : more));
    assert.notEqual(code, 0);
    await isWell();
  });

  it('of PING and of SETTINGS frames end with ENHANCE_YOUR_CALM', async () => {
    await isCalmed(() => frame(ping, 0, 0, Buffer.alloc(8)));
    await isCalmed(() => frame(settings, 0, 0));
    await isWell();
  });

  it('of empty DATA frames end the connection', async () => {
    const empty = frame(data, 0, 1);
    const code = await flood((turn) => (turn === 0 ? frame(headers, endHeaders, 1, block) : empty));
    assert.notEqual(code, 0);
    await isWell();
  });
});
