import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { CertificateAuthority } from '../../../../support/certificate-authority.ts';
import { EdgePlace } from '../../../../support/edge-place.ts';
import { eventually } from '../../../../support/eventually.ts';
import {
  endHeaders,
  endStream,
  fieldBlock,
  frame,
  preface,
  RawHttp2,
  types,
} from '../../../../support/http2-frames.ts';
import { needs } from '../../../../support/programs.ts';

const host = 'a.localhost';
const [noError, refusedStream] = [0, 7];
const head = fieldBlock(
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', host],
);
const asks = (stream: number): Buffer => frame(types.headers, endHeaders | endStream, stream, head);

describe('an edge that drains', { skip: needs('openssl') }, () => {
  it('answers what a client sent before it knew, and refuses the rest', async () => {
    const authority = new CertificateAuthority();
    const place = await new EdgePlace().open();
    let one: RawHttp2 | undefined;
    try {
      await place.listenTls();
      place.edge.setCertificates([authority.issue([host])]);
      const held: (() => void)[] = [];
      const { port } = await place.app((_req, res) => {
        held.push(() => res.end('late'));
      });
      place.routeTo(port);
      one = await RawHttp2.open(place.tlsPort, host, authority.root);
      one.write(preface, asks(1));
      await eventually('it is under way', () => held.length === 1);
      place.edge.drain(60_000, () => undefined);
      await eventually(
        'the word',
        () => one?.frames.some(({ type }) => type === types.ping) === true,
      );
      one.write(asks(3));
      await eventually('it is under way', () => held.length === 2);
      const [told, ping] = [types.goaway, types.ping].map((of) =>
        one?.frames.find(({ type }) => type === of),
      );
      assert.equal(told?.payload.readUInt32BE(0), 2 ** 31 - 1);
      one.write(frame(types.ping, 1, 0, ping?.payload), asks(5));
      await eventually('a refusal', () => one?.resetCode(5) === refusedStream);
      for (const end of held) end();
      await eventually('the end', () => one?.isClosed === true);
      assert.deepEqual([one.body(1), one.body(3), one.goawayCode], ['late', 'late', noError]);
      assert.equal(one.frames.findLast(({ type }) => type === types.goaway)?.payload[3], 5);
    } finally {
      one?.socket.destroy();
      await place.close();
      authority.close();
    }
  });
});
