/** The life of one instance: it starts empty, stands beside starts that cannot be, ends and is copied. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { migrations } from '../../src/store/records/migrations.ts';
import { openStore } from '../../src/store/store.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf, owner, packed } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { memoryLogger } from '../support/memory-logger.ts';
import { assertProblem } from '../support/problem.ts';
import { processesOf, runnerOf } from '../support/processes.ts';
import { RawClient } from '../support/raw-http.ts';

type Ended = Awaited<ReturnType<Gangway['run']>>;

/** One line that says what is wrong, and no success. */
function assertRefused({ code, signal, text }: Ended, about: RegExp): void {
  assert.deepEqual({ code, signal }, { code: 1, signal: null }, text);
  assert.match(text, /^gangway: [^\n]+\n$/);
  assert.match(text, about);
}

const metricsToken = 'figures-of-this-instance';
const later = cleanups();
let gangway: Gangway;
before(async () => {
  gangway = await Gangway.create({
    env: {
      GANGWAY_TRUSTED_PROXIES: '127.0.0.1',
      GANGWAY_ISOLATION_WITHOUT: 'network',
      GANGWAY_METRICS_TOKEN: metricsToken,
      GANGWAY_METRICS_NETWORKS: '198.51.100.0/24',
    },
  });
  later(() => gangway.end());
  await gangway.start();
});

describe('an empty instance', () => {
  const far = { 'x-forwarded-for': '203.0.113.9' };
  const form = (fields: Record<string, string>): string =>
    new URLSearchParams({ ...owner, name: 'Me', teamName: 'Home', ...fields }).toString();
  const formType = { 'content-type': 'application/x-www-form-urlencoded' };

  it('prints where it serves and the page to set it up, once', () => {
    const line = new RegExp(
      `^Gangway serves on ${gangway.url}; set it up at ${gangway.url}/setup\\?code=\\S+$`,
      'gm',
    );
    assert.equal(gangway.output.match(line)?.length, 1);
  });

  it('shows the page, and takes the first account from afar only with the code', async () => {
    const visitor = gangway.stranger();
    const home = await visitor.ask('/');
    assert.deepEqual([home.status, home.headers.get('location')], [303, '/setup']);
    const near = await visitor.ask('/setup');
    assert.match(near.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(near.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    // A connection that was just closed tells no uid any more.
    await eventually('it needs no code', async () => {
      const { text } = await visitor.ask('/setup');
      return !text.includes('setupCode');
    });
    await eventually('it warns of what is not kept apart', async () => {
      const { text } = await visitor.ask('/setup');
      const told =
        /role="note">.*hands it the session.*[^]*role="note">.*(network: |not run as root)/;
      return told.test(text);
    });
    assert.match((await visitor.ask('/setup', { headers: far })).text, /name="setupCode"/);
    const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
      visitor.ask('/setup', {
        method: 'POST',
        headers: { ...formType, ...headers },
        body: form(fields),
      });
    const refused = await post({}, far);
    assert.equal(refused.status, 403);
    assert.match(refused.text, /role="alert"/);
    assert.equal((await post({ setupCode: 'wrong' }, far)).status, 403);
    assertProblem(await post({}, { origin: 'https://evil.example' }), 403, 'CROSS_SITE');
    assert.equal((await post({ password: 'short' })).status, 400);
    const setup = `mutation { completeSetup(email: "a@b.c", password: "correct horse", name: "A", teamName: "B") { viewer { id } } }`;
    assert.equal(await visitor.fails(setup, {}, far), 'SETUP_CODE_REQUIRED');
    assert.deepEqual(await visitor.must('{ needsSetup }'), { needsSetup: true });
    const setupCode = /setup\?code=(\S+)/.exec(gangway.output)?.[1] ?? '';
    const done = await post({ setupCode }, far);
    assert.equal(done.status, 303, done.text);
    const cookie = done.headers
      .getSetCookie()
      .find((one) => one.startsWith('service.session_token='));
    assert.match(cookie ?? '', /HttpOnly/i);
    assert.match(cookie ?? '', /SameSite=Lax/i);
    visitor.cookie = cookie?.split(';')[0] ?? '';
    assert.deepEqual(await visitor.must('{ needsSetup me { email isInstanceAdmin } }'), {
      needsSetup: false,
      me: { email: owner.email, isInstanceAdmin: true },
    });
    assert.equal((await visitor.ask('/setup')).status, 303);
    assert.notEqual((await post({ setupCode, email: 'b@example.com' })).status, 303);
    assert.equal(await gangway.stranger().fails(setup), 'CONFLICT');
  });

  it('answers liveness to all, and figures to who has the token or comes from the network', async () => {
    const stranger = gangway.stranger();
    const health = await stranger.ask('/api/health');
    assert.deepEqual([health.status, health.text], [200, '{"ok":true}']);
    assert.equal(health.headers.get('cache-control'), 'no-store');
    await stranger.ask('/nowhere');
    const asked = (headers: Record<string, string>) => stranger.ask('/metrics', { headers });
    const metrics = await asked({ authorization: `Bearer ${metricsToken}` });
    assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(metrics.text, /^# TYPE \w+ counter$/m);
    assert.match(metrics.text, /^gangway_\w+(\{.*\})? \d/m);
    assert.match(metrics.text, /^gangway_problems_total\{code="NOT_FOUND"\} [1-9]/m);
    assert.match(metrics.text, /^gangway_mailbox_messages 0$/m);
    assert.equal((await asked({ 'x-forwarded-for': '198.51.100.7' })).status, 200);
    assertProblem(await asked({}), 401, 'UNAUTHENTICATED');
    assertProblem(await asked(far), 401, 'UNAUTHENTICATED');
    assertProblem(await asked({ authorization: 'Bearer wrong' }), 401, 'UNAUTHENTICATED');
    assert.doesNotMatch(gangway.output, new RegExp(metricsToken));
  });
});

describe('a start that cannot be', () => {
  it('ends with one line about a wrong value', async () => {
    // What else is wrong, and how it is told, is told without a process in `unit/config.test.ts`.
    const loud = await gangway.run(['serve'], { GANGWAY_LOG_LEVEL: 'loud' });
    assertRefused(loud, /GANGWAY_LOG_LEVEL.*"loud".*warn/);
    const file = join(gangway.dataDir, '..', 'config.json');
    writeFileSync(file, '{"prot": 1}');
    assertRefused(await gangway.run(['serve'], { GANGWAY_CONFIG: file }), /"prot"/);
    const secret = await gangway.run(['serve'], { GANGWAY_INSTANCE_KEY: 'not-a-good-key' });
    assertRefused(secret, /GANGWAY_INSTANCE_KEY/);
    assert.doesNotMatch(secret.text, /not-a-good-key/);
  });

  it('ends where the directory or the port is in use, and harms nobody', async () => {
    const pid = String(gangway.pid);
    const inUse = await gangway.run(['serve'], { GANGWAY_PORT: '0' });
    assertRefused(inUse, new RegExp(`in use by another process \\(pid ${pid}\\)`));
    const folder = mkdtempSync(join(tmpdir(), 'gangway-start-'));
    const env = { GANGWAY_DATA_DIR: folder, GANGWAY_LOG_LEVEL: 'error' };
    const taken = await gangway.run(['serve'], env);
    assertRefused(taken, new RegExp(`127\\.0\\.0\\.1:${String(gangway.port)}`));
    await until('nothing of it runs', 20_000, () => processesOf(folder).length === 0);
    rmSync(folder, { recursive: true });
    assert.deepEqual(await gangway.stranger().must('{ needsSetup }'), { needsSetup: false });
    // Who has no app needs no edge: the runner that was asked about isolation has ended.
    await until('no runner', 20_000, () => runnerOf(gangway.dataDir) === undefined);
  });

  it('ends where the directory was written by a newer Gangway', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gangway-newer-'));
    const to = (migrations.at(-1)?.to ?? 1) + 1;
    const newer = [...migrations, { to, tables: [], run: () => undefined }];
    const store = await openStore({ dir, migrations: newer, logger: memoryLogger() });
    await store.close();
    const env = { GANGWAY_DATA_DIR: dir, GANGWAY_PORT: '0' };
    assertRefused(await gangway.run(['serve'], env), /newer Gangway/);
    rmSync(dir, { recursive: true });
  });

  it('is told how to use the program', async () => {
    for (const args of [[], ['help'], ['serve', 'more'], ['snapshot']]) {
      const { code, text } = await gangway.run(args);
      assert.equal(code, 2);
      assert.match(text, /^Usage: gangway <command>/);
    }
    assert.match((await gangway.run(['--version'])).text, /^\d+\.\d+\.\d+\n$/);
  });
});

describe('a service that is told to stop', () => {
  let client: Client;
  let app: AppInfo;
  before(async () => {
    client = await gangway.signIn();
    app = await client.runningApp('Stays', packed('procfile'));
  });

  it('ends streams with exit and uploads with 503, leaves apps up, and starts again', async () => {
    const url = `${gangway.url}/api/apps/${app.id}/logs`;
    const tail = new LogTail(url, { cookie: client.cookie });
    await until('the session', 10_000, () => tail.sessionId !== '');
    const upload = new RawClient(gangway.port);
    const head = `POST /api/apps/${app.id}/upload HTTP/1.1\r\nHost: x\r\nCookie: ${client.cookie}\r\n`;
    upload.write(`${head}X-Upload-Filename: a.tgz\r\nContent-Length: 100000\r\n\r\n`);
    upload.write(archiveOf({ 'index.html': 'new' }));
    const arriving = join(gangway.dataDir, 'uploads', 'tmp');
    await until(
      'it arrives',
      10_000,
      () => existsSync(arriving) && readdirSync(arriving).length > 0,
    );
    const runner = runnerOf(gangway.dataDir)?.pid;
    const stopping = gangway.stop();
    const answer = await upload.answer();
    assert.equal(answer.status, 503);
    assert.match(answer.body, /"code":"SHUTTING_DOWN"/);
    assert.ok(answer.headers.has('retry-after'));
    upload.destroy();
    assert.deepEqual(await stopping, { code: 0, signal: null });
    await until('the stream ended', 10_000, () => tail.ended);
    assert.equal(tail.events.at(-1)?.event, 'exit');
    assert.equal((await client.visit(app.slug)).status, 200);
    assert.equal(runnerOf(gangway.dataDir)?.pid, runner);
    await gangway.start();
    assert.deepEqual(await client.must('{ me { email } }'), { me: { email: owner.email } });
    await client.deployed(app.id);
  });

  it('drops a client that reads no more, and does not wait for it', async () => {
    const socket = connect(gangway.port, '127.0.0.1');
    socket.write(
      `GET /api/apps/${app.id}/logs HTTP/1.1\r\nHost: x\r\nCookie: ${client.cookie}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('readable', resolve));
    assert.deepEqual(await gangway.stop(), { code: 0, signal: null });
    socket.destroy();
    await gangway.start();
  });
});

describe('a snapshot of a running instance', () => {
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gangway-copy-'));
    later(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    chmodSync(folder, 0o711);
  });

  it('serves elsewhere all that was there, with the key', { timeout: 120_000 }, async () => {
    const client = await gangway.signIn();
    const env = [{ key: 'LINES_PER_SECOND', value: '200' }];
    const app = await client.runningApp('Copied', packed('chatty'), { env });
    await until('lines', 20_000, async () => Number((await client.visit(app.slug)).text) > 300);
    const copy = join(folder, 'copy');
    const made = await gangway.run(['snapshot', copy, '--with-key']);
    assert.equal(made.code, 0, made.text);
    assertRefused(await gangway.run(['snapshot', copy]), /not empty/);
    const keyless = join(folder, 'keyless');
    assert.equal((await gangway.run(['snapshot', keyless])).code, 0);
    assert.throws(() => statSync(join(keyless, 'instance.key')), /ENOENT/);
    assertRefused(await gangway.run(['restore', copy]), /not empty|in use/);

    const other = await Gangway.create({ dataDir: join(folder, 'restored') });
    try {
      assert.equal((await other.run(['restore', copy])).code, 0);
      await other.start();
      const person = await other.signIn();
      const reveal = 'mutation($id: ID!) { revealEnv(appId: $id, key: "LINES_PER_SECOND") }';
      assert.deepEqual(await person.must(reveal, { id: app.id }), { revealEnv: '200' });
      const { logs } = await person.must<{ logs: { nodes: { text: string }[] } }>(
        'query($id: ID!) { logs(appId: $id, tail: 5000) { nodes { text } } }',
        { id: app.id },
      );
      assert.ok(logs.nodes.some(({ text }) => text.startsWith('line 1')));
      await until(
        'the app runs',
        40_000,
        async () => (await person.visit(app.slug)).status === 200,
      );
    } finally {
      await other.end();
    }
    assert.equal((await client.visit(app.slug)).status, 200);

    const locked = { GANGWAY_DATA_DIR: join(folder, 'locked'), GANGWAY_PORT: '0' };
    assert.equal((await gangway.run(['restore', keyless], locked)).code, 0);
    assertRefused(await gangway.run(['serve'], locked), /key/);
  });
});
