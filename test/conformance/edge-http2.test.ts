/** What RFC 9113 wants of a server, by the cases of h2spec: over TLS, frame by frame. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { CertificateAuthority } from '../support/certificate-authority.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';
import {
  data,
  forbidden,
  headers,
  host,
  ignored,
  malformed,
  number,
  post,
  pseudo,
  setting,
  whole,
} from '../support/http2-cases.ts';
import {
  endHeaders,
  endStream,
  fieldBlock,
  frame,
  preface,
  RawHttp2,
  types,
  withPriority,
} from '../support/http2-frames.ts';
import { needs } from '../support/programs.ts';

const [noError, protocol, refusedStream] = [0, 1, 7];

describe('the edge by HTTP/2', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let place: EdgePlace;
  let raw: RawHttp2 | undefined;
  /** Requests that the app has seen to their end. */
  let taken: string[] = [];
  /** Of the bodies of all. */
  let came = '';
  before(async () => {
    authority = new CertificateAuthority();
    place = await new EdgePlace().open();
    await place.listenTls();
    place.edge.setCertificates([authority.issue([host])]);
    const { port } = await place.app((req, res) => {
      req.on('error', () => undefined);
      req.on('data', (bytes: Buffer) => (came += bytes.toString()));
      req.on('end', () => {
        taken.push(`${req.method ?? ''} ${req.url ?? ''} ${String(req.headers['x-own'])}`);
        res.end('here');
      });
    });
    place.routeTo(port);
  });
  afterEach(() => raw?.socket.destroy());
  after(async () => {
    await place.close();
    authority.close();
  });

  const sent = async (...frames: readonly Buffer[]): Promise<RawHttp2> => {
    taken = [];
    raw = await RawHttp2.open(place.tlsPort, host, authority.root);
    raw.write(preface, ...frames);
    return raw;
  };
  /** Of the stream, else of the connection; -1 where it was closed without a word. */
  const errorOf = async (one: RawHttp2): Promise<number> => {
    await eventually(
      'an error',
      () => (one.resetCode(1) ?? one.goawayCode) !== undefined || one.isClosed,
    );
    return one.resetCode(1) ?? one.goawayCode ?? -1;
  };
  const served = async (one: RawHttp2): Promise<void> => {
    one.write(headers(3, pseudo.with(2, [':path', '/3'])));
    await eventually('an answer', () => one.isAnswered(3));
    assert.equal(one.body(3), 'here');
  };

  for (const [what, frames] of Object.entries(malformed)) {
    it(`brings no app a request ${what}`, async () => {
      const one = await sent(...frames);
      assert.equal(await errorOf(one), protocol);
      if (one.goawayCode === undefined) await served(one);
      assert.deepEqual(
        taken.filter((line) => !line.startsWith('GET /3 ')),
        [],
      );
    });
  }

  for (const [what, [code, ...frames]] of Object.entries(forbidden)) {
    it(`takes no ${what}`, async () => {
      const one = await sent(...frames);
      assert.equal(await errorOf(one), code);
    });
  }

  for (const [what, frames] of Object.entries(ignored)) {
    it(`takes no notice of ${what}`, async () => {
      await served(await sent(...frames));
    });
  }

  it('serves a stream that depends on itself, or ends it', async () => {
    const itself = Buffer.concat([number(1), Buffer.of(15)]);
    const flags = endHeaders | endStream | withPriority;
    const head = Buffer.concat([itself, fieldBlock(...pseudo)]);
    const one = await sent(frame(types.headers, flags, 1, head));
    const hasError = (): boolean => (one.resetCode(1) ?? one.goawayCode) === protocol;
    await eventually('its end', () => one.isAnswered(1) || hasError());
    const later = await sent(frame(types.priority, 0, 1, itself), whole);
    await eventually('its end', () => later.isAnswered(1) || later.isClosed);
  });

  it('asks no app for what comes on a stream that is over', async () => {
    const one = await sent(whole);
    await eventually('an answer', () => one.isAnswered(1));
    one.write(headers(1, pseudo.with(2, [':path', '/again'])), data(1, 'x'));
    one.write(headers(3, pseudo.with(2, [':path', '/3'])));
    await eventually('an answer or an error', () => one.isAnswered(3) || one.isClosed);
    assert.ok(!taken.join().includes('/again'));
  });

  it('answers what is under way when a client says that it leaves', async () => {
    const one = await sent(whole, frame(types.goaway, 0, 0, Buffer.alloc(8)));
    await eventually('an answer', () => one.isAnswered(1));
    assert.equal(one.body(1), 'here');
    await eventually('the end', () => one.isClosed);
    assert.equal(one.goawayCode ?? noError, noError);
  });

  it('answers a head that is larger than it takes with 431, and goes on', async () => {
    const fields = Array.from(
      { length: 60 },
      (_, at) => [`x-${String(at)}`, 'v'.repeat(120)] as const,
    );
    const one = await sent(
      headers(1, pseudo, endStream),
      ...[1, 2, 3, 4].map(() => frame(types.continuation, 0, 1, fieldBlock(...fields))),
      frame(types.continuation, endHeaders, 1),
    );
    await eventually('an answer', () => one.isAnswered(1));
    const { payload } = one.frames.find(
      ({ type, stream }) => type === types.headers && stream === 1,
    )!;
    const date = /^\x08\x03431\x0f\x12\x1d(.{29})$/.exec(payload.toString('latin1'))?.[1];
    assert.ok(Math.abs(Date.parse(date ?? '') - Date.now()) < 60_000, date);
    await served(one);
    assert.deepEqual(taken, ['GET /3 undefined']);
  });

  it('takes no more streams at once than it told', async () => {
    const many = Array.from({ length: 129 }, (_, at) => headers(at * 2 + 1, post, endHeaders));
    const one = await sent(...many);
    await eventually('a refusal', () => one.resetCode(257) === refusedStream);
    one.write(data(1, 'x'));
    await eventually('an answer', () => one.isAnswered(1));
  });

  it('brings apps what came of bodies, of whichever streams, before there is more', async () => {
    const one = await sent(headers(1, post, endHeaders), headers(3, post, endHeaders));
    came = '';
    one.write(data(1, 'a', 0), data(3, 'b', 0));
    await eventually('both', () => came.length === 2);
    one.write(data(3, 'c', 0), data(1, 'd', 0), data(3, 'e'));
    await eventually('all', () => came.length === 5);
    one.write(data(1, ''));
    await eventually('answers', () => one.isAnswered(1) && one.isAnswered(3));
  });

  it('takes what comes on a stream that it has ended meanwhile for nothing', async () => {
    const one = await sent(headers(1, [...post, ['content-length', '1']], endHeaders));
    one.write(...Array.from({ length: 100 }, () => data(1, 'x'.repeat(16_000), 0)), data(1, 'x'));
    assert.equal(await errorOf(one), protocol);
    await served(one);
    // Its bytes were given back.
    assert.ok(one.frames.some(({ type, stream }) => type === types.windowUpdate && stream === 0));
    assert.equal(one.frames.filter(({ type }) => type === types.rst).length, 1);
  });

  it('confirms settings and pings, and sends as much as the last of several windows says', async () => {
    const two = Buffer.concat([Buffer.of(0, 4), number(100), Buffer.of(0, 4), number(1)]);
    const one = await sent(frame(types.settings, 0, 0, two), whole);
    one.write(frame(types.ping, 0, 0, Buffer.from('are here')));
    await eventually('a part', () => one.body(1) === 'h');
    const acks = one.frames.filter(({ flags, stream }) => stream === 0 && flags === 1);
    const told = acks.map(({ type, payload }) => [type, payload.toString()]);
    // Those of the preface come first.
    assert.deepEqual(told, [
      [types.settings, ''],
      [types.settings, ''],
      [types.ping, 'are here'],
    ]);
  });

  it('lets a window be less than nothing, and sends on once it is more', async () => {
    const one = await sent(setting(4, 3), whole);
    await eventually('a part', () => one.body(1) === 'her');
    one.write(setting(4, 1), frame(types.windowUpdate, 0, 1, number(2)));
    await served(await sent(whole));
    assert.equal(one.body(1), 'her');
    one.write(frame(types.windowUpdate, 0, 1, number(1)));
    await eventually('the rest', () => one.isAnswered(1));
    one.socket.destroy();
  });

  it('has heads begin with the size of a table that the client makes smaller', async () => {
    const one = await sent(setting(1, 0), whole);
    await eventually('an answer', () => one.isAnswered(1));
    await served(one);
    const starts = [1, 3].map((stream) => {
      const head = one.frames.find((f) => f.type === types.headers && f.stream === stream);
      return [...(head?.payload.subarray(0, 2) ?? [])];
    });
    // To no bytes, and 200; from then on as ever.
    assert.deepEqual(starts[0], [0x20, 0x88]);
    assert.equal(starts[1]?.[0], 0x88);
  });

  it('answers HEAD without a body, and what comes behind an answer with RST_STREAM', async () => {
    const one = await sent(headers(1, pseudo.with(0, [':method', 'HEAD'])));
    await eventually('an answer', () => one.isAnswered(1));
    assert.equal(one.body(1), '');
    const late = post.with(3, [':authority', 'b.localhost']);
    one.write(headers(3, late, endHeaders));
    await eventually('the end', () => one.resetCode(3) === noError);
    assert.ok(one.isAnswered(3));
    one.write(data(3, 'x'));
    one.write(headers(5, pseudo));
    await eventually('an answer', () => one.isAnswered(5));
    assert.equal(one.goawayCode, undefined);
  });

  it('sends no more than the client takes, and the rest once it takes more', async () => {
    const one = await sent(setting(4, 3), whole);
    await eventually('a part', () => one.body(1) === 'her');
    await served(await sent(whole));
    assert.ok(!one.isAnswered(1));
    one.write(frame(types.windowUpdate, 0, 1, number(1)));
    await eventually('the rest', () => one.isAnswered(1));
    assert.equal(one.body(1), 'here');
    one.socket.destroy();
  });

  it('ends a connection that begins with another preface', async () => {
    taken = [];
    raw = await RawHttp2.open(place.tlsPort, host, authority.root);
    raw.write(Buffer.from('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n', 'latin1'));
    await eventually('the end', () => raw?.isClosed === true);
    assert.deepEqual([taken, raw.body(1)], [[], '']);
  });
});
