import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { Holdings } from '../../../../../src/programs/edge/http2/holdings.ts';
import { HpackEncoder } from '../../../../../src/programs/edge/http2/hpack-encoder.ts';
import { Http2Session } from '../../../../../src/programs/edge/http2/session.ts';
import type { Visit } from '../../../../../src/programs/edge/visit.ts';
import { Watch } from '../../../../../src/programs/edge/watch.ts';
import {
  endHeaders,
  endStream,
  fieldBlock,
  frame,
  preface,
  types,
} from '../../../../support/http2-frames.ts';
import { ManualClock, settle } from '../../../../support/manual-clock.ts';

const nothing = (): void => undefined;
const head = fieldBlock(
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'a.localhost'],
);
const numbers = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => bytes.writeUInt32BE(value, 4 * at));
  return bytes;
};
const window = 1_000_000;
const wide = [
  frame(types.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), numbers(window)])),
  frame(types.windowUpdate, 0, 0, numbers(window)),
];

/** A socket whose client takes what is written when it is let. */
class Client extends Duplex {
  bytes = 0;
  takes = true;
  #taken: (() => void) | undefined;

  override _read(): void {}

  override _write({ length }: Buffer, _encoding: string, done: () => void): void {
    this.#taken = () => {
      this.bytes += length;
      done();
    };
    if (this.takes) this.#taken();
  }

  takeAll(): void {
    this.takes = true;
    this.#taken?.();
  }
}

describe('Http2Session that ends while its client has not taken all', () => {
  const body = Buffer.alloc(100_000, 'x');
  let clock: ManualClock;
  let watch: Watch;
  let client: Client;
  let holdings: Holdings;
  beforeEach(async () => {
    clock = new ManualClock();
    watch = new Watch(clock);
    client = new Client();
    holdings = new Holdings(150_000);
    let visit: Visit | undefined;
    new Http2Session({
      socket: client as unknown as TLSSocket,
      origin: { address: '192.0.2.1', proto: 'https', servername: 'a.localhost' },
      host: {
        watch,
        isDraining: false,
        begun: () => nothing,
        visit: (one) => (visit = one),
        answered: nothing,
      },
      ...{ clock, encoder: new HpackEncoder(), holdings, calmed: nothing },
    });
    // It opens no more, so that the session ends with this stream.
    const leaves = frame(types.goaway, 0, 0, numbers(0, 0));
    const asks = frame(types.headers, endHeaders | endStream, 1, head);
    client.push(Buffer.concat([preface, ...wide, asks, leaves]));
    await settle();
    client.takes = false;
    client.bytes = 0;
    visit?.answer({
      ...{ status: 200, reason: 'OK', fields: '', date: '', body: body.length, trailer: '' },
      ...{ keepsConnection: true, keepsForS: undefined, upgrade: '' },
    });
    visit?.bytes(body, 0, body.length);
    visit?.end('');
    await settle();
    assert.equal(client.writableEnded, true);
  });
  afterEach(() => {
    client.destroy();
    watch.close();
  });

  it('lets it take the rest, and 75 seconds more to close', async () => {
    await clock.advance(500_000);
    client.takeAll();
    await settle();
    assert.ok(client.bytes > body.length);
    await clock.advance(70_000);
    assert.equal(client.destroyed, false);
    await clock.advance(6000);
    assert.equal(client.destroyed, true);
  });

  it('goes at once where there is no room for what it holds', async () => {
    holdings.open('other', nothing).add(60_000);
    await settle();
    assert.equal(client.destroyed, true);
  });

  it('waits no longer than ten minutes for one that takes nothing', async () => {
    await clock.advance(601_000);
    assert.equal(client.destroyed, true);
  });
});
