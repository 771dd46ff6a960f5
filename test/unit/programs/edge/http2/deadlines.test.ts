import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

import { defaultEdgeSettings } from '../../../../../src/protocol/app-edge-settings.ts';
import { CertificateAuthority } from '../../../../support/certificate-authority.ts';
import { EdgePlace } from '../../../../support/edge-place.ts';
import { eventually, found } from '../../../../support/eventually.ts';
import {
  endHeaders,
  endStream,
  fieldBlock,
  frame,
  preface,
  RawHttp2,
  types,
} from '../../../../support/http2-frames.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { needs } from '../../../../support/programs.ts';

const host = 'a.localhost';
const [noError, protocol, refusedStream] = [0, 1, 7];
const head = fieldBlock(
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', host],
);
const bytesOf = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const asks = (stream: number): Buffer => frame(types.headers, endHeaders | endStream, stream, head);

describe('Http2Session, in time', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let clock: ManualClock;
  let place: EdgePlace;
  let raw: RawHttp2;
  let held: ServerResponse[];
  before(() => {
    authority = new CertificateAuthority();
  });
  after(() => authority.close());
  beforeEach(async () => {
    clock = new ManualClock();
    place = await new EdgePlace({ clock }).open();
    await place.listenTls();
    place.edge.setCertificates([authority.issue([host])]);
    held = [];
    const { port } = await place.app((_req, res) => void held.push(res));
    const targets = [{ host: '127.0.0.1', port }];
    place.edge.setRoutes([
      { host, targets, settings: { ...defaultEdgeSettings, idleSeconds: 3600 } },
    ]);
    raw = await RawHttp2.open(place.tlsPort, host, authority.root);
  });
  afterEach(async () => {
    raw.socket.destroy();
    await place.close();
  });
  /** Until the edge has read what was written. */
  const seen = async (): Promise<void> => {
    raw.write(frame(types.ping, 0, 0, Buffer.from('are here')));
    await eventually('an answer', () => raw.frames.some(({ type }) => type === types.ping));
  };
  const ended = (): Promise<void> => eventually('the end', () => raw.isClosed);

  it('ends a session that asks nothing for 75 seconds', async () => {
    raw.write(preface);
    await seen();
    await clock.advance(70_000);
    assert.equal(raw.isClosed, false);
    await clock.advance(6000);
    await ended();
    assert.equal(raw.goawayCode, noError);
  });

  it('ends one whose head does not become whole in 30 seconds, whatever comes of it', async () => {
    raw.write(preface, frame(types.headers, 0, 1, head));
    for (let at = 0; at < 4; at++) {
      raw.write(frame(types.continuation, 0, 1, fieldBlock(['x', 'y'])));
      await clock.advance(8000);
    }
    await ended();
    assert.equal(raw.goawayCode, protocol);
  });

  it('ends one whose preface does not come in 30 seconds', async () => {
    raw.write(preface.subarray(0, 20));
    await clock.advance(31_000);
    await ended();
    assert.equal(raw.goawayCode, protocol);
  });

  it('lets a request wait for as long as its app may take', async () => {
    raw.write(preface, asks(1));
    await eventually('it is under way', () => held.length === 1);
    await clock.advance(1_800_000);
    held[0]?.end('late');
    await eventually('an answer', () => raw.isAnswered(1));
    assert.equal(raw.body(1), 'late');
    await clock.advance(70_000);
    raw.write(asks(3));
    await eventually('the next is under way', () => held.length === 2);
  });

  it('lets one go on whose client only takes', async () => {
    raw.write(preface, asks(1));
    await eventually('it is under way', () => held.length === 1);
    let all = '';
    for (let at = 0; at < 4; at++) {
      held[0]?.write('event');
      all += 'event';
      await eventually('the event', () => raw.body(1) === all);
      await clock.advance(300_000);
    }
    held[0]?.end();
    await eventually('the end', () => raw.isAnswered(1));
  });

  it('ends one that takes nothing of what is answered for ten minutes', async () => {
    const noWindow = frame(types.settings, 0, 0, Buffer.of(0, 4, 0, 0, 0, 0));
    raw.write(preface, noWindow, asks(1));
    await eventually('it is under way', () => held.length === 1);
    held[0]?.end('late');
    await eventually('its head', () => raw.frames.some(({ type }) => type === types.headers));
    await clock.advance(590_000);
    assert.equal(raw.isClosed, false);
    await clock.advance(11_000);
    await ended();
    assert.equal(raw.body(1), '');
  });

  it('lets a client that is slow take all of the last answer, and say so', async () => {
    const most = 2 ** 31 - 1;
    const settings = frame(types.settings, 0, 0, Buffer.of(0, 4, ...bytesOf(most)));
    const wider = frame(types.windowUpdate, 0, 0, bytesOf(most - 65_535));
    const leaves = frame(types.goaway, 0, 0, Buffer.alloc(8));
    raw.write(preface, settings, wider, asks(1), leaves);
    const response = await found('it is under way', () => held[0]);
    raw.socket.pause();
    await once(response.end('x'.repeat(1_000_000)), 'close');
    await clock.advance(60_000);
    raw.write(frame(types.windowUpdate, 0, 1, bytesOf(1)));
    raw.socket.resume();
    await eventually('the end', () => raw.isAnswered(1), 5000);
    assert.equal(raw.body(1).length, 1_000_000);
  });

  it('refuses streams of a client that does not say whether it knows that the edge drains', async () => {
    raw.write(preface, asks(1));
    await eventually('it is under way', () => held.length === 1);
    place.edge.drain(60_000, () => undefined);
    await clock.advance(3000);
    raw.write(asks(3));
    await eventually('a refusal', () => raw.resetCode(3) === refusedStream);
    held[0]?.end('late');
    await ended();
    assert.deepEqual([raw.body(1), raw.goawayCode], ['late', noError]);
  });
});
