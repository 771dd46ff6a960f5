import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { HpackDecoder } from '../../../../../src/programs/edge/http2/hpack-decoder.ts';
import { HpackEncoder } from '../../../../../src/programs/edge/http2/hpack-encoder.ts';

const bounds = { headBytesMax: 32 * 1024, fieldsMax: 200 };
type Read = [name: string, value: string][];

/** Decodes blocks in turn, in hexadecimal digits. */
function decoded(...blocks: readonly string[]): (Read | undefined)[] {
  const decoder = new HpackDecoder(bounds);
  return blocks.map((block) => {
    const bytes = Buffer.from(block.replaceAll(' ', ''), 'hex');
    const head = decoder.decode(bytes, 0, bytes.length);
    return head?.fields.map(({ name, value }) => [name, value]);
  });
}

const get: Read = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'www.example.com'],
];
const secure: Read = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/index.html'],
  [':authority', 'www.example.com'],
  ['custom-key', 'custom-value'],
];
const requests = [get, [...get, ['cache-control', 'no-cache']], secure];
const date = (second: string): [string, string] => ['date', `Mon, 21 Oct 2013 20:13:${second} GMT`];
const location: [string, string] = ['location', 'https://www.example.com'];
const priv: [string, string] = ['cache-control', 'private'];

describe('HpackDecoder', () => {
  it('reads the requests of RFC 7541, C.3 and C.4', () => {
    const plain = decoded(
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    );
    const coded = decoded(
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    );
    assert.deepEqual(plain, requests);
    assert.deepEqual(coded, requests);
  });

  it('drops what its table has no room for, as in C.6', () => {
    const [, second, third] = decoded(
      // The table has 256 bytes.
      '3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    );
    assert.deepEqual(second, [[':status', '307'], priv, date('21'), location]);
    const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1';
    assert.deepEqual(third, [
      [':status', '200'],
      priv,
      date('22'),
      location,
      ['content-encoding', 'gzip'],
      ['set-cookie', cookie],
    ]);
  });

  for (const [what, block] of Object.entries({
    'field 0': '80',
    'a field of no table': 'be',
    'a name of no table': '7f00 0161',
    'a text that breaks off': '0003 6162',
    'a name without a value': '0001 61',
    'a number without an end': 'ffff ffff ff',
    'a number that is too large': 'ffff ffff ffff ffff ff07',
    'a table larger than agreed': '3fe2 1f',
    'a size of the table behind a field': '8220',
    'padding of a whole byte': '0082 1fff 00',
    'padding that is not all ones': '0081 1800',
    'the code that stands for the end': '0084 ffff ffff 00',
  })) {
    it(`takes no ${what}`, () => {
      assert.deepEqual(decoded(block), [undefined]);
    });
  }

  it('takes two sizes of the table in front of a head, and one that is as agreed', () => {
    assert.deepEqual(decoded('203fe11f82'), [[[':method', 'GET']]]);
  });

  it('reads a head that is too large to its end, and keeps the table as its sender does', () => {
    const decoder = new HpackDecoder(bounds);
    const name = Buffer.from('name');
    const value = Buffer.alloc(4000, 'v');
    const length = Buffer.of(0x7f, 0xa1, 0x1e); // 4000
    const large = Buffer.concat([Buffer.of(0x40, 4), name, length, value]);
    const bomb = Buffer.concat([large, Buffer.alloc(10_000, 0xbe)]);
    const head = decoder.decode(bomb, 0, bomb.length);
    assert.equal(head?.isTooLarge, true);
    assert.equal(head.fields.length, 8);
    const next = decoder.decode(Buffer.of(0xbe), 0, 1);
    assert.deepEqual(next?.fields, [{ name: 'name', value: value.toString() }]);
  });

  it('reads no more fields than its bound', () => {
    const many = Buffer.alloc(201, 0x82);
    assert.equal(new HpackDecoder(bounds).decode(many, 0, 200)?.isTooLarge, false);
    assert.equal(new HpackDecoder(bounds).decode(many, 0, 201)?.isTooLarge, true);
  });
});

describe('HpackEncoder', () => {
  const encoder = new HpackEncoder();
  const read = (block: string): Read | undefined =>
    decoded(Buffer.from(block, 'latin1').toString('hex'))[0];

  it('writes statuses and lines so that they are read as they were', () => {
    const long = 'x'.repeat(40_000);
    const lines = `Content-Type:  text/plain \r\nX-Own: a: b\r\nempty:\r\nX-Own:\t\xe9\r\nlong: ${long.slice(0, 5000)}\r\n`;
    assert.deepEqual(read(encoder.status(200) + encoder.lines(lines)), [
      [':status', '200'],
      ['content-type', 'text/plain'],
      ['x-own', 'a: b'],
      ['empty', ''],
      ['x-own', '\xe9'],
      ['long', long.slice(0, 5000)],
    ]);
    assert.deepEqual(read(encoder.status(418)), [[':status', '418']]);
    const name = 'N'.repeat(300);
    assert.deepEqual(read(encoder.field(name, 'v')), [[name.toLowerCase(), 'v']]);
  });

  it('keeps a bounded number of names', () => {
    for (let at = 0; at < 5000; at++)
      assert.deepEqual(read(encoder.field(`x-${String(at)}`, '1')), [[`x-${String(at)}`, '1']]);
  });
});
