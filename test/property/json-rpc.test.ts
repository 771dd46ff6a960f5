/** JSON-RPC as bytes: whatever comes is read or refused, and an id comes back as it was. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { KnownMessages } from '../../src/mcp/known-messages.ts';
import {
  errorJson,
  readMessage,
  readyBytes,
  ReadyResult,
  resultJson,
} from '../../src/protocol/json-rpc.ts';

const kinds = ['request', 'notification', 'refused'];
// Also halves of surrogate pairs, which JSON can say and UTF-8 cannot.
const anyText = fc.string({ unit: 'binary' });
const halves = fc.string({ unit: fc.constantFrom('\ud800', '\udfff', 'é', '"', '\\', '\u0000') });
const text = fc.oneof(anyText, halves);
const id = fc.oneof(fc.maxSafeInteger(), text);
const name = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'jsonrpc', 'id', 'method'),
  text,
);
const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.jsonValue(),
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
  ),
})).value;

describe('readMessage', () => {
  it('gives one of three kinds for any JSON, and never throws', () => {
    fc.assert(
      fc.property(json, (value) => {
        assert.ok(kinds.includes(readMessage(Buffer.from(JSON.stringify(value))).kind));
      }),
    );
  });

  it('gives one of three kinds for members of any kind', () => {
    const message = fc.record(
      { jsonrpc: fc.oneof(fc.constant('2.0'), json), id: json, method: json, params: json },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(message, (value) => {
        const read = readMessage(Buffer.from(JSON.stringify(value)));
        if (read.kind === 'refused') return;
        assert.equal(typeof read.method, 'string');
        assert.ok(typeof read.params === 'object' && !Array.isArray(read.params));
      }),
    );
  });

  it('gives one of three kinds for any bytes, and for JSON with any byte changed', () => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    fc.assert(fc.property(bytes, (body) => kinds.includes(readMessage(body).kind)));
    const whole = Buffer.from(
      '{"jsonrpc":"2.0","id":"a\\u00e9","method":"m","params":{"a":[1,"é"]}}',
    );
    const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const body = Buffer.from(whole);
        for (const [at, byte] of changes) body[at] = byte;
        assert.ok(kinds.includes(readMessage(body).kind));
      }),
    );
  });

  it('reads params as JSON.parse does, own members only', () => {
    const params = fc.dictionary(name, json, { maxKeys: 5 });
    fc.assert(
      fc.property(params, (given) => {
        const body = `{"jsonrpc":"2.0","id":1,"method":"m","params":${JSON.stringify(given)}}`;
        const read = readMessage(Buffer.from(body));
        assert.ok(read.kind === 'request');
        assert.equal(JSON.stringify(read.params), JSON.stringify(given));
        assert.equal(Object.getPrototypeOf(read.params), Object.prototype);
      }),
    );
  });

  it('gives an id back as it came, in every form of answer', () => {
    fc.assert(
      fc.property(id, (sent) => {
        const asSent = JSON.stringify(sent);
        const read = readMessage(Buffer.from(`{"jsonrpc":"2.0","id":${asSent},"method":"m"}`));
        assert.ok(read.kind === 'request');
        const answers = [
          resultJson(read.id, '{}'),
          Buffer.from(new ReadyResult(readyBytes('{}')).response(read.id)).toString(),
          errorJson(read.id, { code: -1, message: 'x' }),
        ];
        for (const answer of answers) {
          assert.ok(answer.startsWith(`{"jsonrpc":"2.0","id":${asSent},`), answer);
          assert.ok((JSON.parse(answer) as { id: unknown }).id === sent);
        }
      }),
    );
  });
});

describe('KnownMessages', () => {
  it('reads every message as readMessage does, however often and with whatever id', () => {
    const message = fc.record({ params: fc.dictionary(name, json, { maxKeys: 4 }), tail: json });
    const ids = fc.array(fc.oneof(id, fc.constantFrom(0, 1, 2, 'a', 'b')), { minLength: 3 });
    fc.assert(
      fc.property(message, ids, fc.boolean(), ({ params, tail }, sent, inFront) => {
        const known = new KnownMessages();
        for (const one of sent) {
          const rest = { method: 'm', params, tail };
          const whole = inFront
            ? { jsonrpc: '2.0', id: one, ...rest }
            : { ...rest, jsonrpc: '2.0', id: one };
          const body = Buffer.from(JSON.stringify(whole));
          const expected = readMessage(body);
          const read = known.read(body);
          assert.ok(expected.kind === 'request' && read.kind === 'request');
          assert.equal(read.id, expected.id);
          assert.equal(JSON.stringify(read.content.params), JSON.stringify(expected.params));
        }
      }),
    );
  });

  it('refuses what readMessage refuses, with any byte of a known message changed', () => {
    const known = new KnownMessages();
    const whole = Buffer.from('{"jsonrpc":"2.0","id":12,"method":"m","params":{"id":1}}');
    for (let i = 0; i < 3; i++) known.read(whole);
    const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const body = Buffer.from(whole);
        for (const [at, byte] of changes) body[at] = byte;
        const expected = readMessage(body);
        const read = known.read(body);
        assert.equal(read.kind, expected.kind);
        if (read.kind !== 'request' || expected.kind !== 'request') return;
        assert.equal(read.id, expected.id);
        assert.equal(JSON.stringify(read.content.params), JSON.stringify(expected.params));
      }),
      { numRuns: 2_000 },
    );
  });
});
