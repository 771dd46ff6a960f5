/** What RFC 9113 wants of a server, by the cases of h2spec: over TLS, frame by frame. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { CertificateAuthority } from '../support/certificate-authority.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';
import {
  endHeaders,
  endStream,
  fieldBlock,
  frame,
  padded,
  preface,
  RawHttp2,
  types,
  withPriority,
} from '../support/http2-frames.ts';
import { needs } from '../support/programs.ts';

const host = 'a.localhost';
type Fields = readonly (readonly [string, string])[];

const pseudo: Fields = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', host],
];
const post: Fields = pseudo.with(0, [':method', 'POST']);
const without = (name: string): Fields => pseudo.filter(([known]) => known !== name);
const headers = (stream: number, fields: Fields, flags = endHeaders | endStream): Buffer =>
  frame(types.headers, flags, stream, fieldBlock(...fields));
const data = (stream: number, text: string, flags = endStream): Buffer =>
  frame(types.data, flags, stream, Buffer.from(text, 'latin1'));
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const setting = (id: number, value: number): Buffer =>
  frame(types.settings, 0, 0, Buffer.concat([Buffer.of(0, id), number(value)]));

/** A request that is none: its stream ends, or the whole connection. */
const malformed: Readonly<Record<string, readonly Buffer[]>> = {
  'without :method': [headers(1, without(':method'))],
  'without :scheme': [headers(1, without(':scheme'))],
  'without :path': [headers(1, without(':path'))],
  'without a host': [headers(1, without(':authority'))],
  'with an empty :path': [headers(1, pseudo.with(2, [':path', '']))],
  'with two of :method': [headers(1, [...pseudo, [':method', 'GET']])],
  'with two of :path': [headers(1, [...pseudo, [':path', '/b']])],
  'with two of :authority': [headers(1, [...pseudo, [':authority', 'b.localhost']])],
  'with :status': [headers(1, [...pseudo, [':status', '200']])],
  'with an unknown pseudo header': [headers(1, [...pseudo, [':what', 'x']])],
  'with a pseudo header behind others': [headers(1, [['x', 'y'], ...pseudo])],
  'with another host': [headers(1, [...pseudo, ['host', 'b.localhost']])],
  'with an upper-case name': [headers(1, [...pseudo, ['X-Upper', 'y']])],
  'with a line end in :path': [headers(1, pseudo.with(2, [':path', '/ HTTP/1.1\r\nx: y']))],
  'with a space in :method': [headers(1, pseudo.with(0, [':method', 'GET /b']))],
  'with a pseudo header in its trailers': [
    headers(1, post, endHeaders),
    headers(1, [[':method', 'GET']]),
  ],
  'with trailers that do not end it': [
    headers(1, post, endHeaders),
    headers(1, [['x', 'y']], endHeaders),
  ],
  'with less data than it told': [
    headers(1, [...post, ['content-length', '5']], endHeaders),
    data(1, 'four'),
  ],
  'with more data than it told': [
    headers(1, [...post, ['content-length', '3']], endHeaders),
    data(1, 'four'),
  ],
  'with more data than it told, in several frames': [
    headers(1, [...post, ['content-length', '3']], endHeaders),
    data(1, 'ab', 0),
    data(1, 'cd'),
  ],
  'with a length and no data': [headers(1, [...post, ['content-length', '5']])],
  'with two lengths': [
    headers(1, [...post, ['content-length', '4'], ['content-length', '4']], endHeaders),
    data(1, 'four'),
  ],
  'with a length that is none': [
    headers(1, [...post, ['content-length', '+4']], endHeaders),
    data(1, 'four'),
  ],
};
for (const [name, value] of [
  ['connection', 'close'],
  ['keep-alive', 'timeout=5'],
  ['proxy-connection', 'keep-alive'],
  ['transfer-encoding', 'chunked'],
  ['upgrade', 'h2c'],
  ['te', 'gzip'],
] as const)
  Object.assign(malformed, { [`with ${name}`]: [headers(1, [...pseudo, [name, value]])] });

const open = headers(1, post, endHeaders);
const whole = headers(1, pseudo);
const [noError, protocol, flowControl, streamClosed] = [0, 1, 3, 5];
const [frameSize, refusedStream, compression] = [6, 7, 9];
/** Frames that may not be, with the error that they end the stream or the connection with. */
const forbidden: Readonly<Record<string, readonly [code: number, ...Buffer[]]>> = {
  'DATA on an idle stream': [protocol, data(1, 'x')],
  'DATA on stream 0': [protocol, open, data(0, 'x')],
  'HEADERS on stream 0': [protocol, headers(0, pseudo)],
  'HEADERS on a stream of the server': [protocol, headers(2, pseudo)],
  'DATA behind END_STREAM': [streamClosed, whole, data(1, 'x')],
  'HEADERS behind END_STREAM': [streamClosed, whole, whole],
  'DATA that is all padding': [protocol, open, frame(types.data, padded, 1, Buffer.of(5, 0, 0))],
  'HEADERS that are all padding': [
    protocol,
    frame(types.headers, padded | endHeaders | endStream, 1, Buffer.of(5, 0, 0)),
  ],
  'a frame that is too large': [frameSize, open, data(1, 'x'.repeat(16_385))],
  'HEADERS that are too large': [
    frameSize,
    frame(types.headers, endHeaders, 1, Buffer.alloc(16_385)),
  ],
  'SETTINGS of five bytes': [frameSize, frame(types.settings, 0, 0, Buffer.alloc(5))],
  'a confirmation of SETTINGS with some': [frameSize, frame(types.settings, 1, 0, Buffer.alloc(6))],
  'SETTINGS on a stream': [protocol, open, frame(types.settings, 0, 1)],
  'SETTINGS_ENABLE_PUSH of 2': [protocol, setting(2, 2)],
  'SETTINGS_INITIAL_WINDOW_SIZE of 2^31': [flowControl, setting(4, 2 ** 31)],
  'SETTINGS_MAX_FRAME_SIZE of 100': [protocol, setting(5, 100)],
  'SETTINGS_MAX_FRAME_SIZE of 2^24': [protocol, setting(5, 2 ** 24)],
  'PING of seven bytes': [frameSize, frame(types.ping, 0, 0, Buffer.alloc(7))],
  'PING on a stream': [protocol, open, frame(types.ping, 0, 1, Buffer.alloc(8))],
  'GOAWAY on a stream': [protocol, open, frame(types.goaway, 0, 1, Buffer.alloc(8))],
  'RST_STREAM of three bytes': [frameSize, open, frame(types.rst, 0, 1, Buffer.alloc(3))],
  'RST_STREAM of an idle stream': [protocol, frame(types.rst, 0, 1, number(8))],
  'RST_STREAM of stream 0': [protocol, frame(types.rst, 0, 0, number(8))],
  'PRIORITY of four bytes': [frameSize, open, frame(types.priority, 0, 1, Buffer.alloc(4))],
  'WINDOW_UPDATE of 0': [protocol, frame(types.windowUpdate, 0, 0, number(0))],
  'WINDOW_UPDATE of 0 of a stream': [protocol, open, frame(types.windowUpdate, 0, 1, number(0))],
  'WINDOW_UPDATE of three bytes': [frameSize, frame(types.windowUpdate, 0, 0, Buffer.alloc(3))],
  'WINDOW_UPDATE of an idle stream': [protocol, frame(types.windowUpdate, 0, 1, number(1))],
  'a window beyond 2^31-1': [flowControl, frame(types.windowUpdate, 0, 0, number(2 ** 31 - 1))],
  'a window of a stream beyond 2^31-1': [
    flowControl,
    open,
    frame(types.windowUpdate, 0, 1, number(2 ** 31 - 1)),
  ],
  'PUSH_PROMISE of a client': [
    protocol,
    open,
    frame(types.pushPromise, endHeaders, 1, Buffer.concat([number(2), fieldBlock(...pseudo)])),
  ],
  'CONTINUATION without HEADERS': [
    protocol,
    frame(types.continuation, endHeaders, 1, fieldBlock(...pseudo)),
  ],
  'CONTINUATION behind a whole head': [
    protocol,
    open,
    frame(types.continuation, endHeaders, 1, fieldBlock(['x', 'y'])),
  ],
  'CONTINUATION of another stream': [
    protocol,
    headers(1, pseudo, endStream),
    frame(types.continuation, endHeaders, 3, fieldBlock(['x', 'y'])),
  ],
  'DATA within a head': [protocol, headers(1, post, 0), data(1, 'x')],
  'HEADERS within a head': [protocol, headers(1, post, 0), headers(3, pseudo)],
  'an unknown frame within a head': [protocol, headers(1, post, 0), frame(0xbe, 0, 1)],
  'a field of no table': [
    compression,
    frame(types.headers, endHeaders | endStream, 1, Buffer.of(0xfe)),
  ],
  'field 0': [compression, frame(types.headers, endHeaders | endStream, 1, Buffer.of(0x80))],
  'a head that breaks off in a field': [
    compression,
    frame(types.headers, endHeaders | endStream, 1, Buffer.of(0, 9, 0x61)),
  ],
  'a table that is too large': [
    compression,
    frame(types.headers, endHeaders | endStream, 1, Buffer.of(0x3f, 0xe1, 0xff, 0xff, 0x07)),
  ],
};

/** What a server takes no notice of: the request on stream 3 is answered as ever. */
const ignored: Readonly<Record<string, readonly Buffer[]>> = {
  'an unknown frame': [frame(0xbe, 0xff, 0, Buffer.alloc(20))],
  'an unknown frame of an open stream': [open, frame(0xbe, 0xff, 1, Buffer.alloc(20))],
  'unknown flags': [frame(types.ping, 0xfe, 0, Buffer.alloc(8))],
  'an unknown setting': [setting(0xbe, 1)],
  'an answer to no PING': [frame(types.ping, 1, 0, Buffer.alloc(8))],
  'a second confirmation of SETTINGS': [frame(types.settings, 1, 0), frame(types.settings, 1, 0)],
  'DATA with padding': [open, frame(types.data, padded | endStream, 1, Buffer.of(2, 97, 0, 0))],
  'PRIORITY of an idle stream': [frame(types.priority, 0, 1, Buffer.alloc(5))],
  'a window of a stream that is over': [
    open,
    frame(types.rst, 0, 1, number(8)),
    frame(types.windowUpdate, 0, 1, number(1)),
  ],
  'a head in many frames': [
    frame(types.headers, endStream, 1),
    ...pseudo.map((field) => frame(types.continuation, 0, 1, fieldBlock(field))),
    frame(types.continuation, endHeaders, 1),
  ],
};

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

  it('drops a field whose value holds a line end', async () => {
    const one = await sent(headers(1, [...pseudo, ['x-own', 'y\r\nx-own: z']]));
    await eventually('an answer', () => one.isAnswered(1));
    assert.deepEqual(taken, ['GET / undefined']);
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
    assert.equal(payload.toString('latin1'), '\x08\x03431');
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
