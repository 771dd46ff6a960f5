import assert from 'node:assert/strict';
import http from 'node:http';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { archiveOf } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { edgeOf, isAlive, signal } from '../support/processes.ts';

const bigBytes = 10_000_000;
/** Answers with the status that its path names, takes what is sent, and answers `/never` never. */
const server = `let waiting = 0;
  require('node:http').createServer((req, res) => {
    req.resume().on('end', () => {
      if (req.url === '/never') return void waiting++;
      if (req.url === '/waiting') return void res.writeHead(302).end(String(waiting));
      res.statusCode = parseInt(req.url.slice(1)) || 200;
      res.end(req.url === '/big' ? Buffer.alloc(${String(bigBytes)}) : 'hello');
    });
  }).listen(process.env.PORT);`;

interface Line {
  stream: string;
  text: string;
}

describe('the visitors of an app', () => {
  const later = cleanups();
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  before(async () => {
    gangway = await Gangway.open();
    later(() => gangway.end());
    client = gangway.client;
    const files = { Procfile: 'web: node server.js', 'server.js': server };
    app = await client.runningApp('Shop', archiveOf(files));
  });

  /** By name and labels; only of the app. */
  async function numbers(): Promise<Map<string, number>> {
    const { status, text } = await client.ask('/metrics');
    assert.equal(status, 200);
    const found = new Map<string, number>();
    for (const line of text.split('\n')) {
      const [, name = '', labels = '', value = ''] =
        /^gangway_app_(\w+)\{app="([^ ]*)\} (.*)$/.exec(line) ?? [];
      if (labels.startsWith(app.id)) {
        found.set(`${name} ${labels.slice(app.id.length + 1).replace(/^,/, '')}`, Number(value));
      }
    }
    return found;
  }
  const requests = async (kind: string): Promise<number> =>
    (await numbers()).get(`requests_total class="${kind}"`) ?? 0;
  const counted = (what: Record<string, number>): Promise<void> =>
    until(`counts of ${JSON.stringify(what)}`, 20_000, async () => {
      const found = await numbers();
      return Object.entries(what).every(
        ([kind, count]) => found.get(`requests_total class="${kind}"`) === count,
      );
    });
  const visit = (path: string): Promise<{ status: number; text: string }> =>
    client.visit(app.slug, path);

  function send(method: string, path: string): http.ClientRequest {
    const headers = { host: `${app.slug}.localhost`, cookie: 'session=secret' };
    const to = { host: '127.0.0.1', port: gangway.edgePort, agent: false } as const;
    return http.request({ ...to, method, path, headers });
  }

  it("are counted as nobody's while it is not known whose they are", async () => {
    assert.equal((await client.visit('nobody')).status, 404);
    await until('the count', 20_000, async () => {
      const { text } = await client.ask('/metrics');
      return /^gangway_edge_requests_total\{class="4xx"\} 1$/m.test(text);
    });
  });

  it('are counted by class, duration and bytes, also one who leaves', async () => {
    for (const path of ['/', '/200', '/404', '/404', '/500', '/301']) await visit(path);
    assert.equal((await visit('/big')).text.length, bigBytes);
    const upload = send('POST', '/201');
    upload.end(Buffer.alloc(bigBytes));
    await new Promise<void>((resolve) =>
      upload.once('response', (answer) => answer.resume().once('end', resolve)),
    );
    const leaving = send('GET', '/never');
    leaving.once('error', () => undefined);
    leaving.end();
    await until('the app has it', 20_000, async () => (await visit('/waiting')).text === '1');
    leaving.destroy();
    await counted({ '2xx': 4, '4xx': 2, '5xx': 1, edge: 0, aborted: 1 });
    const found = await numbers();
    const redirects = found.get('requests_total class="3xx"') ?? 0;
    assert.ok(redirects >= 2);
    assert.equal(found.get('request_duration_seconds_count '), 7 + redirects);
    assert.equal(found.get('request_duration_seconds_bucket le="+Inf"'), 7 + redirects);
    assert.ok((found.get('request_duration_seconds_sum ') ?? 0) > 0);
    assert.equal(found.get('bytes_total direction="in"'), bigBytes);
    const out = found.get('bytes_total direction="out"') ?? 0;
    assert.ok(out >= bigBytes && out < bigBytes + 1000, String(out));
  });

  it('are counted on when the edge or Gangway is killed', async () => {
    const before = await numbers();
    const edge = edgeOf(gangway.dataDir);
    assert.ok(edge);
    signal(edge.pid, 'SIGKILL');
    await until('another edge', 20_000, () => {
      const next = edgeOf(gangway.dataDir);
      return Promise.resolve(next !== undefined && next.pid !== edge.pid && !isAlive(edge.pid));
    });
    await until('a visit', 20_000, async () => (await visit('/404')).status === 404);
    await counted({ '4xx': 3 });
    await gangway.kill9();
    assert.equal((await visit('/404')).status, 404); // The app is there without Gangway.
    await gangway.start();
    await counted({ '4xx': 4 });
    const behind = await numbers();
    for (const [name, count] of before) assert.ok((behind.get(name) ?? 0) >= count, name);
    // As well as of the runner, which goes on with what is in its file.
    await gangway.kill9();
    await gangway.killRunner();
    await gangway.start();
    await until('a visit', 30_000, async () => (await visit('/404')).status === 404);
    await until('counts', 20_000, async () => (await requests('4xx')) > 4);
    const last = await numbers();
    for (const [name, count] of behind) assert.ok((last.get(name) ?? 0) >= count, name);
  });

  it('are lines of its log where it wants that, without their secrets', async () => {
    const wants = (accessLog: boolean): Promise<object> =>
      client.must(
        'mutation($id: ID!, $on: Boolean!) { updateApp(id: $id, edge: { accessLog: $on }) { id } }',
        { id: app.id, on: accessLog },
      );
    const lines = async (): Promise<string[]> => {
      const { logs } = await client.must<{ logs: { nodes: Line[] } }>(
        'query($id: ID!) { logs(appId: $id, tail: 500) { nodes { stream text } } }',
        { id: app.id },
      );
      return logs.nodes.flatMap(({ stream, text }) => (stream === 'access' ? [text] : []));
    };
    await visit('/404?early');
    await wants(true);
    await until('a line', 20_000, async () => {
      const asking = send('GET', '/404?now=1');
      asking.setHeader('user-agent', 'a "tester"');
      asking.once('response', (answer) => answer.resume());
      asking.end();
      return (await lines()).length > 0;
    });
    const all = await lines();
    assert.match(
      all[0] ?? '',
      /^127\.0\.0\.1 - - \[\S+ \+0000\] "GET \/404\?now=1 HTTP\/1\.1" 404 5 "-" "a \\x22tester\\x22" \S+\.localhost 0 \d+\.\d{3} [\w.-]+$/,
    );
    assert.ok(!all.some((line) => line.includes('early') || line.includes('secret')));
    // What comes while Gangway is away is there behind its start.
    await gangway.kill9();
    await visit('/200?away');
    await gangway.start();
    await until('its line', 20_000, async () =>
      (await lines()).some((line) => line.includes('/200?away')),
    );
    await wants(false);
  });

  it('are counted where the edge answers in its place, and forgotten with it', async () => {
    const before = await requests('edge');
    await client.must('mutation($id: ID!) { stopApp(id: $id) { id } }', { id: app.id });
    await until('a page', 20_000, async () => (await visit('/')).status === 503);
    await until('its count', 20_000, async () => (await requests('edge')) > before);
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: app.id });
    assert.ok((await numbers()).size > 0);
    await client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id: app.id });
    await until('no numbers', 20_000, async () => (await numbers()).size === 0);
  });
});
