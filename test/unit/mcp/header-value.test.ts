import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeHeaderValue, headerParamsOf, paramFault } from '../../../src/mcp/header-value.ts';

const encoded = (bytes: string | Uint8Array): string =>
  `=?base64?${Buffer.from(bytes).toString('base64')}?=`;

describe('decodeHeaderValue', () => {
  it('takes for itself what is not encoded', () => {
    for (const value of [
      '',
      'Hello',
      'SGVsbG8=',
      '=?base64?SGVsbG8=',
      'SGVsbG8=?=',
      '=?base64?=',
    ]) {
      assert.equal(decodeHeaderValue(value), value);
    }
    assert.equal(decodeHeaderValue('=?BASE64?SGVsbG8=?='), '=?BASE64?SGVsbG8=?=');
  });

  it('decodes any text, and texts that look encoded themselves', () => {
    for (const text of ['', ' a ', 'é🎉', '\u0000\r\n', encoded('x'), '\ufeffmarked']) {
      assert.equal(decodeHeaderValue(encoded(text)), text);
    }
  });

  it('refuses an encoding that is broken', () => {
    for (const inside of ['SGVsbG8', 'SGVs!!!bG8=', 'SGVsbG8==', 'SGVs bG8=', '-_==', '=', 'A']) {
      assert.equal(decodeHeaderValue(`=?base64?${inside}?=`), null, inside);
    }
    assert.equal(decodeHeaderValue(encoded(Buffer.from([0xff, 0xfe]))), null);
    assert.equal(decodeHeaderValue(encoded(Buffer.from([0xed, 0xa0, 0x80]))), null);
  });
});

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    deep: {
      type: 'object',
      properties: { dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' }, other: true },
    },
    plain: { type: 'string' },
  },
};

describe('headerParamsOf', () => {
  it('finds what carries a header, at any depth', () => {
    assert.deepEqual(headerParamsOf(schema), [
      { header: 'mcp-param-region', path: ['region'] },
      { header: 'mcp-param-count', path: ['count'] },
      { header: 'mcp-param-dry-run', path: ['deep', 'dry'] },
    ]);
    assert.deepEqual(headerParamsOf({ type: 'object' }), []);
    assert.deepEqual(headerParamsOf({ properties: [] }), []);
  });
});

describe('paramFault', () => {
  const check = (headers: Record<string, string>, args: Record<string, unknown>) =>
    paramFault((name) => headers[name] ?? '', headerParamsOf(schema), args, -32020);
  const region = (header: string, value: unknown) =>
    check(header === '' ? {} : { 'mcp-param-region': header }, { region: value });

  it('lets pass what says the same', () => {
    assert.equal(check({}, {}), null);
    assert.equal(region('Hello', 'Hello'), null);
    assert.equal(region(' \tHello ', 'Hello'), null);
    assert.equal(region(encoded('Hello'), 'Hello'), null);
    assert.equal(region(encoded(''), ''), null);
    assert.equal(region('', null), null);
    assert.equal(check({ 'mcp-param-count': '42' }, { count: 42 }), null);
    assert.equal(check({ 'mcp-param-count': '-0' }, { count: 0 }), null);
    assert.equal(check({ 'mcp-param-dry-run': 'true' }, { deep: { dry: true } }), null);
    assert.equal(check({ 'mcp-param-other': 'x', 'mcp-param-plain': 'y' }, { plain: 'z' }), null);
  });

  it('names the header that says something else, or is missing, or is too much', () => {
    const faults = [
      region('hello', 'Hello'),
      region('', 'Hello'),
      region('Hello', undefined),
      region('Hello', null),
      region('', ''),
      region('=?base64?SGVsbG8?=', 'Hello'),
      region('x', { toString: 'x' }),
      check({ 'mcp-param-count': '41' }, { count: 42 }),
      check({ 'mcp-param-count': encoded('') }, { count: 0 }),
      check({ 'mcp-param-count': '0x2a' }, { count: 42 }),
      check({ 'mcp-param-count': '4.2e1' }, { count: 42 }),
      check({ 'mcp-param-dry-run': '1' }, { deep: { dry: true } }),
      check({ 'mcp-param-dry-run': 'true' }, { deep: null }),
    ];
    for (const [i, fault] of faults.entries()) {
      assert.equal(fault?.code, -32020, String(i));
      assert.match(fault.message, /^mcp-param-[a-z-]+ must be the argument [a-z.]+\.$/);
    }
  });

  it('takes no argument from a prototype', () => {
    const inherited = JSON.parse('{"__proto__": {"region": "x"}}') as Record<string, unknown>;
    assert.equal(check({}, inherited), null);
    const own = { properties: { constructor: { 'x-mcp-header': 'C' } } };
    assert.equal(
      paramFault(() => '', headerParamsOf(own), {}, -32020),
      null,
    );
  });
});
