/** The Model Context Protocol as the whole product speaks it, row by row, over HTTP. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { capabilities } from '../../src/lib/capabilities.ts';
import { Gangway } from '../support/gangway.ts';
import { freeTools, neededFor } from '../support/mcp-tool-names.ts';
import { assertFault, assertResult, McpPeer, meta, metaPrefix } from '../support/mcp-peer.ts';
import { assertProblem } from '../support/problem.ts';

const current = '2026-07-28';
const earlierRevisions = ['2025-03-26', '2025-06-18', '2025-11-25'];

interface Listed {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations: Record<string, unknown>;
}

let gangway: Gangway;
let token: string;
let peer: McpPeer;

before(async () => {
  gangway = await Gangway.open({ env: { GANGWAY_MCP_CALLS_PER_MINUTE: '100000' } });
  token = await gangway.client.token({ capabilities });
  peer = new McpPeer({ url: gangway.url, token });
});

after(() => gangway.end());

const tools = async (query = ''): Promise<Listed[]> => {
  const result = await assertResult(peer.minimal('tools/list', {}, 1, query));
  return result['tools'] as Listed[];
};

describe('HTTP around a message', () => {
  const raw = (init: RequestInit, query = '') =>
    gangway.stranger().ask(`/api/mcp${query}`, {
      method: 'POST',
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      ...init,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(init.headers as Record<string, string> | undefined),
      },
    });

  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
    it(`answers ${method} with 405 and what is allowed`, async () => {
      const answer = await raw({ method, body: method === 'GET' ? null : '{}' });
      assertProblem(answer, 405, 'METHOD_NOT_ALLOWED');
      assert.match(answer.headers.get('allow') ?? '', /\bPOST\b/);
      assert.doesNotMatch(answer.headers.get('allow') ?? '', /GET|DELETE|PUT/);
    });
  }

  for (const type of ['text/plain', 'application/json-patch+json', 'multipart/form-data', 'x']) {
    it(`answers a body of the type ${type} with 415`, async () => {
      assertProblem(
        await raw({ headers: { 'content-type': type } }),
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      );
    });
  }

  it('takes the type in any case and with parameters, and nothing that is encoded', async () => {
    const type = 'Application/JSON ; charset=utf-8';
    assert.equal((await raw({ headers: { 'content-type': type } })).status, 200);
    const packed = await raw({ headers: { 'content-encoding': 'gzip' } });
    assertProblem(packed, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('takes 4 MiB and no byte more', async () => {
    const bytesMax = 4 * 1024 * 1024;
    const start = '{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"x":"';
    const bodyOf = (bytes: number) => `${start}${'x'.repeat(bytes - start.length - 3)}"}}`;
    await assertResult(peer.post(bodyOf(bytesMax)));
    assertProblem(await peer.post(bodyOf(bytesMax + 1)), 413, 'PAYLOAD_TOO_LARGE');
  });

  it('refuses the origins of other sites, and what is no origin', async () => {
    const origins = [
      'null', 'http://evil.example', 'https://127.0.0.1.evil.example', 'http://localhost.evil.example',
      'http://127.0.0.2', 'http://[::2]:3000', 'http://0.0.0.0', '*', 'localhost', 'http://',
      `${gangway.url}, http://evil.example`, `http://evil.example, ${gangway.url}`,
    ]; // prettier-ignore
    for (const origin of origins) {
      assertProblem(await peer.post({}, { origin }), 403, 'CROSS_SITE', origin);
      const without = await peer.post({}, { origin, authorization: null });
      assertProblem(without, 403, 'CROSS_SITE', `${origin}, without a token`);
    }
  });

  it('takes the names of this machine for its own, with any port', async () => {
    const { port } = gangway;
    const origins = [
      gangway.url, `http://localhost:${port}`, 'http://localhost:6274', 'http://127.0.0.1',
      `http://[::1]:${port}`, 'HTTP://LOCALHOST:3000',
    ]; // prettier-ignore
    for (const origin of origins) {
      const { status } = await peer.modern('server/discover', {}, { origin });
      assert.equal(status, 200, origin);
    }
  });

  it('has no sessions: it ignores their ids and sends none', async () => {
    const headers = { 'mcp-session-id': 'of-another-server', 'last-event-id': '7' };
    for (const method of ['server/discover', 'tools/list', 'nothing/known']) {
      const answer = await peer.modern(method, {}, headers);
      assert.equal(answer.headers.get('mcp-session-id'), null);
      assert.equal(answer.headers.get('set-cookie'), null);
    }
    const initialized = await peer.minimal('initialize', { protocolVersion: '2025-03-26' });
    assert.equal(initialized.headers.get('mcp-session-id'), null);
  });

  it('takes notifications of every era with 202 and nothing else', async () => {
    const told = ['notifications/initialized', 'notifications/cancelled', 'notifications/unknown'];
    for (const method of told) {
      const body = { jsonrpc: '2.0', method, params: { requestId: 7 } };
      for (const headers of [{}, { 'mcp-protocol-version': current }]) {
        const { status, text } = await peer.post(body, headers);
        assert.deepEqual([status, text], [202, '']);
      }
    }
  });
});

describe('a message of 2026-07-28', () => {
  const list = { name: 'list_teams' };
  const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

  it('is refused when its headers are missing or say something else', async () => {
    const call = (changes: Record<string, string | null>) =>
      assertFault(peer.modern('tools/call', list, changes), 400, -32020);
    await call({ 'mcp-protocol-version': null });
    await call({ 'mcp-protocol-version': '2025-11-25' });
    await call({ 'mcp-method': null });
    await call({ 'mcp-method': 'TOOLS/CALL' });
    await call({ 'mcp-name': null });
    await call({ 'mcp-name': 'list_apps' });
    await call({ 'mcp-name': '=?base64?bGlzdF90ZWFtcw?=' });
  });

  it('may encode its name and stand between white space', async () => {
    for (const name of [encoded('list_teams'), '  list_teams\t']) {
      await assertResult(peer.modern('tools/call', list, { 'mcp-name': name }));
    }
  });

  it('is refused when its _meta lacks what it must say, not for its client', async () => {
    for (const lacking of ['protocolVersion', 'clientCapabilities']) {
      const _meta = { ...meta, [`${metaPrefix}${lacking}`]: undefined };
      await assertFault(peer.modern('tools/list', { _meta }), 400, -32602);
    }
    await assertFault(peer.modern('tools/list', { _meta: undefined }), 400, -32602);
    await assertResult(peer.modern('tools/list'));
  });

  it('learns which versions there are, the same as from discover', async () => {
    const { supportedVersions } = await assertResult(peer.modern('server/discover'));
    const requested = 'v999.0.0';
    const _meta = { ...meta, [`${metaPrefix}protocolVersion`]: requested };
    const other = peer.modern('tools/list', { _meta }, { 'mcp-protocol-version': requested });
    const { rpc } = await assertFault(other, 400, -32022);
    assert.deepEqual(rpc.error?.data, { supported: supportedVersions, requested });
    await assertFault(peer.modern('tools/list', { _meta }), 400, -32020);
  });

  const unknown = [
    'ping', 'initialize', 'logging/setLevel', 'resources/list', 'prompts/list', 'tools/lists',
    'completion/complete', 'tasks/get', '', '__proto__', 'constructor',
  ]; // prettier-ignore
  for (const method of unknown) {
    it(`is 404 for the method "${method}"`, async () => {
      await assertFault(peer.modern(method), 404, -32601);
    });
  }

  it('is an error within 200 for a tool, arguments and a page that there is not', async () => {
    const wrong = (method: string, params: Record<string, unknown>, changes = {}) =>
      assertFault(peer.modern(method, params, changes), 200, -32602);
    await wrong('tools/call', { name: 'no_such_tool' });
    await wrong('tools/call', { name: '__proto__' });
    await wrong('tools/call', {}, { 'mcp-name': '' });
    await wrong('tools/call', { name: 7 });
    await wrong('tools/call', { ...list, arguments: 'all' });
    await wrong('tools/call', { ...list, arguments: [] });
    await wrong('tools/list', { cursor: 'bm9uZQ' });
    await wrong('tools/list', { cursor: 7 });
  });

  it('never has the codes of what there is not: -32002 and -32042', async () => {
    for (const method of ['resources/read', 'resources/subscribe', 'tools/call', 'tasks/get']) {
      const { rpc } = await peer.modern(method, { name: 'none', uri: 'file:///none' });
      assert.ok(![-32002, -32042].includes(rpc.error?.code ?? 0), method);
    }
  });
});

describe('server/discover', () => {
  it('says what there is, for how long, and that it is beta', async () => {
    const result = await assertResult(peer.modern('server/discover'));
    assert.deepEqual(result['supportedVersions'], [current]);
    assert.deepEqual(result['capabilities'], { tools: {} });
    assert.match(String(result['instructions']), /beta/i);
    assert.ok(Number.isInteger(result['ttlMs']) && Number(result['ttlMs']) >= 0);
    assert.ok(['public', 'private'].includes(String(result['cacheScope'])));
    assert.equal(result['resultType'], 'complete');
    const { name, version } = (result['_meta'] as Record<string, Record<string, string>>)[
      `${metaPrefix}serverInfo`
    ]!;
    assert.ok(name && version);
  });
});

describe('tools/list', () => {
  it('is one page for this caller alone, the same each time, what is harmless first', async () => {
    const [first, second] = await Promise.all([
      peer.modern('tools/list'),
      peer.minimal('tools/list'),
    ]);
    assert.equal(first.text, second.text);
    const result = await assertResult(Promise.resolve(first));
    assert.equal('nextCursor' in result, false);
    assert.ok(Number.isInteger(result['ttlMs']));
    assert.equal(result['cacheScope'], 'private');
    assert.equal(result['resultType'], 'complete');
    const reads = (await tools()).map(({ annotations }) => annotations['readOnlyHint']);
    assert.equal(reads[0], true);
    assert.deepEqual(
      reads,
      [...reads].sort((a, b) => Number(b) - Number(a)),
    );
  });

  it('has the tools that there are, with all they must say of themselves', async () => {
    const listed = await tools();
    const names = listed.map(({ name }) => name);
    for (const name of expected) assert.ok(names.includes(name), name);
    assert.equal(new Set(names).size, names.length);
    for (const { name, description, annotations, inputSchema } of listed) {
      assert.match(name, /^[A-Za-z0-9_.-]{1,64}$/);
      assert.ok(description.length > 10, name);
      assert.deepEqual(Object.keys(annotations).sort(), hints, name);
      assert.ok(Object.values(annotations).every((hint) => typeof hint === 'boolean'));
      assert.ok(!(annotations['readOnlyHint'] === true && annotations['destructiveHint'] === true));
      assert.equal(inputSchema['type'], 'object', name);
      assert.equal(inputSchema['additionalProperties'], false, name);
      assert.ok('team' in (inputSchema['properties'] as object), name);
    }
    const destructive = listed.filter(({ annotations }) => annotations['destructiveHint']);
    const destroying = destructive.map(({ name }) => name);
    for (const name of ['delete_app', 'rollback_app', 'stop_app', 'graphql_mutate']) {
      assert.ok(destroying.includes(name), name);
    }
  });

  it('has schemas that are JSON Schema 2020-12', async () => {
    // The one that the official client judges them with.
    const load = createRequire(import.meta.resolve('@modelcontextprotocol/sdk/client/index.js'));
    const { default: Ajv } = load('ajv/dist/2020.js') as { default: AjvClass };
    const ajv = new Ajv({ strict: false });
    for (const { name, inputSchema, outputSchema } of await tools()) {
      for (const schema of [inputSchema, ...(outputSchema ? [outputSchema] : [])]) {
        assert.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`);
        ajv.compile(schema);
        assert.equal(schema['type'], 'object', name);
      }
    }
  });

  it('is below 24 kB, with the tools of backups in it', async () => {
    const { text } = await peer.modern('tools/list');
    const bytes = Buffer.byteLength(text);
    assert.ok(bytes < 24_000, String(bytes));
  });

  it('is what the address asks for, which calls are held to as well', async () => {
    const all = await tools();
    const reading = all.filter(({ annotations }) => annotations['readOnlyHint']);
    assert.deepEqual(await tools('?readonly=1'), reading);
    assert.deepEqual(await tools('?tools=read'), reading);
    const logs = await tools('?tools=logs,list_teams');
    assert.deepEqual(
      logs.map(({ name }) => name),
      ['list_teams', 'read_logs'],
    );
    assert.deepEqual(await tools('?tools=logs&tools=list_teams'), logs);
    assert.deepEqual(await tools('?tools=deploy_app&readonly=1'), []);
    assert.deepEqual(await tools('?tools='), all);
    const call = { name: 'deploy_app', arguments: { appId: 'none' } };
    for (const query of ['?readonly=1', '?tools=read', '?tools=logs', '?readonly=0&readonly=1']) {
      await assertFault(peer.minimal('tools/call', call, 7, query), 200, -32602);
    }
    for (const query of ['?tools=nonsense', '?tools=logs,nonsense', '?readonly=perhaps']) {
      assertProblem(await peer.minimal('tools/list', {}, 1, query), 400, 'BAD_REQUEST', query);
    }
  });
});

describe('clients without the marks of 2026-07-28', () => {
  it('list and call in the minimal shape', async () => {
    const listed = await assertResult(peer.minimal('tools/list', undefined));
    assert.equal(listed['resultType'], 'complete');
    const called = await assertResult(peer.minimal('tools/call', { name: 'list_teams' }));
    assert.equal(called['resultType'], 'complete');
    assert.equal('isError' in called, false);
    const content = called['structuredContent'] as { teams: { name: string }[] };
    assert.deepEqual(
      content.teams.map(({ name }) => name),
      ['Home'],
    );
  });

  for (const revision of [...earlierRevisions, '2024-11-05', 'of the future']) {
    it(`begin with initialize and ${revision}`, async () => {
      const asked = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'c' } };
      const result = await assertResult(peer.minimal('initialize', asked));
      const spoken = earlierRevisions.includes(revision) ? revision : '2025-11-25';
      assert.equal(result['protocolVersion'], spoken);
      assert.deepEqual(result['capabilities'], { tools: {} });
      assert.ok((result['serverInfo'] as { version?: string }).version);
      const headers = { 'mcp-protocol-version': spoken };
      const send = (body: object) => peer.post({ jsonrpc: '2.0', ...body }, headers);
      assert.equal((await send({ method: 'notifications/initialized' })).status, 202);
      assert.deepEqual(await assertResult(send({ id: 7, method: 'ping' })), {});
      const listed = await assertResult(send({ id: 7, method: 'tools/list' }));
      assert.deepEqual(listed['tools'], await tools());
      await assertResult(send({ id: 7, method: 'tools/call', params: { name: 'list_teams' } }));
      // Whatever is no 200 ends their connection.
      await assertFault(send({ id: 7, method: 'resources/list' }), 200, -32601);
    });
  }
});

type AjvClass = new (options: object) => {
  validateSchema(schema: object): boolean;
  compile(schema: object): unknown;
  errorsText(): string;
};

const hints = ['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint'];
const expected = [...freeTools, ...Object.values(neededFor).flat()];
