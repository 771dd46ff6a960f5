import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  parseAttachQuery,
  parseConsoleInput,
} from '../../../../src/gateway/transports/attach-input.ts';

const query = (text: string): ReturnType<typeof parseAttachQuery> =>
  parseAttachQuery(new URLSearchParams(text));

describe('parseAttachQuery()', () => {
  it('knows what is left out', () => {
    const empty = { sessionId: null, container: '', mode: 'shell', size: null };
    assert.deepEqual(query(''), empty);
    assert.deepEqual(query('unknown=1'), empty);
    assert.deepEqual(query('cols=100').size, { cols: 100, rows: 24 });
    assert.deepEqual(query('rows=1000').size, { cols: 80, rows: 1000 });
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
});
