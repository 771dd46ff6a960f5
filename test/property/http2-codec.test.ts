/** Frames and heads of HTTP/2 at the edge, against what fast-check makes up and against Node's own client. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';

import {
  type Frame,
  type FrameEvents,
  FrameReader,
} from '../../src/programs/edge/http2/frame-reader.ts';
import { frameTypes } from '../../src/programs/edge/http2/frames.ts';
import { HpackDecoder } from '../../src/programs/edge/http2/hpack-decoder.ts';
import { HpackEncoder } from '../../src/programs/edge/http2/hpack-encoder.ts';
import { CertificateAuthority } from '../support/certificate-authority.ts';
import { cleanups } from '../support/cleanups.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { frame, padded } from '../support/http2-frames.ts';
import { needs } from '../support/programs.ts';

const bounds = { headBytesMax: 32 * 1024, fieldsMax: 200 };

/** What a reader tells; data as far as it belongs together. */
class Heard implements FrameEvents {
  readonly told: unknown[] = [];
  #data: Buffer[] = [];
  dataBegins(stream: number, length: number): void {
    this.told.push({ stream, length });
    this.#data = [];
  }
  data(bytes: Buffer, from: number, to: number): void {
    assert.ok(to > from);
    this.#data.push(Buffer.from(bytes.subarray(from, to)));
  }
  dataEnds(endsStream: boolean): void {
    this.told.push({ data: Buffer.concat(this.#data).toString('hex'), endsStream });
  }
  frame({ type, flags, stream, bytes, from, to }: Frame): void {
    this.told.push({ type, flags, stream, payload: bytes.toString('hex', from, to) });
  }
  wrongFrame(code: number): void {
    this.told.push(code);
  }
}

function heard(bytes: Buffer, pieces: readonly number[]): unknown[] {
  const events = new Heard();
  const reader = new FrameReader(events);
  let at = 0;
  for (const piece of [...pieces, bytes.length]) {
    reader.read(bytes.subarray(at, at + piece), 0);
    at = Math.min(at + piece, bytes.length);
  }
  return events.told;
}

interface Sent {
  type: number;
  flags: number;
  stream: number;
  payload: Uint8Array;
  padding: number;
}
const sent: fc.Arbitrary<Sent> = fc.record({
  type: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 })),
  flags: fc.integer({ min: 0, max: 255 }),
  stream: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  payload: fc.uint8Array({ maxLength: 40 }),
  padding: fc.integer({ min: 0, max: 10 }),
});

function written({ type, flags, stream, payload, padding }: Sent): Buffer {
  if (type !== frameTypes.data || !(flags & padded)) return frame(type, flags, stream, payload);
  const parts = [Buffer.of(padding), payload, Buffer.alloc(padding)];
  return frame(type, flags, stream, Buffer.concat(parts));
}

function expected({ type, flags, stream, payload, padding }: Sent): unknown[] {
  const bytes = Buffer.from(payload).toString('hex');
  if (type !== frameTypes.data) return [{ type, flags, stream, payload: bytes }];
  const length = payload.length + (flags & padded ? padding + 1 : 0);
  return [
    { stream, length },
    { data: bytes, endsStream: (flags & 1) !== 0 },
  ];
}

describe('FrameReader', () => {
  it('tells the same frames however their bytes come', () => {
    fc.assert(
      fc.property(
        fc.array(sent, { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 60 })),
        (frames, pieces) => {
          const bytes = Buffer.concat(frames.map(written));
          assert.deepEqual(heard(bytes, pieces), frames.flatMap(expected));
        },
      ),
    );
  });

  it('tells the same frames cut at every byte', () => {
    const frames = [
      { type: 0, flags: padded | 1, stream: 1, payload: Buffer.from('data'), padding: 3 },
      { type: 0, flags: padded, stream: 1, payload: Buffer.alloc(0), padding: 0 },
      { type: 1, flags: 4, stream: 3, payload: Buffer.from('headers'), padding: 0 },
      { type: 4, flags: 1, stream: 0, payload: Buffer.alloc(0), padding: 0 },
    ];
    const bytes = Buffer.concat(frames.map(written));
    const all = frames.flatMap(expected);
    for (let cut = 0; cut <= bytes.length; cut++) assert.deepEqual(heard(bytes, [cut]), all);
    assert.deepEqual(heard(bytes, new Array<number>(bytes.length).fill(1)), all);
  });
});

// What a proxy takes of an app: names in any case, values without control characters.
const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const name = fc.string({
  unit: fc.constantFrom(...Array.from(token)),
  minLength: 1,
  maxLength: 80,
});
const known = fc.constantFrom('Content-Type', 'etag', 'SET-COOKIE', 'x-powered-by', 'Vary');
const byte = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f);
const value = fc
  .array(byte, { maxLength: 200 })
  .map((codes) => String.fromCharCode(...codes).trim());
const field = fc.tuple(fc.oneof(name, known), value);

describe('HPACK at the edge', () => {
  it('reads what it wrote', () => {
    const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(bounds)];
    const status = fc.integer({ min: 100, max: 599 });
    fc.assert(
      fc.property(status, fc.array(field, { maxLength: 20 }), (code, fields) => {
        const lines = fields.map(([one, what]) => `${one}: ${what}\r\n`).join('');
        const block = Buffer.from(encoder.status(code) + encoder.lines(lines), 'latin1');
        const head = decoder.decode(block, 0, block.length);
        const read = head?.fields.map((one) => [one.name, one.value]);
        const lower = fields.map(([one, what]) => [one.toLowerCase(), what]);
        assert.deepEqual(read, [[':status', String(code)], ...lower]);
      }),
    );
  });

  it('reads any bytes as a head within its bounds, or as none', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }), (blocks) => {
        const decoder = new HpackDecoder({ headBytesMax: 500, fieldsMax: 10 });
        for (const block of blocks) {
          const head = decoder.decode(Buffer.from(block), 0, block.length);
          if (head === undefined) return;
          const sizes = head.fields.map((one) => one.name.length + one.value.length + 32);
          assert.ok(head.fields.length <= 10);
          assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 500);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

// Of a request: what nothing on the way heeds.
const own = name.map((one) => `x-own-${one.toLowerCase().replaceAll('_', '-')}`);
const plain = fc
  .string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 300,
  })
  .map((text) => text.trim());
const fields = fc.uniqueArray(fc.tuple(own, plain), { maxLength: 15, selector: ([one]) => one });

describe("the edge and Node's client of HTTP/2", { skip: needs('openssl') }, () => {
  let session: http2.ClientHttp2Session;
  const onEnd = cleanups();
  before(async () => {
    const authority = new CertificateAuthority();
    onEnd(() => authority.close());
    const place = await new EdgePlace().open();
    onEnd(() => place.close());
    await place.listenTls();
    place.edge.setCertificates([authority.issue(['a.localhost'])]);
    const { port } = await place.app((req, res) => {
      // What came goes back, in the head.
      const pairs = Object.entries(req.headers).filter(([one]) => one.startsWith('x-own-'));
      res.writeHead(200, pairs.flat() as string[]).end(req.url);
    });
    place.routeTo(port);
    const at = `https://127.0.0.1:${String(place.tlsPort)}`;
    session = http2.connect(at, { ca: authority.root, servername: 'a.localhost' });
    onEnd(() => session.destroy());
  });

  it('understand each other, head after head of one session', async () => {
    await fc.assert(
      fc.asyncProperty(fields, async (pairs) => {
        const head = Object.fromEntries(pairs);
        const stream = session.request({ ':authority': 'a.localhost', ...head });
        const [answer] = (await once(stream.resume(), 'response')) as [http2.IncomingHttpHeaders];
        const back = Object.entries(answer).filter(([one]) => one.startsWith('x-own-'));
        assert.deepEqual(new Map(back as [string, string][]), new Map(pairs));
      }),
      { numRuns: 60 },
    );
  });
});
