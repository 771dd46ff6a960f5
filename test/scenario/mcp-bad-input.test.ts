/** Whatever an agent sends: MCP refuses it in its own words, and goes on. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { capabilities } from '../../src/lib/capabilities.ts';
import { packed } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { answerTo, headOf, type RawPlace } from '../support/mcp-raw.ts';
import { assertFault, assertResult, McpPeer } from '../support/mcp-peer.ts';
import { RawClient } from '../support/raw-http.ts';

const later = cleanups();
let gangway: Gangway;
let peer: McpPeer;
let place: RawPlace;

before(async () => {
  gangway = await Gangway.open({
    env: { GANGWAY_MCP_CALLS_PER_MINUTE: '100000', GANGWAY_MCP_CALLS_AT_ONCE: '1' },
  });
  later(() => gangway.end());
  const token = await gangway.client.token({ capabilities });
  place = { port: gangway.port, token };
  peer = new McpPeer({ url: gangway.url, token });
  // It is none the worse for it, and its log shows no fault.
  later(() => assertResult(peer.modern('tools/list')));
});

const call = (name: unknown, args?: unknown) =>
  peer.minimal('tools/call', { name, arguments: args });

/** The sentence of a call that failed as a result. */
async function failure(name: string, args: unknown): Promise<string> {
  const result = await assertResult(call(name, args));
  assert.equal(result['isError'], true, JSON.stringify(result));
  const [block] = result['content'] as { text: string }[];
  assert.ok(block && block.text.length > 0 && block.text.length < 4_000, name);
  assert.doesNotMatch(block.text, /INTERNAL|undefined|\[object|node_modules|\/src\//, name);
  return block.text;
}

describe('bodies', () => {
  const nested = (levels: number, open: string, close: string) =>
    `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":${open.repeat(levels)}1${close.repeat(levels)}}}`;
  const keys = (bytes: number): string => {
    let members = '"a":1';
    for (let i = 0; members.length < bytes; i++) members += `,"key${i}":${i}`;
    return `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{${members}}}`;
  };
  const withId = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`;

  const refused: [string, string | Uint8Array, number][] = [
    ['nothing', '', -32700],
    ['1,000 lists in each other', nested(1_000, '[', ']'), -32600],
    ['1,000 objects in each other', nested(1_000, '{"a":', '}'), -32600],
    ['4 MiB of open brackets', '['.repeat(4 * 1024 * 1024 - 1), -32600],
    ['4 MiB of keys', keys(4 * 1024 * 1024 - 200), -32600],
    ['a batch', `[${withId('1')},${withId('2')}]`, -32600],
    ['an empty batch', '[]', -32600],
    ['a NUL byte', withId('7\0'), -32700],
    ['bytes that are no UTF-8', Buffer.from(withId('"\xff\xfe"'), 'latin1'), -32700],
    ['UTF-16', Buffer.from(withId('7'), 'utf16le'), -32700],
    ...['null', '1.5', '1e400', '9007199254740992', 'true', '{}', '[7]'].map(
      (id): [string, string, number] => [`the id ${id}`, withId(id), -32600],
    ),
    ['a very long id', withId(`"${'x'.repeat(100_000)}"`), -32600],
  ];
  for (const [what, body, code] of refused) {
    it(`are refused without an id: ${what}`, async () => {
      const { status, rpc, text } = await peer.post(body);
      assert.deepEqual([status, rpc.error?.code], [400, code], text);
      assert.equal('id' in rpc, false);
      assert.ok(text.length < 200, 'nothing of the body is repeated');
    });
  }

  it('have their ids given back as they came', async () => {
    for (const id of [
      '0',
      '-1',
      '9007199254740991',
      '""',
      '"\\ud800"',
      '"\\u0000é🎉"',
      '"__proto__"',
    ]) {
      const { status, text } = await peer.post(withId(id));
      assert.equal(status, 200);
      const got = (JSON.parse(text) as { id: unknown }).id;
      assert.ok(got === JSON.parse(id), text.slice(0, 80));
    }
  });

  it('count the last of what stands twice, for what is run and what is checked', async () => {
    const twice =
      '{"jsonrpc":"2.0","id":1,"id":7,"method":"tools/list","method":"tools/call",' +
      '"params":{"name":"list_teams","name":"no_such_tool"}}';
    await assertFault(peer.post(twice), 200, -32602);
    const hidden = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
    assert.equal((await peer.post(twice, hidden)).status, 400);
  });

  it('may begin with a byte order mark', async () => {
    await assertResult(peer.post(`\ufeff${withId('7')}`));
  });
});

describe('names that JavaScript gives a meaning', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];

  it('are names like any other: of params, arguments, variables and tools', async () => {
    for (const name of names) {
      const own = `{"${name}":{"team":"x","name":"list_teams"}}`;
      await assertFault(call(name), 200, -32602);
      await assertFault(
        peer.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${own}}`),
        200,
        -32602,
      );
      const args = JSON.parse(own) as unknown;
      assert.match(await failure('list_teams', args), /do not fit/, name);
      const variables = JSON.parse(own) as unknown;
      const result = await assertResult(
        call('graphql_query', { query: '{ me { id } }', variables }),
      );
      assert.equal('isError' in result, false, JSON.stringify(result));
    }
  });

  it('as values find nothing', async () => {
    for (const name of names) {
      await failure('get_app', { appId: name });
      await failure('get_deployment', { deploymentId: name });
      await failure('graphql_schema', { name });
      await failure('list_apps', { team: name });
      await failure('graphql_query', { query: '{ me { id } }', operationName: name });
    }
  });
});

describe('texts', () => {
  it('with halves of pairs, control characters and great length come through, or are refused', async () => {
    const odd = [
      '\ud800',
      'a\udfffb',
      '\u0000',
      '\r\n',
      '\u2028',
      'é'.repeat(5_000),
      '🎉'.repeat(60),
      '../../etc',
    ];
    for (const text of odd) {
      await assertFault(call(text), 200, -32602);
      await failure('get_app', { appId: text });
      await failure('get_app', { [text]: 1, appId: 'x' });
      await failure('list_apps', { team: text });
      await failure('graphql_schema', { name: text });
      await failure('graphql_query', { query: text });
      await assertResult(call('search', { text: text.slice(0, 50) }));
    }
  });

  it('that name an unknown method or tool come back as text one can print', async () => {
    const { text } = await peer.minimal(`${'x'.repeat(99)}🎉`);
    assert.ok(!/\\ud[89a-f]/i.test(text), text);
    const unknown = await call(`${'x'.repeat(99)}🎉`);
    assert.ok(!/\\ud[89a-f]/i.test(unknown.text), unknown.text);
  });
});

describe('bytes on the wire', () => {
  const body = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  const length = `Content-Length: ${body.length}`;
  const pong = { jsonrpc: '2.0', id: 7, result: {} };

  it('are taken in pieces of one byte, and in chunks', async () => {
    const client = new RawClient(place.port);
    client.socket.setNoDelay(true);
    const [line = '', ...rest] = (headOf(place, length) + body).split(/(?<=^[^\n]*\n)/);
    // The library wants the end of the request line in one piece.
    client.write(line);
    for (const byte of rest.join('')) {
      client.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(JSON.parse((await client.answer()).body), pong);
    client.destroy();
    const chunks = Array.from(body)
      .map((byte) => `1\r\n${byte}\r\n`)
      .join('');
    const chunked = `${headOf(place, 'Transfer-Encoding: chunked')}${chunks}0\r\n\r\n`;
    assert.deepEqual(JSON.parse((await answerTo(place, chunked))?.body ?? ''), pong);
  });

  it('may not say a header twice that must equal the body', async () => {
    const marked = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
    for (const lines of [
      ['Mcp-Method: ping', 'Mcp-Method: ping', 'MCP-Protocol-Version: 2026-07-28'],
      ['Mcp-Method: ping', 'Mcp-Method: tools/list'],
      ['MCP-Protocol-Version: 2026-07-28', 'MCP-Protocol-Version: 2025-11-25'],
      ['MCP-Protocol-Version: 2025-11-25', 'MCP-Protocol-Version: 2025-11-25'],
    ]) {
      const answer = await answerTo(place, headOf(place, length, ...lines) + marked);
      assert.equal(answer?.status, 400, lines.join());
    }
    const twice = headOf(place, length, `Authorization: Bearer ${place.token}`) + marked;
    assert.equal((await answerTo(place, twice))?.status, 401);
    const types = headOf(place, length, 'Content-Type: text/plain') + marked;
    assert.equal((await answerTo(place, types))?.status, 415);
  });

  it('that stop halfway leave nothing under way', async () => {
    for (let i = 0; i < 20; i++) {
      const client = new RawClient(place.port);
      client.write(headOf(place, length) + body.slice(0, i));
      await client.until(() => client.ended !== undefined || client.socket.bytesWritten > 0);
      client.destroy();
    }
    await assertResult(call('list_teams'));
  });
});

describe('a thousand at once', () => {
  it('are all answered: run, or told to come later', async () => {
    const list = { first: 50 };
    const asked = Array.from({ length: 1_000 }, () => call('list_apps', list));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    assert.ok(statuses.every((status) => status === 200 || status === 429));
    assert.ok(statuses.includes(200));
    await assertResult(call('list_apps', list));
  });
});

describe('many at once', () => {
  it('are each given their own id back, with the list that is ready for all', async () => {
    const ids = Array.from({ length: 300 }, (_, i) => (i % 3 === 0 ? i : `${i}:${'é'.repeat(i)}`));
    const answers = await Promise.all(ids.map((id) => peer.minimal('tools/list', {}, id)));
    const lists = new Set(answers.map(({ rpc }) => JSON.stringify(rpc.result)));
    assert.deepEqual(
      answers.map(({ rpc }) => rpc.id),
      ids,
    );
    assert.equal(lists.size, 1);
  });
});

describe('many on one connection', () => {
  it('are answered whole and in order to who reads late', async () => {
    const client = new RawClient(place.port);
    client.socket.pause();
    const count = 400;
    for (let id = 0; id < count; id++) {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' });
      client.write(headOf(place, `Content-Length: ${body.length}`) + body);
    }
    // By then what is not read has filled the socket: a list takes 19 kB.
    await assertResult(peer.minimal('tools/list'));
    client.socket.resume();
    for (let id = 0; id < count; id++) {
      const { status, body } = await client.answer();
      assert.equal(status, 200);
      const { id: given, result } = JSON.parse(body) as {
        id: number;
        result: { tools: unknown[] };
      };
      assert.equal(given, id);
      assert.ok(result.tools.length > 20);
    }
    client.destroy();
  });
});

describe('a client that leaves', () => {
  it('leaves nothing under way, while the deployment goes on', async () => {
    const { client } = gangway;
    const app = await client.createApp('Slow', {
      build: { buildCommand: 'until [ -e "$HOME/done" ]; do sleep 0.1; done' },
    });
    await client.mustUpload(app.id, packed('procfile'));
    const deploymentId = await client.redeploy(app.id);
    const wait = { name: 'wait_for_deployment', arguments: { deploymentId } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: wait });
    const leaving = new RawClient(place.port);
    leaving.write(headOf(place, `Content-Length: ${body.length}`) + body);
    // Known without a call of a tool, which would take the place of the one that is waited for.
    const inFlight = async () => {
      const { text } = await client.ask('/metrics');
      return Number(/^gangway_http_in_flight (\d+)/m.exec(text)?.[1]);
    };
    await until('its call has come', 10_000, async () => (await inFlight()) > 1);
    const isBusy = async () => (await call('search', { text: 'x' })).status === 429;
    await until('its call is under way', 10_000, isBusy);
    leaving.destroy();
    await until('it is forgotten', 10_000, async () => !(await isBusy()));
    assert.match(
      String((await client.deployment(deploymentId))?.status),
      /queued|building|starting/,
    );
    writeFileSync(join(gangway.dataDir, 'apps', app.id, 'home', 'done'), '');
    assert.equal(await client.finished(deploymentId), 'ready');
  });
});
