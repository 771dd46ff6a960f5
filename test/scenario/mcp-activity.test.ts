import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { found } from '../support/eventually.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { minuteMs, TimeMachine } from '../support/time-machine.ts';

interface Entry {
  actor: string;
  action: string;
  target: string | null;
  details: Record<string, unknown>;
}

const query = '{ activity(first: 50) { nodes { actor action target details } } }';
const userAgent = 'fleet-runner/9';
const secretValue = 'a-value-nobody-may-read-7c1f';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${parentId}-01`;
const hostile = 'Evil\u001b[2J\u202e\r\n","status":200,"x":"agent';

describe('who called over MCP', () => {
  const later = cleanups();
  let gangway: Gangway;
  let time: TimeMachine;
  let app: AppInfo;
  let token: string;

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gangway-activity-'));
    later(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    time = new TimeMachine(join(folder, 'time'));
    // Gateway threads would see a jump at moments of their own.
    gangway = await Gangway.open(time.options({ GANGWAY_GATEWAY_THREADS: '1' }));
    later(() => gangway.end());
    app = await gangway.client.createApp('Shop');
    token = await gangway.client.token({ name: 'fleet', capabilities: ['manage_env'] });
  });

  async function call(
    name: string,
    args: object,
    client: string,
    more: { meta?: object; headers?: Record<string, string> } = {},
  ): Promise<string> {
    const answer = await fetch(`${gangway.url}/api/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'user-agent': userAgent,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
        ...more.headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name,
          arguments: args,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
            'io.modelcontextprotocol/clientInfo': { name: client, version: '1.2' },
            ...more.meta,
          },
        },
      }),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return text;
  }

  async function entries(): Promise<Entry[]> {
    const { activity } = await gangway.client.must<{ activity: { nodes: Entry[] } }>(query);
    return activity.nodes;
  }

  async function readsOf(client: string): Promise<Entry | undefined> {
    const all = await entries();
    return all.find(
      ({ action, details }) => action === 'mcp_reads' && details['client'] === client,
    );
  }

  async function lineOf(requirement: (line: Record<string, unknown>) => boolean) {
    let written: Record<string, unknown> | undefined;
    await until('the line is written', 10_000, () => {
      for (const text of gangway.output.split('\n').slice(0, -1)) {
        if (!text.startsWith('{') || !text.endsWith('}')) continue;
        const line = JSON.parse(text) as Record<string, unknown>;
        if (line['route'] === '/api/mcp' && requirement(line)) written = line;
      }
      return written !== undefined;
    });
    assert.ok(written);
    return written;
  }

  it('stands beside each change: client, tool, token and address, and no secret', async () => {
    const variable = { appId: app.id, key: 'API_KEY', value: secretValue };
    const answer = await call('set_env', variable, 'claude-code');
    assert.doesNotMatch(answer, /"isError":true/);
    const [last] = await entries();
    assert.equal(last?.action, 'upsertEnv');
    assert.match(last.actor, /^token:fleet \S+ of /);
    const { via, client, tool, address, userAgent: agent } = last.details;
    assert.deepEqual(
      [via, client, tool, address, agent],
      ['mcp', 'claude-code 1.2', 'set_env', '127.0.0.1', userAgent],
    );
    const text = JSON.stringify(await entries());
    for (const secret of [secretValue, token]) assert.ok(!text.includes(secret));
  });

  it('is counted for reads, which have no entry each', async () => {
    for (let i = 0; i < 3; i++) await call('list_apps', {}, 'cursor');
    await call('get_app', { appId: app.id }, 'cursor');
    // Some of them may have been told by now, the rest are a minute later.
    await time.jump(2 * minuteMs);
    const entry = await found('the reads are told', async () => {
      const told = await readsOf('cursor');
      const calls = told?.details['calls'] as Record<string, number> | undefined;
      return calls?.['list_apps'] === 3 && calls['get_app'] === 1 && told;
    });
    assert.match(entry.actor, /^token:fleet \S+ of /);
    const { day, via } = entry.details;
    assert.equal(via, 'mcp');
    assert.equal(typeof day, 'string');
    assert.equal((await entries()).filter(({ action }) => action === 'mcp_reads').length, 1);
  });

  it('goes on being counted over a restart, in the same entry', async () => {
    await call('list_apps', {}, 'cursor');
    await gangway.stop();
    await gangway.start();
    const calls = (await readsOf('cursor'))?.details['calls'];
    assert.deepEqual(calls, { list_apps: 4, get_app: 1 });
    assert.doesNotMatch(gangway.output, /mcp_reads_not_told/);
  });

  it('is in the line of the request, with the trace it belongs to', async () => {
    await call('list_apps', {}, 'tracer', { headers: { traceparent } });
    const byHeader = await lineOf((line) => line['client'] === 'tracer');
    assert.deepEqual(
      [byHeader['rpc'], byHeader['tool'], byHeader['traceId'], byHeader['parentId']],
      ['tools/call', 'list_apps', traceId, parentId],
    );
    await call('list_apps', {}, 'inside', { meta: { traceparent } });
    const byBody = await lineOf((line) => line['client'] === 'inside');
    assert.deepEqual([byBody['traceId'], byBody['parentId']], [traceId, parentId]);
  });

  it('is shown as what it is, whatever it calls itself', async () => {
    await call('list_apps', {}, hostile, { headers: { traceparent: 'not-a-trace' } });
    const line = await lineOf(({ client }) => String(client).startsWith('Evil'));
    assert.equal(line['client'], 'Evil[2J","status":200,"x":"agent');
    assert.equal(line['x'], undefined);
    assert.equal(line['traceId'], undefined);
    for (const bad of ['\u001b', '\u202e', 'not-a-trace', token, secretValue]) {
      assert.ok(!gangway.output.includes(bad), JSON.stringify(bad));
    }
    await time.jump(2 * minuteMs);
    await until('its reads are told', 15_000, async () => {
      return (await readsOf(String(line['client']))) !== undefined;
    });
  });

  it('is counted in the metrics, by tool', async () => {
    const { text } = await gangway.client.ask('/metrics');
    assert.match(text, /^gangway_mcp_calls_total\{tool="list_apps",outcome="ok"\} \d+$/m);
    assert.match(text, /^gangway_mcp_requests_total\{method="tools\/call"\} \d+$/m);
  });
});
