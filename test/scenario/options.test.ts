/**
 * Options as an operator sets them, and what each does to the service; `test/unit/options.test.ts` says
 * where every one of them is tried. The tests come in the order of their jumps in time.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { ConsoleClient } from '../support/console-client.ts';
import { archiveOf } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { freePort } from '../support/ports.ts';
import { processesOf } from '../support/processes.ts';
import { edgesOf } from '../support/processes.ts';
import { RawClient } from '../support/raw-http.ts';
import { dayMs, minuteMs, secondMs, TimeMachine } from '../support/time-machine.ts';

const patienceMs = 20_000;
const mebibyte = 2 ** 20;
const edgeHost = '127.0.0.9';

/** Answers with a number of its own, and with 500 at `/bad`, of which it tells then. */
const server = `const own = require('node:crypto').randomInt(1e12);
require('node:http').createServer((request, response) => {
  const isBad = request.url === '/bad';
  response.writeHead(isBad ? 500 : 200).end(String(own), () => isBad && console.log('asked'));
}).listen(process.env.PORT);`;
const serving = archiveOf({ Procfile: 'web: node index.js', 'index.js': server });
/** Prints lines of some 100 bytes, and a last one, before it serves. */
const talking = (lines: number): Buffer =>
  archiveOf({
    Procfile: 'web: node index.js',
    'index.js': `process.stdout.write(('x'.repeat(99) + '\\n').repeat(${String(lines)}) + 'the last\\n');${server}`,
  });
/** Builds until its folder is told to be done. */
const building = archiveOf({
  'package.json': '{"name":"a","scripts":{"build":"node build.js","start":"node index.js"}}',
  'build.js': `const { existsSync } = require('node:fs');
    const look = setInterval(() => existsSync(process.env.DONE) && clearInterval(look), 20);`,
  'index.js': server,
});

interface Page {
  nodes: object[];
  pageInfo: { hasNextPage: boolean; endCursor: string };
}

describe('options of a service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-options-'));
  const time = new TimeMachine(join(folder, 'time'));
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  let edgeTlsPort: number;
  before(async () => {
    edgeTlsPort = await freePort();
    const env = {
      GANGWAY_GATEWAY_THREADS: '1',
      GANGWAY_EDGE_HOST: edgeHost,
      GANGWAY_EDGE_PROCESSES: '2',
      GANGWAY_EDGE_TLS_PORT: String(edgeTlsPort),
      GANGWAY_MAX_LOG_STREAMS_PER_USER: '2',
      GANGWAY_MAX_CONSOLES_PER_USER: '1',
      GANGWAY_MAX_UPLOAD_MB: '1',
      GANGWAY_BODY_IDLE_SECONDS: '5',
      GANGWAY_LOG_QUOTA_MB: '1',
      GANGWAY_LOG_MAX_DAYS: '3',
      GANGWAY_ACTIVITY_DAYS: '20',
      GANGWAY_ACTIVITY_MAX_PER_TEAM: '100',
      GANGWAY_BUILD_CONCURRENCY: '3',
      GANGWAY_BUILD_TIMEOUT_MINUTES: '7',
      GANGWAY_HEALTH_TIMEOUT_SECONDS: '20',
      GANGWAY_APP_DRAIN_SECONDS: '120',
    };
    gangway = await Gangway.open(time.options(env));
    client = gangway.client;
    app = await client.runningApp('Plain', serving);
  });
  after(async () => {
    try {
      await gangway.end();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  /** What the app answers at an address of the edge; '' when nobody is there. */
  const visit = (host: string): Promise<string> =>
    new Promise((resolve) => {
      const headers = { host: `${app.slug}.localhost` };
      const asking = request({ host, port: gangway.edgePort, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (more: string) => (text += more));
        answer.once('end', () => resolve(answer.statusCode === 200 ? text : ''));
      });
      asking.once('error', () => resolve('')).end();
    });

  it('edgeHost and edgePort say where the edge is', async () => {
    assert.equal(new URL(app.url).port, String(gangway.edgePort));
    assert.match(await visit(edgeHost), /^\d+$/);
    assert.equal(await visit('127.0.0.1'), '');
  });

  it('edgeProcesses says how many serve the port of the edge', () => {
    assert.equal(edgesOf(gangway.dataDir).length, 2);
  });

  it('edgeTlsPort is where the edge speaks HTTPS', async () => {
    const refusal = await new Promise<string>((resolve) => {
      const at = { host: edgeHost, port: edgeTlsPort, servername: 'none.localhost' };
      tls.connect(at).once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    });
    assert.match(refusal, /ALERT_HANDSHAKE_FAILURE/); // The name has no certificate.
  });

  it('maxLogStreamsPerUser bounds the log streams of a person', async (t) => {
    const open = async (): Promise<number> => {
      const url = `${gangway.url}/api/apps/${app.id}/logs`;
      const tail = await new LogTail(url, { cookie: client.cookie }).opened();
      t.after(() => {
        tail.close();
      });
      return tail.status;
    };
    assert.deepEqual([await open(), await open(), await open()], [200, 200, 429]);
  });

  it('maxConsolesPerUser bounds the consoles of a person', async () => {
    const path = `/api/apps/${app.id}/attach`;
    const first = await ConsoleClient.open(client, path);
    const second = await ConsoleClient.ask(client, path);
    await first.delete();
    assert.equal(second.stream.status, 429);
    const third = await ConsoleClient.open(client, path);
    await third.delete();
  });

  it('maxUploadMb bounds an archive', async () => {
    // Of random text three quarters are left.
    const upload = async (share: number): Promise<number> => {
      const text = randomBytes(share * mebibyte).toString('base64');
      return (await client.upload(app.id, archiveOf({ 'index.html': text }))).status;
    };
    assert.equal(await upload(0.9), 200);
    assert.equal(await upload(1.1), 413);
    await client.mustUpload(app.id, serving);
  });

  it('bodyIdleSeconds end a body of which no byte comes', async (t) => {
    const raw = new RawClient(gangway.port);
    t.after(() => {
      raw.destroy();
    });
    const head = `POST /api/apps/${app.id}/upload HTTP/1.1\r\nHost: x\r\nCookie: ${client.cookie}\r\n`;
    raw.write(`${head}X-Upload-Filename: a.tgz\r\nContent-Length: 100000\r\n\r\n`);
    raw.write(serving.subarray(0, 10));
    const arriving = join(gangway.dataDir, 'uploads', 'tmp');
    await until('it arrives', patienceMs, () => readdirSync(arriving).length > 0);
    await time.jump(6 * secondMs);
    // Well before the default.
    await until('the refusal', patienceMs, () => raw.received !== '');
    assert.equal((await raw.answer()).status, 408);
  });

  it('buildConcurrency lets so many builds go on at once, buildTimeoutMinutes each for so long', async () => {
    const done = join(gangway.dataDir, 'apps', 'done');
    const apps = await Promise.all(
      ['One', 'Two', 'Three'].map(async (name) => {
        const made = await client.createApp(name, { env: [{ key: 'DONE', value: done }] });
        await client.mustUpload(made.id, building);
        return await client.redeploy(made.id);
      }),
    );
    const jobs = join(gangway.dataDir, 'runner', 'workloads');
    const recordOf = (name: string): string => join(jobs, name, 'workload.json');
    const records = (): { spec: { deadlineMs: number } }[] =>
      readdirSync(jobs)
        .filter((name) => name.includes('-build-') && existsSync(recordOf(name)))
        .map(
          (name) =>
            JSON.parse(readFileSync(recordOf(name), 'utf8')) as ReturnType<typeof records>[number],
        );
    await until('three builds', patienceMs, () => records().length === 3);
    for (const { spec } of records()) assert.equal(spec.deadlineMs, 7 * minuteMs);
    for (const id of apps) {
      await client.must('mutation($id: ID!) { cancelDeployment(id: $id) }', { id });
    }
  });

  it('healthTimeoutSeconds and healthPath decide over a new instance', async () => {
    const build = { healthPath: '/bad' };
    const made = await client.createApp('Ill', { build });
    await client.mustUpload(made.id, serving);
    const id = await client.redeploy(made.id);
    await until('it starts', patienceMs, async () => {
      return (await client.deployment(id))?.status === 'starting';
    });
    const asked = async (): Promise<number> => {
      const query = 'query($id: ID!) { logs(appId: $id, tail: 5000) { nodes { text } } }';
      const { logs } = await client.must<{ logs: { nodes: object[] } }>(query, { id: made.id });
      return logs.nodes.length;
    };
    const isStarting = async (): Promise<boolean> =>
      (await client.deployment(id))?.status === 'starting';
    // No call that is under way is to be leapt over: the app is asked between two jumps.
    for (let jumps = 0; jumps < 6 && (await isStarting()); jumps++) {
      const before = await asked();
      await until('it is asked', patienceMs, async () => {
        return (await asked()) > before || !(await isStarting());
      });
      await time.jump(4 * secondMs);
    }
    assert.equal(await client.finished(id), 'failed');
    assert.match((await client.deployment(id))?.error ?? '', /within 20 s: GET \/bad answered 500/);
  });

  it('appDrainSeconds keep the instance that is replaced', async () => {
    const old = Number(await visit(edgeHost));
    await client.deployed(app.id);
    await until('the new one', patienceMs, async () => Number(await visit(edgeHost)) !== old);
    // Well behind the default, with half a minute for what takes its time here.
    await time.jump(90 * secondMs);
    for (let i = 0; i < 10; i++) await visit(edgeHost);
    const instances = (): number =>
      processesOf(app.id).filter(({ command }) => command.endsWith(' index.js')).length;
    assert.equal(instances(), 2);
    await time.jump(31 * secondMs);
    await until('the old one is gone', patienceMs, () => instances() === 1);
  });

  it('logQuotaMb bounds the lines of an app, and logMaxDays how long they are kept', async () => {
    const made = await client.runningApp('Talks', talking(60_000));
    const logs = join(gangway.dataDir, 'logs', `app-${made.id}`);
    // Files go while it looks.
    const sizeOf = (name: string): number =>
      statSync(join(logs, name), { throwIfNoEntry: false })?.size ?? 0;
    const bytes = (): number => readdirSync(logs).reduce((sum, name) => sum + sizeOf(name), 0);
    const all = 60_000 * 100;
    const last = 'query($id: ID!) { logs(appId: $id, tail: 1) { nodes { text } } }';
    await until('all is stored', patienceMs, async () => {
      const { logs } = await client.must<{ logs: { nodes: { text: string }[] } }>(last, {
        id: made.id,
      });
      return logs.nodes[0]?.text === 'the last';
    });
    await time.jump(minuteMs + secondMs);
    // Whole segments go, never the one that grows.
    await until('the older segment is gone', patienceMs, () => bytes() < all / 2);
    const kept = async (): Promise<number> => {
      const query = 'query($id: ID!) { logs(appId: $id, tail: 5) { nodes { text } } }';
      const found = await client.must<{ logs: { nodes: object[] } }>(query, { id: made.id });
      return found.logs.nodes.length;
    };
    assert.equal(await kept(), 5);
    await time.jump(2 * dayMs);
    assert.equal(await kept(), 5);
    await time.jump(dayMs);
    await until('nothing is left', patienceMs, async () => {
      if ((await kept()) === 0) return true;
      // What was looked through during the jump is again a minute later.
      await time.jump(minuteMs);
      return false;
    });
  });

  it('activityMaxPerTeam and activityDays bound the activity', async () => {
    const change = async (name: string): Promise<void> => {
      await client.must('mutation($name: String!) { updateTeam(name: $name) { id } }', { name });
    };
    const entries = async (): Promise<number> => {
      let count = 0;
      let after: string | null = null;
      for (;;) {
        const { activity }: { activity: Page } = await client.must<{ activity: Page }>(
          `query($after: String) { activity(first: 100, after: $after) {
            nodes { id } pageInfo { hasNextPage endCursor } } }`,
          { after },
        );
        count += activity.nodes.length;
        if (!activity.pageInfo.hasNextPage) return count;
        after = activity.pageInfo.endCursor;
      }
    };
    const names = Array.from({ length: 50 }, (_, i) => `Team ${String(i)}`);
    for (let round = 0; round < 3; round++) await Promise.all(names.map(change));
    assert.ok((await entries()) > 150);
    // Every few hundred entries what is too many goes at once.
    for (let round = 0; round < 7; round++) await Promise.all(names.map(change));
    await until('the first surplus is gone', patienceMs, async () => (await entries()) < 400);
    await Promise.all(names.map(change));
    assert.ok((await entries()) > 100);
    await time.jump(dayMs);
    await until('the surplus is gone', patienceMs, async () => (await entries()) === 100);
    await time.jump(15 * dayMs);
    client = await gangway.signIn();
    assert.ok((await entries()) >= 100);
    await time.jump(6 * dayMs);
    await until('all of it was too old', patienceMs, async () => (await entries()) < 10);
  });
});
