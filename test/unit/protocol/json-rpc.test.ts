import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  errorJson,
  notificationJson,
  readMessage,
  readyBytes,
  ReadyResult,
  resultJson,
  rpcCodes,
} from '../../../src/protocol/json-rpc.ts';

const read = (body: string | Uint8Array) => readMessage(Buffer.from(body));

function refusal(body: string | Uint8Array): { code: number; id?: unknown } {
  const message = read(body);
  assert.ok(message.kind === 'refused', Buffer.from(body).toString().slice(0, 100));
  assert.ok(!message.message.includes('<'), 'no word of the body');
  return { code: message.code, ...('id' in message && { id: message.id }) };
}

const request = (over: string) => `{"jsonrpc":"2.0","id":1,"method":"m"${over}}`;
const parseError = { code: rpcCodes.parseError };
const invalid = { code: rpcCodes.invalidRequest };

describe('readMessage', () => {
  it('reads requests and notifications, with params or without', () => {
    const params = { a: [1] };
    assert.deepEqual(read(request('')), { kind: 'request', id: 1, method: 'm', params: {} });
    assert.deepEqual(read(request(',"params":{"a":[1]}')), {
      kind: 'request',
      id: 1,
      method: 'm',
      params,
    });
    assert.deepEqual(read('{"jsonrpc":"2.0","method":"m","params":{"a":[1]}}'), {
      kind: 'notification',
      method: 'm',
      params,
    });
  });

  it('takes white space and a byte order mark around a message', () => {
    assert.equal(read(` \r\n\t${request('')}\n`).kind, 'request');
    assert.equal(read(`\ufeff${request('')}`).kind, 'request');
  });

  for (const [name, body] of [
    ['nothing', ''],
    ['no JSON', '<html>'],
    ['JSON that is cut', request('').slice(0, -1)],
    ['two messages', request('') + request('')],
    ['a NUL behind it', `${request('')}\0`],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['half a surrogate in UTF-8', Buffer.from('{"jsonrpc":"\xed\xa0\x80"}', 'latin1')],
    ['UTF-16', Buffer.from(request(''), 'utf16le')],
    ['brackets closed before they are opened', `${']'.repeat(500)}${'['.repeat(90)}`],
    ['a control character in a text', request(',"params":{"a":"\n"}')],
  ] as const) {
    it(`refuses ${name} as no JSON, without an id`, () => {
      assert.deepEqual(refusal(body), parseError);
    });
  }

  for (const body of ['[]', `[${request('')}]`, '1', '"m"', 'null', 'true']) {
    it(`refuses ${body} as no message, without an id`, () => {
      assert.deepEqual(refusal(body), invalid);
    });
  }

  for (const id of ['0', '-0', '1', '-7', '1e2', String(Number.MAX_SAFE_INTEGER), '""', '"1"']) {
    it(`gives the id ${id} back`, () => {
      const message = read(`{"jsonrpc":"2.0","id":${id},"method":"m"}`);
      assert.ok(message.kind === 'request');
      assert.ok(message.id === JSON.parse(id));
    });
  }

  it('takes an id of 1,000 characters and no longer one', () => {
    const withId = (id: string) => `{"jsonrpc":"2.0","id":"${id}","method":"m"}`;
    assert.equal(read(withId('x'.repeat(1_000))).kind, 'request');
    assert.deepEqual(refusal(withId('x'.repeat(1_001))), invalid);
  });

  for (const id of ['null', '1.5', '1e400', '9007199254740992', 'true', '{}', '[]', '["a"]']) {
    it(`refuses the id ${id} and answers without one`, () => {
      assert.deepEqual(refusal(`{"jsonrpc":"2.0","id":${id},"method":"m"}`), invalid);
    });
  }

  for (const body of [
    '{"id":1,"method":"m"}',
    '{"jsonrpc":"1.0","id":1,"method":"m"}',
    '{"jsonrpc":2,"id":1,"method":"m"}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":1,"method":7}',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    request(',"params":[]'),
    request(',"params":"<x>"'),
    request(',"params":null'),
  ]) {
    it(`refuses ${body} with its id`, () => {
      assert.deepEqual(refusal(body), { ...invalid, id: 1 });
    });
  }

  it('lets the last of two members of one name count', () => {
    const message = read('{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}');
    assert.deepEqual(message, { kind: 'request', id: 2, method: 'b', params: {} });
    assert.deepEqual(refusal('{"jsonrpc":"2.0","id":1,"id":null,"method":"a"}'), invalid);
  });

  it('takes nothing from the prototype of what was sent', () => {
    assert.deepEqual(refusal('{"__proto__":{"jsonrpc":"2.0","id":1,"method":"m"}}'), invalid);
    const message = read(request(',"params":{"__proto__":{"name":"x"},"constructor":1}'));
    assert.ok(message.kind === 'request');
    assert.equal(message.params['name'], undefined);
    assert.deepEqual(Object.keys(message.params), ['__proto__', 'constructor']);
    assert.equal(({} as Record<string, unknown>)['name'], undefined);
  });

  it('takes 100 levels and no more, however they are made', () => {
    const nested = (levels: number) =>
      request(`,"params":{"a":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}`);
    assert.equal(read(nested(100)).kind, 'request');
    assert.deepEqual(refusal(nested(101)), invalid);
    assert.deepEqual(refusal(nested(1_000)), invalid);
    assert.deepEqual(refusal('{"a":'.repeat(1_000_000)), invalid);
    assert.deepEqual(refusal('['.repeat(4 * 1024 * 1024)), invalid);
  });

  it('does not take brackets and commas in texts for structure', () => {
    const text = JSON.stringify(`${'[{'.repeat(300)}\\"${','.repeat(50_000)}`);
    assert.equal(read(request(`,"params":{"a":${text}}`)).kind, 'request');
  });

  it('takes 20,000 commas and no more', () => {
    const withItems = (count: number) => request(`,"params":{"a":[${'1,'.repeat(count)}1]}`);
    assert.equal(read(withItems(20_000 - 3)).kind, 'request');
    assert.deepEqual(refusal(withItems(20_000 - 2)), invalid);
  });
});

describe('answers', () => {
  it('carry a ready result as text and as bytes alike', () => {
    const result = '{"a":"é 🎉"}';
    for (const id of [0, -3, 'é', '\ud800', '"\\']) {
      const text = resultJson(id, result);
      const ready = new ReadyResult(readyBytes(result));
      assert.equal(Buffer.from(ready.response(id)).toString(), text);
      assert.deepEqual(JSON.parse(text), { jsonrpc: '2.0', id, result: { a: 'é 🎉' } });
    }
  });

  it('leave out an id that could not be read, and data where there is none', () => {
    const fault = { code: -32700, message: 'x' };
    assert.equal(
      errorJson(undefined, fault),
      '{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}',
    );
    assert.deepEqual(JSON.parse(errorJson(0, { ...fault, data: [] })), {
      jsonrpc: '2.0',
      id: 0,
      error: { ...fault, data: [] },
    });
  });

  it('stand on one line, as events need them', () => {
    assert.ok(!notificationJson('m', { a: 'x\r\n\u2028y' }).includes('\n'));
    assert.deepEqual(JSON.parse(notificationJson('m', { a: 1 })), {
      jsonrpc: '2.0',
      method: 'm',
      params: { a: 1 },
    });
  });
});

describe('ReadyResult', () => {
  it('is sent behind any id, the longest ones included', () => {
    const ready = new ReadyResult(readyBytes('{"tools":["é"]}'));
    for (const id of [0, -7, 'a', 'ü'.repeat(90), 'x'.repeat(1_000)]) {
      assert.deepEqual(JSON.parse(Buffer.from(ready.response(id)).toString()), {
        jsonrpc: '2.0',
        id,
        result: { tools: ['é'] },
      });
    }
  });
});
