import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { Gangway, until } from '../support/gangway.ts';
import { freePort } from '../support/ports.ts';
import type { Problem } from '../support/gangway-client.ts';
import { LogTail } from '../support/log-tail.ts';

const env = {
  GANGWAY_GATEWAY_THREADS: '3',
  GANGWAY_MAX_LOG_STREAMS_PER_USER: '4',
  GANGWAY_METRICS: 'all',
};
const patienceMs = 10_000;

/** One connection, which one gateway thread has for as long as it lives. */
class Line {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  ask(
    path: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST';
      const asked = request(`${this.#url}${path}`, { agent: this.#agent, headers, method });
      asked.on('error', reject).on('response', (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (more: string) => (text += more));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      });
      asked.end(body);
    });
  }

  /** What the ids of its thread's requests begin with. */
  async thread(): Promise<string> {
    const { text } = await this.ask('/nowhere');
    return (JSON.parse(text) as Problem).requestId.slice(0, 12);
  }

  me(token: string): Promise<{ status: number; text: string }> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return this.ask('/api/graphql', headers, '{"query":"{ me { id } }"}');
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** One connection to each of so many threads. */
async function linesTo(gangway: Gangway, threads: number): Promise<Line[]> {
  const found = new Map<string, Line>();
  await until('connections to all threads', patienceMs, async () => {
    const line = new Line(gangway.url);
    const thread = await line.thread();
    if (found.has(thread)) line.close();
    else found.set(thread, line);
    return found.size === threads;
  });
  return [...found.values()];
}

async function sample(line: Line, name: string): Promise<number> {
  const { text } = await line.ask('/metrics');
  const found = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(found?.split(' ')[1]);
}

describe('several gateway threads', () => {
  const later = cleanups();
  let gangway: Gangway;
  let lines: Line[];
  before(async () => {
    gangway = await Gangway.open({ env });
    later(() => gangway.end());
    lines = await linesTo(gangway, 3);
    later(() => {
      for (const line of lines) line.close();
    });
  });

  it('share the connections to one port, and show the same in the metrics of any', async () => {
    for (const line of lines) {
      assert.deepEqual(await line.ask('/api/health'), { status: 200, text: '{"ok":true}' });
    }
    const sockets = await Promise.all(lines.map((one) => sample(one, 'gangway_http_sockets')));
    assert.ok(
      sockets.every((count) => count >= 3),
      String(sockets),
    );
    const health = 'gangway_http_requests_total{route="/api/health",method="GET",status="2xx"}';
    assert.ok(lines[0] && (await sample(lines[0], health)) >= 3);
  });

  it('refuse a token on all of them as soon as it was revoked on one', async () => {
    for (let round = 0; round < 20; round++) {
      const { createToken } = await gangway.client.must<{
        createToken: { secret: string; token: { id: string } };
      }>(
        'mutation($input: CreateTokenInput!) { createToken(input: $input) { secret token { id } } }',
        { input: { name: `round ${String(round)}`, capabilities: ['view_logs'] } },
      );
      const { secret, token } = createToken;
      for (const line of lines) assert.equal((await line.me(secret)).status, 200);
      await gangway.client.must('mutation($id: ID!) { revokeToken(id: $id) }', { id: token.id });
      for (const answer of await Promise.all(lines.map((line) => line.me(secret)))) {
        assert.equal(answer.status, 401);
      }
    }
  });

  it('show what was changed on one to who asks another, right after', async () => {
    const token = await gangway.client.token({ capabilities: ['create_apps', 'view_logs'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    for (let round = 0; round < 30; round++) {
      const name = `app ${String(round)}`;
      const [writer, reader] = [lines[round % 3], lines[(round + 1) % 3]];
      const create = `mutation { createApp(input: { name: "${name}", source: UPLOAD }) { id } }`;
      const made = await writer?.ask('/api/graphql', headers, JSON.stringify({ query: create }));
      const { data } = JSON.parse(made?.text ?? '') as { data: { createApp: { id: string } } };
      const query = `{ app(id: "${data.createApp.id}") { name } }`;
      const seen = await reader?.ask('/api/graphql', headers, JSON.stringify({ query }));
      assert.deepEqual(JSON.parse(seen?.text ?? ''), { data: { app: { name } } });
    }
  });

  it('count the log streams of a person together, and close those of each other', async () => {
    const app = await gangway.client.createApp('watched');
    const path = `/api/apps/${app.id}/logs`;
    const { cookie } = gangway.client;
    const tails = [1, 2, 3, 4].map(() => new LogTail(`${gangway.url}${path}`, { cookie }));
    await until('four streams', patienceMs, () => tails.every((tail) => tail.sessionId !== ''));
    for (const line of lines) assert.equal((await line.ask(path, { cookie })).status, 429);
    for (const { sessionId } of tails) {
      const closing = `${path}?sessionId=${sessionId}`;
      assert.equal((await gangway.client.ask(closing, { method: 'DELETE' })).status, 204);
    }
    await until('all have ended', patienceMs, () => tails.every(({ ended }) => ended));
    for (const { events } of tails) assert.equal(events.at(-1)?.event, 'exit');
  });

  it('do not share their port with another process', async () => {
    const other = await Gangway.create({ env });
    try {
      const { code, text } = await other.run(['serve'], {
        GANGWAY_PORT: String(gangway.port),
        GANGWAY_EDGE_PORT: String(await freePort()),
      });
      assert.equal(code, 1);
      assert.match(text, /Cannot listen on 127\.0\.0\.1:\d+: it is taken/);
    } finally {
      await other.end();
    }
  });

  it('tell their streams before the process ends', async () => {
    const app = await gangway.client.createApp('watched to the end');
    const { cookie } = gangway.client;
    const url = `${gangway.url}/api/apps/${app.id}/logs`;
    const tails = [1, 2, 3].map(() => new LogTail(url, { cookie }));
    await until('streams', patienceMs, () => tails.every((tail) => tail.sessionId !== ''));
    assert.deepEqual(await gangway.stop(), { code: 0, signal: null });
    await until('all have ended', patienceMs, () => tails.every(({ ended }) => ended));
    for (const { events } of tails) assert.equal(events.at(-1)?.event, 'exit');
  });
});
