/** Cases of h2spec, and others of their kind, as frames: what a client may not send, and what a server takes no notice of. */
import { endHeaders, endStream, fieldBlock, frame, padded, types } from './http2-frames.ts';

export const host = 'a.localhost';
export type Fields = readonly (readonly [string, string])[];

export const pseudo: Fields = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', host],
];
export const post: Fields = pseudo.with(0, [':method', 'POST']);
const without = (name: string): Fields => pseudo.filter(([known]) => known !== name);
export const headers = (stream: number, fields: Fields, flags = endHeaders | endStream): Buffer =>
  frame(types.headers, flags, stream, fieldBlock(...fields));
export const data = (stream: number, text: string, flags = endStream): Buffer =>
  frame(types.data, flags, stream, Buffer.from(text, 'latin1'));
export const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
export const setting = (id: number, value: number): Buffer =>
  frame(types.settings, 0, 0, Buffer.concat([Buffer.of(0, id), number(value)]));

/** A request that is none: its stream ends, or the whole connection. */
export const malformed: Readonly<Record<string, readonly Buffer[]>> = {
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
  'with a line end in a value': [headers(1, [...pseudo, ['x-own', 'y\r\nx-own: z']])],
  'with NUL in a value': [headers(1, [...pseudo, ['x-own', 'y\0']])],
  'with a line end in its trailers': [headers(1, post, endHeaders), headers(1, [['x', 'y\n']])],
  'with two of :scheme': [headers(1, [...pseudo, [':scheme', 'http']])],
  'with another protocol on its stream (RFC 8441)': [
    headers(1, [...pseudo.with(0, [':method', 'CONNECT']), [':protocol', 'websocket']], endHeaders),
  ],
  'to CONNECT elsewhere': [
    headers(
      1,
      [
        [':method', 'CONNECT'],
        [':authority', 'b.localhost:443'],
      ],
      endHeaders,
    ),
  ],
  'of CONNECT with a path': [headers(1, pseudo.with(0, [':method', 'CONNECT']))],
  'with a :path that is none': [headers(1, pseudo.with(2, [':path', 'x']))],
  'with an address for its :path': [headers(1, pseudo.with(2, [':path', `https://${host}/x`]))],
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

export const open = headers(1, post, endHeaders);
export const whole = headers(1, pseudo);
const [protocol, flowControl, streamClosed, frameSize, compression] = [1, 3, 5, 6, 9];
const cancel = frame(types.rst, 0, 1, number(8));
const block = (...bytes: readonly number[]): Buffer =>
  frame(types.headers, endHeaders | endStream, 1, Buffer.from(bytes));
/** Frames that may not be, with the error that they end the stream or the connection with. */
export const forbidden: Readonly<Record<string, readonly [code: number, ...Buffer[]]>> = {
  'DATA on an idle stream': [protocol, data(1, 'x')],
  'DATA on a stream that was taken back': [streamClosed, open, cancel, data(1, 'x')],
  'HEADERS on a stream that was taken back': [streamClosed, open, cancel, whole],
  'HEADERS on a stream that was passed over': [protocol, headers(5, pseudo), headers(3, pseudo)],
  'PRIORITY on stream 0': [protocol, frame(types.priority, 0, 0, Buffer.alloc(5))],
  'PRIORITY within a head': [
    protocol,
    headers(1, post, 0),
    frame(types.priority, 0, 1, Buffer.alloc(5)),
  ],
  'CONTINUATION on an idle stream': [
    protocol,
    frame(types.continuation, endHeaders, 1, fieldBlock(...pseudo)),
  ],
  'CONTINUATION on stream 0': [
    protocol,
    headers(1, pseudo, endStream),
    frame(types.continuation, endHeaders, 0, fieldBlock(['x', 'y'])),
  ],
  'CONTINUATION behind CONTINUATION that ends a head': [
    protocol,
    headers(1, post, 0),
    frame(types.continuation, endHeaders, 1),
    frame(types.continuation, endHeaders, 1),
  ],
  'CONTINUATION behind DATA': [
    protocol,
    open,
    data(1, 'x', 0),
    frame(types.continuation, endHeaders, 1),
  ],
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
  'a name of no table': [compression, block(0x7f, 0x00, 0x01, 0x61)],
  'a size of the table behind a field': [compression, block(0x82, 0x20)],
  "a text with a byte of Huffman's padding": [compression, block(0x00, 0x82, 0x1f, 0xff, 0x00)],
  "a text with Huffman's padding of zeros": [compression, block(0x00, 0x81, 0x18, 0x00)],
  "a text with Huffman's code for its end": [
    compression,
    block(0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00),
  ],
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
export const ignored: Readonly<Record<string, readonly Buffer[]>> = {
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
  'the reserved bit of a stream': [frame(types.ping, 0, 2 ** 31, Buffer.alloc(8))],
  'the reserved bit of a window': [frame(types.windowUpdate, 0, 0, number(2 ** 31 + 1))],
  'an unknown error of RST_STREAM': [open, frame(types.rst, 0, 1, number(0xff))],
  'DATA of as many bytes as a frame may have': [open, data(1, 'x'.repeat(16_384))],
  'PRIORITY of streams in any state': [
    whole,
    frame(types.priority, 0, 1, Buffer.of(0x80, 0, 0, 5, 255)),
    frame(types.priority, 0, 5, Buffer.of(0, 0, 0, 1, 0)),
  ],
  'RST_STREAM and WINDOW_UPDATE of a stream whose end has come': [
    whole,
    frame(types.windowUpdate, 0, 1, number(1)),
    cancel,
  ],
  'a head in many frames': [
    frame(types.headers, endStream, 1),
    ...pseudo.map((field) => frame(types.continuation, 0, 1, fieldBlock(field))),
    frame(types.continuation, endHeaders, 1),
  ],
};
