import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  parseAttachQuery,
  parseConsoleInput,
} from '../../../../src/gateway/transports/attach-input.ts';

const query = (text: string, lastEventId = ''): ReturnType<typeof parseAttachQuery> =>
  parseAttachQuery(new URLSearchParams(text), lastEventId);

describe('parseAttachQuery()', () => {
  it('knows what is left out', () => {
    const empty = { sessionId: null, container: '', mode: 'shell', size: null };
    assert.deepEqual(query(''), empty);
    assert.deepEqual(query('unknown=1'), empty);
    assert.deepEqual(query('cols=100').size, { cols: 100, rows: 24 });
    assert.deepEqual(query('rows=1000').size, { cols: 80, rows: 1000 });
  });

  it('knows a browser that connects again by itself', () => {
    assert.equal(query('cols=80', 'str_1').sessionId, 'str_1');
    assert.equal(query('sessionId=str_2', 'str_1').sessionId, 'str_2');
    assert.equal(query('', 'g1:17').sessionId, null);
  });

  it('refuses every size that is none', () => {
    for (const size of ['0', '1001', '-1', '1.0', '1e2', ' 1', '', 'NaN', '0x10', '9999999999']) {
      assert.throws(() => query(`cols=${encodeURIComponent(size)}`), { code: 'BAD_USER_INPUT' });
    }
  });
});

describe('parseConsoleInput()', () => {
  it('measures text in the bytes that are typed', () => {
    const body = (data: string): Buffer => Buffer.from(JSON.stringify({ sessionId: 's', data }));
    const typed = parseConsoleInput(body('é\u0003'), 3);
    assert.deepEqual('bytes' in typed && [...typed.bytes], [0xc3, 0xa9, 3]);
    assert.throws(() => parseConsoleInput(body('éé'), 3), { code: 'PAYLOAD_TOO_LARGE' });
  });

  it('refuses what is no text, and takes every key there is', () => {
    const around = (data: Uint8Array): Buffer =>
      Buffer.concat([Buffer.from('{"sessionId":"s","data":"'), data, Buffer.from('"}')]);
    for (const bytes of [
      Buffer.from([0xff]),
      Buffer.from([0xc3]),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('\\ud83d'),
      Buffer.from([0]),
    ]) {
      assert.throws(() => parseConsoleInput(around(bytes), 9), { code: 'BAD_USER_INPUT' });
    }
    const keys = Array.from({ length: 128 }, (_, at) => at);
    const body = JSON.stringify({ sessionId: 's', data: String.fromCharCode(...keys) });
    const typed = parseConsoleInput(Buffer.from(body), 200);
    assert.deepEqual('bytes' in typed && [...typed.bytes], keys);
  });

  it('refuses every size that is none', () => {
    for (const cols of [0, -1, 1001, 1e9, 1.5, '80', null, true, [80], {}, undefined]) {
      const body = JSON.stringify({ sessionId: 's', resize: { cols, rows: 24 } });
      assert.throws(() => parseConsoleInput(Buffer.from(body), 9), { code: 'BAD_USER_INPUT' });
    }
    for (const text of ['NaN', 'Infinity', '1e999', '-0']) {
      const body = `{"sessionId":"s","resize":{"cols":${text},"rows":24}}`;
      assert.throws(() => parseConsoleInput(Buffer.from(body), 9), { code: 'BAD_USER_INPUT' });
    }
  });
});
