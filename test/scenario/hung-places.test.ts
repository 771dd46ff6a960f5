/** What callers get of a place that does not answer, or not in time: of a runner that stands still. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { servingArchive } from '../support/console-place.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { runnerOf, signal } from '../support/processes.ts';
import { secondMs, TimeMachine } from '../support/time-machine.ts';

const waitMs = 20_000;
const dropped = 'gangway_http_dropped_answers_total{why="late"}';

describe('a service with a slow command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-hung-'));
  const time = new TimeMachine(join(folder, 'time'));
  let gangway: Gangway;
  let app: AppInfo;
  before(async () => {
    const env = { GANGWAY_GATEWAY_THREADS: '1', GANGWAY_ANSWER_SECONDS: '20' };
    gangway = await Gangway.open(time.options(env));
    app = await gangway.client.runningApp('Slow', servingArchive);
  });
  after(async () => {
    try {
      await gangway.end();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('answerSeconds end the wait for an answer, with an error of GraphQL', async () => {
    const home = join(gangway.dataDir, 'apps', app.id, 'home');
    const [begun, next] = [join(home, 'begun'), join(home, 'next')];
    const exec = (command: string): string =>
      `execConsole(appId: "${app.id}", command: "${command}") { exitCode }`;
    const query = `mutation { a: ${exec(`touch ${begun}; sleep 50`)} b: ${exec(`touch ${next}`)} }`;
    const answer = gangway.client.graphql(query);
    await until('the first has begun', waitMs, () => existsSync(begun));
    await time.jump(30 * secondMs);
    const { status, errors, headers } = await answer;
    assert.equal(status, 504);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    const codes = errors.map(({ extensions: { code } }) => code);
    assert.deepEqual(codes, ['DEADLINE_EXCEEDED']);
    // Whatever comes of it later is dropped, and the service lives.
    await until('the late answer is dropped', waitMs, async () => {
      const { text } = await gangway.client.ask('/metrics');
      return text.includes(`${dropped} 1\n`);
    });
    await until('it is logged', waitMs, () => gangway.logged('answer_dropped').length === 1);
    // Nobody waited for the second.
    assert.equal(existsSync(next), false);
  });
});

describe('a service whose runner stands still', () => {
  const calls = Number(process.env['HUNG_CALLS'] ?? 120);
  const seed = Number(process.env['HUNG_SEED'] ?? Date.now() % 1_000_000);
  let gangway: Gangway;
  let app: AppInfo;
  let idle: AppInfo;
  before(async () => {
    gangway = await Gangway.open();
    app = await gangway.client.runningApp('Busy', servingArchive);
    idle = await gangway.client.createApp('Idle');
  });
  after(() => gangway.end());

  const toRunner = (name: NodeJS.Signals): void => {
    const runner = runnerOf(gangway.dataDir);
    if (runner !== undefined) signal(runner.pid, name);
  };
  const exec = (command: string): string =>
    `mutation { execConsole(appId: "${app.id}", command: "${command}") { exitCode } }`;

  it('refuses a log stream of what runs, tells an open one, and opens it again afterwards', async (t) => {
    const tailOf = ({ id }: AppInfo): LogTail => {
      const url = `${gangway.url}/api/apps/${id}/logs?notices=1`;
      const tail = new LogTail(url, { cookie: gangway.client.cookie });
      t.after(() => tail.close());
      return tail;
    };
    const [open, openOfIdle] = [tailOf(app), tailOf(idle)];
    await until('two streams', waitMs, () => [open, openOfIdle].every((one) => one.sessionId));
    toRunner('SIGSTOP');
    const { status, text } = await gangway.client.ask(`/api/apps/${app.id}/logs`);
    assert.equal(status, 503);
    assert.equal((JSON.parse(text) as { code: string }).code, 'AGENT_UNREACHABLE');
    await gangway.client.must(`{ logs(appId: "${app.id}") { nodes { text } } }`);
    // What does not run has no place that could be away.
    const client = new AbortController();
    const stream = await fetch(`${gangway.url}/api/apps/${idle.id}/logs`, {
      headers: { cookie: gangway.client.cookie },
      signal: client.signal,
    });
    assert.equal(stream.status, 200);
    client.abort();
    assert.equal(await gangway.client.fails(exec('true')), 'AGENT_UNREACHABLE');
    await until('the notice', waitMs, () => open.count('notice') === 1);
    toRunner('SIGCONT');
    await until(
      'it answers',
      waitMs,
      async () => (await gangway.client.fails(exec('true'))) === undefined,
    );
    const again = new AbortController();
    const opened = await fetch(`${gangway.url}/api/apps/${app.id}/logs`, {
      headers: { cookie: gangway.client.cookie },
      signal: again.signal,
    });
    assert.equal(opened.status, 200);
    again.abort();
    await until('a second notice', waitMs, () => open.count('notice') === 2);
    const told = open.events.filter(({ event }) => event === 'notice');
    const kinds = told.map(({ data }) => (JSON.parse(data) as { kind: string }).kind);
    assert.deepEqual(kinds, ['unreachable', 'reachable']);
    assert.equal(openOfIdle.count('notice'), 0);
  });

  it(`answers ${String(calls)} calls while it stops and goes on at random (seed ${String(seed)})`, async () => {
    let state = seed;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((state / 2 ** 31) * below);
    };
    const operations = [
      exec('true'),
      '{ apps { nodes { id status } } }',
      `mutation { restartApp(id: "${app.id}") { id } }`,
      `mutation { redeploy(appId: "${app.id}") { id } }`,
      `mutation { stopApp(id: "${idle.id}") { id } }`,
      `mutation { startApp(id: "${app.id}") { id } }`,
      '{ me { id } }',
    ];
    const known = new Set([
      'AGENT_UNREACHABLE',
      'DEADLINE_EXCEEDED',
      'DEPLOY_IN_PROGRESS',
      'RATE_LIMITED',
    ]);
    const unknown: string[] = [];
    const one = async (query: string, leaves: boolean): Promise<void> => {
      const client = new AbortController();
      const asking = fetch(`${gangway.url}/api/graphql`, {
        method: 'POST',
        headers: { cookie: gangway.client.cookie, 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
        signal: client.signal,
      });
      if (leaves) {
        setTimeout(() => client.abort(), random(50));
        await asking.catch(() => undefined);
        return;
      }
      const response = await asking;
      const { errors = [] } = (await response.json()) as {
        errors?: { extensions: { code: string } }[];
      };
      for (const { extensions } of errors)
        if (!known.has(extensions.code)) unknown.push(extensions.code);
    };
    const asked: Promise<void>[] = [];
    for (let call = 0; call < calls; call++) {
      const dice = random(40);
      if (dice < 3) toRunner('SIGSTOP');
      else if (dice < 9) toRunner('SIGCONT');
      else if (dice === 9) toRunner('SIGKILL');
      asked.push(one(operations[random(operations.length)] ?? '', random(10) === 0));
      if (call % 8 === 7) await new Promise((resolve) => setTimeout(resolve, random(60)));
    }
    toRunner('SIGCONT');
    await Promise.all(asked);
    const shown = [...new Set(unknown)].join(', ');
    assert.equal(shown.replace(/NOT_RUNNING|NOT_DEPLOYABLE|OVERLOADED|(, )/g, ''), '', shown);
    assert.equal((await gangway.client.ask('/api/health')).status, 200);
  });
});
