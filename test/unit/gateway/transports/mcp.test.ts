/** What HTTP says around the messages of the MCP endpoint: who may, how often, how much, and events. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { type McpGateway, startMcpGateway } from '../../../support/mcp-gateway.ts';
import { assertFault, assertResult, McpPeer, metaPrefix } from '../../../support/mcp-peer.ts';
import { RawClient } from '../../../support/raw-http.ts';

const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };
const simple = { name: 'test_simple_text' };

let place: McpGateway;
let peer: McpPeer;

before(async () => {
  place = await startMcpGateway({ bodyMax: 100_000 });
  peer = new McpPeer(place);
});

after(() => place.close());

describe('HTTP around a message', () => {
  it('is POST alone', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await fetch(`${place.url}/api/mcp`, { method });
      assert.equal(status, 405);
      assert.equal(headers.get('allow'), 'POST');
    }
  });

  it('is refused for the page of another site, with a good token or without', async () => {
    for (const authorization of [null, `Bearer ${place.token}`]) {
      for (const origin of ['https://evil.example.com', 'null', 'http://localhost.evil.test']) {
        assert.equal((await peer.post(ping, { origin, authorization })).status, 403, origin);
      }
    }
    for (const origin of ['http://localhost:9', 'http://127.0.0.1:3000', 'http://[::1]:9']) {
      assert.equal((await peer.post(ping, { origin })).status, 200, origin);
    }
  });

  it('is refused for the page of a local name where the panel has another', async () => {
    const at = await startMcpGateway({ publicUrl: 'https://panel.example.com' });
    const other = new McpPeer(at);
    try {
      assert.equal((await other.post(ping, { origin: 'http://localhost:9' })).status, 403);
      assert.equal((await other.post(ping, { origin: 'https://panel.example.com' })).status, 200);
    } finally {
      await at.close();
    }
  });

  it('says where to get a token, and whether one came', async () => {
    const metadata =
      'resource_metadata="http://127.0.0.1:3000/.well-known/oauth-protected-resource/api/mcp"';
    for (const authorization of [null, 'Basic YTpi', 'Bearer gwy_none']) {
      const { status, headers } = await peer.post(ping, { authorization });
      const challenge = headers.get('www-authenticate') ?? '';
      assert.equal(status, 401);
      assert.ok(challenge.startsWith('Bearer '), challenge);
      assert.ok(challenge.includes(metadata), challenge);
      assert.match(challenge, /scope="[a-z_ ]+"/);
      assert.equal(
        challenge.includes('error="invalid_token"'),
        authorization?.includes('gwy_') ?? false,
      );
    }
  });

  it('takes no cookie, and no token in the address', async () => {
    const cookie = { authorization: null, cookie: 'service.session_token=any' };
    assert.equal((await peer.post(ping, cookie)).status, 401);
    const query = `?access_token=${place.token}`;
    assert.equal((await peer.post(ping, { authorization: null }, query)).status, 401);
  });

  it('is JSON of a bounded size, not encoded', async () => {
    for (const type of [null, 'text/plain', 'application/jsonp', 'multipart/form-data']) {
      assert.equal((await peer.post(JSON.stringify(ping), { 'content-type': type })).status, 415);
    }
    assert.equal((await peer.post(ping, { 'content-encoding': 'gzip' })).status, 415);
    const type = 'Application/JSON; charset=utf-8';
    assert.equal((await peer.post(ping, { 'content-type': type })).status, 200);
    assert.equal((await peer.post(`"${'x'.repeat(100_000)}"`)).status, 413);
  });

  it('is 429 with the time to wait above the rate of a token', async () => {
    const at = await startMcpGateway({ callsPerMinute: 3 });
    const other = new McpPeer(at);
    try {
      for (let i = 0; i < 3; i++) assert.equal((await other.post(ping)).status, 200);
      const { status, headers } = await other.post(ping);
      assert.equal(status, 429);
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      const { secret } = at.accounts.addToken('tok_2', 'usr_ann', 'team_a', { allTeams: true });
      assert.equal((await other.post(ping, { authorization: `Bearer ${secret}` })).status, 200);
    } finally {
      await at.close();
    }
  });

  it('counts as several calls when it is large, for what follows', async () => {
    const at = await startMcpGateway({ callsPerMinute: 3 });
    const other = new McpPeer(at);
    try {
      const large = { ...ping, params: { text: 'x'.repeat(1_100_000) } };
      assert.equal((await other.post(large)).status, 200);
      assert.equal((await other.post(ping)).status, 429);
    } finally {
      await at.close();
    }
  });

  it('is 403 where MCP is off, or the owner of the token may not use it', async () => {
    const at = await startMcpGateway();
    const other = new McpPeer(at);
    try {
      at.accounts.addUser('usr_vic');
      at.accounts.addMember('team_a', 'usr_vic', 'viewer');
      const { secret } = at.accounts.addToken('tok_2', 'usr_vic', 'team_a', { allTeams: true });
      const refused = await other.post(ping, { authorization: `Bearer ${secret}` });
      assert.equal(refused.status, 403);
      assert.match(refused.text, /manage_mcp/);
      assert.equal((await other.post(ping)).status, 200);
      const { store } = at.accounts;
      store.write([
        put(tables.teams, { ...store.get(tables.teams, 'team_a')!, mcpEnabled: false }),
      ]);
      const off = await other.post(ping);
      assert.equal(off.status, 403);
      assert.match(off.text, /MCP_DISABLED/);
    } finally {
      await at.close();
    }
  });
});

describe('events', () => {
  const progress = { name: 'test_tool_with_progress', _meta: { progressToken: 0 } };
  const eventsIn = (text: string): { method?: string; params?: object; id?: unknown }[] =>
    text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(/^event: message\ndata: (.*)$/.exec(event)?.[1] ?? '') as object);

  it('tell of progress with the very token that came, before the response', async () => {
    for (const progressToken of [0, 'token']) {
      const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: progress };
      const params = { ...progress, _meta: { progressToken } };
      const accept = 'application/json, text/event-stream';
      const { headers, text } = await peer.post({ ...body, params }, { accept });
      assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
      const events = eventsIn(text);
      assert.deepEqual(
        events.slice(0, -1).map(({ method, params: told }) => [method, told]),
        ['0 of 100', '50 of 100', '100 of 100'].map((message, i) => [
          'notifications/progress',
          { progressToken, progress: i + 1, message },
        ]),
      );
      assert.equal(events.at(-1)?.id, 7);
    }
  });

  it('do not come where nobody asked for them', async () => {
    const accept = 'text/event-stream';
    for (const [params, headers] of [
      [progress, { accept: 'application/json' }],
      [{ ...progress, _meta: {} }, { accept }],
      [{ ...progress, _meta: { progressToken: null } }, { accept }],
      [{ ...simple, _meta: { progressToken: 0 } }, { accept }],
    ] as const) {
      await assertResult(
        peer.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }, headers),
      );
    }
  });

  it('are held open for who listens, up to a number', async () => {
    const at = await startMcpGateway({ listenersMax: 1 });
    const other = new McpPeer(at);
    const listener = new RawClient(Number(new URL(at.url).port));
    try {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 'one', method: 'subscriptions/listen' });
      listener.write(
        `POST /api/mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${at.token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await listener.until(() => listener.received.includes('acknowledged'));
      const eventAt = (at: number): unknown => eventsIn(bodyOf(listener.received)).at(at);
      const _meta = { [`${metaPrefix}subscriptionId`]: 'one' };
      assert.deepEqual(eventAt(0), {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: {}, _meta },
      });
      assert.equal((await other.post(body)).status, 429);
      const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: progress };
      // Who listens takes no place of who works.
      assert.equal((await other.post(call, { accept: 'text/event-stream' })).status, 200);
      at.streams.drain();
      await listener.until(() => listener.received.endsWith('\r\n0\r\n\r\n'));
      const serverInfo = { name: 'Gangway', version: '0.0.0' };
      assert.deepEqual(eventAt(-1), {
        jsonrpc: '2.0',
        id: 'one',
        result: {
          resultType: 'complete',
          _meta: { ..._meta, [`${metaPrefix}serverInfo`]: serverInfo },
        },
      });
      assert.equal((await other.post(body)).status, 503);
    } finally {
      listener.socket.destroy();
      await at.close();
    }
  });
});

/** What came in chunks, each of whole events. */
function bodyOf(received: string): string {
  return received
    .slice(received.indexOf('\r\n\r\n') + 4)
    .replaceAll(/[\da-f]+\r\n/g, '')
    .replaceAll('\r\n', '');
}

describe('the address of a connection', () => {
  const all = ['test_simple_text', 'test_image_content'];
  const names = async (query: string): Promise<string[]> => {
    const { tools } = await assertResult(peer.minimal('tools/list', {}, 7, query));
    return (tools as { name: string }[]).map(({ name }) => name);
  };

  it('chooses tools, by group and by name', async () => {
    assert.deepEqual(await names('?tools=test_image_content'), all.slice(1));
    // In the order of the catalog, whatever the order here.
    assert.deepEqual(await names('?tools=%20test_image_content,test_simple_text'), all);
    assert.deepEqual(await names('?tools=logs'), []);
    assert.deepEqual(await names('?tools=logs,apps'), await names(''));
    assert.deepEqual(await names('?tools=read'), await names(''));
    assert.deepEqual(await names('?readonly=1&tools='), await names(''));
  });

  it('hides what it does not choose from calls, too', async () => {
    const call = peer.minimal('tools/call', simple, 7, '?tools=test_image_content');
    await assertFault(call, 200, -32602);
  });

  it('is 400 where it names what there is not', async () => {
    for (const query of ['?tools=test_simple_text,none', '?tools=__proto__', '?readonly=maybe']) {
      assert.equal((await peer.minimal('ping', {}, 7, query)).status, 400, query);
    }
  });
});
