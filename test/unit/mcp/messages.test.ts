/** What the MCP server answers to each kind of message, over a real socket. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Tool } from '../../../src/mcp/tool.ts';
import { fixtureTools } from '../../support/mcp-fixture-tools.ts';
import { type McpGateway, startMcpGateway } from '../../support/mcp-gateway.ts';
import {
  assertFault,
  assertResult,
  McpPeer,
  meta,
  metaPrefix,
  type Reply,
} from '../../support/mcp-peer.ts';

const current = '2026-07-28';
const simple = { name: 'test_simple_text' };

let place: McpGateway;
let peer: McpPeer;
const noted: unknown[] = [];

const notes: Tool = {
  ...fixtureTools[0]!,
  name: 'notes',
  run: (_call, args) => {
    noted.push(args);
    return { kind: 'text', text: 'Noted.' };
  },
};

before(async () => {
  place = await startMcpGateway({ tools: [...fixtureTools, notes] });
  peer = new McpPeer(place);
});

after(() => place.close());

describe('a message of 2026-07-28', () => {
  it('is answered when its headers are those of its body', async () => {
    const result = await assertResult(peer.modern('tools/call', simple));
    assert.equal(result['resultType'], 'complete');
    assert.deepEqual(result['_meta'], {
      [`${metaPrefix}serverInfo`]: { name: 'Gangway', version: '0.0.0' },
    });
  });

  it('may send its headers in any case and with white space around', async () => {
    const headers = { 'mcp-method': null, 'MCP-METHOD': ' tools/call\t', 'Mcp-Name': '  notes  ' };
    await assertResult(peer.modern('tools/call', { name: 'notes' }, headers));
  });

  it('may encode its name', async () => {
    const encoded = `=?base64?${Buffer.from('notes').toString('base64')}?=`;
    await assertResult(peer.modern('tools/call', { name: 'notes' }, { 'mcp-name': encoded }));
  });

  for (const [what, headers] of [
    ['no method', { 'mcp-method': null }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['the method in capitals', { 'mcp-method': 'TOOLS/CALL' }],
    ['no name', { 'mcp-name': null }],
    ['another name', { 'mcp-name': 'notes' }],
    ['the name in capitals', { 'mcp-name': 'TEST_SIMPLE_TEXT' }],
    ['a name in broken base64', { 'mcp-name': '=?base64?dGVzdF9zaW1wbGVfdGV4dA?=' }],
    ['no version', { 'mcp-protocol-version': null }],
    ['another version', { 'mcp-protocol-version': '2025-11-25' }],
  ] as const) {
    it(`is refused with ${what} in its headers`, async () => {
      await assertFault(peer.modern('tools/call', simple, headers), 400, -32020);
    });
  }

  it('is refused when a mark is in its body alone', async () => {
    const params = { ...simple, _meta: meta };
    await assertFault(peer.minimal('tools/call', params), 400, -32020);
  });

  for (const [what, given] of [
    ['nothing', undefined],
    ['no object', 'text'],
    ['a list', []],
    ['no version', { [`${metaPrefix}clientCapabilities`]: {} }],
    ['a version that is no text', { ...meta, [`${metaPrefix}protocolVersion`]: 2026 }],
    ['no capabilities', { [`${metaPrefix}protocolVersion`]: current }],
    ['capabilities that are no object', { ...meta, [`${metaPrefix}clientCapabilities`]: [] }],
  ] as const) {
    it(`is refused with ${what} in _meta`, async () => {
      await assertFault(peer.modern('server/discover', { _meta: given }), 400, -32602);
    });
  }

  it('need not say who its client is, nor say it well', async () => {
    for (const info of [undefined, null, 7, {}, { name: 7 }, { name: 'x'.repeat(10_000) }]) {
      await assertResult(
        peer.modern('server/discover', { _meta: { ...meta, [`${metaPrefix}clientInfo`]: info } }),
      );
    }
  });

  it('is told which versions there are when it is of another', async () => {
    const later = { ...meta, [`${metaPrefix}protocolVersion`]: '2027-01-01' };
    const reply = await assertFault(
      peer.modern('server/discover', { _meta: later }, { 'mcp-protocol-version': '2027-01-01' }),
      400,
      -32022,
    );
    const known = await assertResult(peer.modern('server/discover'));
    assert.deepEqual(reply.rpc.error?.data, {
      supported: known['supportedVersions'],
      requested: '2027-01-01',
    });
  });

  it('is refused when it says two versions, whatever they are', async () => {
    const headers = { 'mcp-protocol-version': '2027-01-01' };
    await assertFault(peer.modern('server/discover', {}, headers), 400, -32020);
  });

  it('is told of the capability a tool needs of its client', async () => {
    const name = 'test_missing_capability';
    const reply = await assertFault(peer.modern('tools/call', { name }), 400, -32021);
    assert.deepEqual(reply.rpc.error?.data, { requiredCapabilities: { sampling: {} } });
    const able = { ...meta, [`${metaPrefix}clientCapabilities`]: { sampling: {} } };
    await assertResult(peer.modern('tools/call', { name, _meta: able }));
  });

  const unknown = ['initialize', 'ping', 'logging/setLevel', 'resources/list', 'toString'];
  for (const method of unknown) {
    it(`is 404 for the method "${method}"`, async () => {
      await assertFault(peer.modern(method), 404, -32601);
    });
  }

  it('is an error within 200 for a tool or a page that there is not', async () => {
    await assertFault(peer.modern('tools/call', { name: 'none' }), 200, -32602);
    await assertFault(peer.modern('tools/call', { name: 'constructor' }), 200, -32602);
    await assertFault(peer.modern('tools/list', { cursor: 'none' }), 200, -32602);
    await assertFault(peer.modern('tools/call', { ...simple, arguments: [] }), 200, -32602);
    await assertFault(peer.modern('tools/call', {}), 200, -32602);
  });
});

describe('an argument that comes in a header as well', () => {
  const call = (region: unknown, header: string | null): Promise<Reply> =>
    peer.modern(
      'tools/call',
      { name: 'test_custom_header', arguments: { region } },
      { 'mcp-param-region': header, 'mcp-param-other': 'ignored' },
    );
  const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

  for (const [region, header] of [
    ['north', 'north'],
    ['north', encoded('north')],
    ['Süd', encoded('Süd')],
    [' ', encoded(' ')],
    ['\ufeffnorth', encoded('\ufeffnorth')],
    ['=?base64?bm9ydGg=', '=?base64?bm9ydGg='],
    [null, null],
  ] as const) {
    it(`agrees: ${JSON.stringify(region)} and ${String(header)}`, async () => {
      await assertResult(call(region, header));
    });
  }

  for (const [region, header] of [
    ['north', 'South'],
    ['north', null],
    ['north', '=?base64?bm9ydG?='],
    ['north', '=?base64?bm9y!GdoCg==?='],
    ['north', '=?BASE64?bm9ydGg=?='],
    ['\ufffd', '=?base64?/w==?='],
    [null, 'north'],
  ] as const) {
    it(`is refused: ${JSON.stringify(region)} and ${String(header)}`, async () => {
      await assertFault(call(region, header), 400, -32020);
    });
  }
});

describe('a message without any mark', () => {
  it('is answered in the minimal shape as one of today', async () => {
    const list = await assertResult(peer.minimal('tools/list'));
    assert.equal(list['resultType'], 'complete');
    assert.equal(list['cacheScope'], 'private');
    const result = await assertResult(peer.minimal('tools/call', simple));
    assert.deepEqual(result, await assertResult(peer.modern('tools/call', simple)));
  });

  it('may begin a connection of an earlier revision, without a session', async () => {
    for (const [asked, offered] of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['2025-03-26', '2025-03-26'],
      ['2024-11-05', '2025-11-25'],
      [undefined, '2025-11-25'],
    ] as const) {
      const reply = await peer.minimal('initialize', { protocolVersion: asked, capabilities: {} });
      const { protocolVersion, serverInfo } = await assertResult(Promise.resolve(reply));
      assert.equal(protocolVersion, offered);
      assert.deepEqual(serverInfo, { name: 'Gangway', version: '0.0.0' });
      assert.equal(reply.headers.get('mcp-session-id'), null);
    }
  });
});

describe('a message of an earlier revision', () => {
  it('is answered, and its faults come with 200, which its clients can read', async () => {
    assert.deepEqual(await assertResult(peer.earlier('ping')), {});
    await assertResult(peer.earlier('tools/list'));
    await assertResult(peer.earlier('tools/call', simple));
    await assertFault(peer.earlier('resources/list'), 200, -32601);
    await assertFault(peer.earlier('tools/call', { name: 'none' }), 200, -32602);
  });

  it('may carry headers its revision does not know', async () => {
    const body = { jsonrpc: '2.0', id: 7, method: 'ping' };
    const headers = { 'mcp-protocol-version': '2025-06-18', 'mcp-method': 'ping' };
    const ids = { 'mcp-session-id': 'none', 'last-event-id': '7' };
    await assertResult(peer.post(body, { ...headers, ...ids }));
  });
});

describe('a notification', () => {
  it('is taken, whatever it says', async () => {
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'unheard/of']) {
      for (const headers of [{}, { 'mcp-protocol-version': current }]) {
        const { status, text } = await peer.post({ jsonrpc: '2.0', method }, headers);
        assert.deepEqual([status, text], [202, '']);
      }
    }
  });
});

describe('what is no message', () => {
  for (const [what, body, code] of [
    ['nothing', '', -32700],
    ['no JSON', '{"jsonrpc"', -32700],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32700],
    ['a batch', [{ jsonrpc: '2.0', id: 7, method: 'ping' }], -32600],
    ['an empty batch', [], -32600],
    ['a text', '"ping"', -32600],
    ['null', 'null', -32600],
    ['an id of null', { jsonrpc: '2.0', id: null, method: 'ping' }, -32600],
    ['an id that is fractional', { jsonrpc: '2.0', id: 1.5, method: 'ping' }, -32600],
    ['an id that no double holds', '{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}', -32600],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ping' }, -32600],
    ['1,000 levels', `{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`, -32600],
    ['30,000 keys', `{${'"a":1,'.repeat(10_000)}"a":[${'1,'.repeat(20_000)}1]}`, -32600],
  ] as const) {
    it(`is 400 without an id: ${what}`, async () => {
      const { status, rpc, text } = await peer.post(body);
      assert.deepEqual([status, rpc.error?.code], [400, code], text);
      assert.ok(!('id' in rpc), text);
    });
  }

  it('gives back the id of a message that is wrong elsewhere', async () => {
    for (const wrong of [{ jsonrpc: '1.0' }, { method: 7 }, { params: [] }]) {
      const body = { jsonrpc: '2.0', id: 7, method: 'ping', ...wrong };
      await assertFault(peer.post(body), 400, -32600);
    }
  });

  it('gives back ids as they came', async () => {
    for (const id of [0, -1, 9_007_199_254_740_991, '', '7', 'ü\u0000\ud800', '__proto__']) {
      assert.equal((await peer.minimal('ping', {}, id)).rpc.id, id);
    }
  });

  it('takes the last of a name that stands twice, and __proto__ for a name', async () => {
    const twice = '{"jsonrpc":"2.0","id":1,"method":"none","method":"ping","id":7}';
    await assertResult(peer.post(twice));
    noted.length = 0;
    const hostile =
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"notes","__proto__":' +
      '{"name":"none"},"arguments":{"__proto__":{"polluted":true},"a":1}}}';
    await assertResult(peer.post(hostile));
    assert.equal(Reflect.get({}, 'polluted'), undefined);
    assert.deepEqual(JSON.stringify(noted), '[{"__proto__":{"polluted":true},"a":1}]');
  });
});
