import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { pushDefinition } from '../../../../src/actors/push/actor.ts';
import { BulkPool } from '../../../../src/archives/receiving/bulk-pool.ts';
import { gitPushRoutes } from '../../../../src/gateway/transports/git-push.ts';
import { Transfers } from '../../../../src/gateway/transports/transfers.ts';
import { flushPacket } from '../../../../src/git/pkt-line.ts';
import { GitPushes, type PushLimits, pushLimits } from '../../../../src/git/pushes/pushes.ts';
import { Repositories } from '../../../../src/git/repositories/repository.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { person } from '../../../support/accounts-fixture.ts';
import { type AppFixture, appFixture } from '../../../support/app-fixture.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { eventually, found } from '../../../support/eventually.ts';
import { git } from '../../../support/git-server.ts';
import { localPrograms } from '../../../support/local-programs.ts';
import { needs } from '../../../support/programs.ts';
import { noLog } from '../../../support/runner.ts';

describe('what a push by git may take', { skip: needs('git') }, () => {
  let f: AppFixture;
  let gateway: TestGateway;
  let bulk: BulkPool;
  let programs: ReturnType<typeof localPrograms>;
  let work: string;
  let url: string;
  let appId: string;

  const serve = async (changed: Partial<PushLimits> = {}): Promise<void> => {
    const limits = { ...pushLimits, ...changed };
    const driver = programs;
    const root = join(f.root, 'pushed');
    const repositories = new Repositories({ root, driver, uids: null, logger: noLog });
    const parts = { reader: f.store, clock: systemClock, pushesRoot: join(f.root, 'pushes') };
    f.runtime().register(pushDefinition({ ...parts, pushes: new GitPushes(repositories, limits) }));
    gateway = await startGateway(
      gitPushRoutes({
        ...{ ...parts, actors: f.runtime(), bulk, limits, logger: noLog },
        callers: { basic: () => person('usr_1') },
        authorize: () => undefined,
        transfers: new Transfers(),
        logs: f.streams.reader,
      }),
    );
    const source = { connectionId: null, repository: 'push', branch: 'main', path: null };
    ({ id: appId } = await f.create({ source: 'GIT', git: source }));
    // What is taken is the question here, not what becomes of it.
    await f.ask(appId, { type: 'update', patch: { autoDeploy: false } });
    url = `${gateway.url}/git/${appId}.git`;
  };
  beforeEach(async () => {
    f = await appFixture();
    programs = localPrograms();
    const temporaryDir = join(f.root, 'tmp');
    bulk = new BulkPool({ temporaryDir, logger: noLog, clock: systemClock, lanes: 1 });
    work = join(f.root, 'work');
    git(f.root, 'init', '--quiet', '--initial-branch=main', 'work');
  });
  afterEach(async () => {
    await gateway.close();
    await bulk.close();
    await f.close();
  });

  /** A commit with so many bytes that nothing makes fewer. */
  const commit = (bytes: number, ...args: string[]): void => {
    writeFileSync(join(work, 'noise'), randomBytes(bytes));
    git(work, 'add', '--all');
    git(work, 'commit', '--quiet', '-m', 'Change', ...args);
  };
  const push = (...args: string[]) => pushRefs(['main'], ...args);
  const pushRefs = (refs: string[], ...args: string[]): Promise<{ code: number; said: string }> => {
    const env = { PATH: process.env['PATH'], HOME: work, GIT_TERMINAL_PROMPT: '0' };
    return new Promise((resolve) => {
      execFile('git', ['push', ...args, url, ...refs], { cwd: work, env }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), said: `${out}${err}` });
      });
    });
  };
  const left = (): string[] => {
    const folder = join(f.root, 'pushes', appId);
    return existsSync(folder) ? readdirSync(folder) : [];
  };

  it('is refused by its bytes, and nothing of it stays', async () => {
    await serve({ pushBytes: 50_000 });
    commit(10_000);
    const small = await push();
    assert.equal(small.code, 0, small.said);
    assert.match(small.said, /^remote: The app is not deployed by itself/m);
    commit(60_000);
    const large = await push();
    assert.notEqual(large.code, 0);
    assert.match(large.said, /413/);
    assert.deepEqual(left(), []);
    assert.deepEqual(
      programs.removed,
      programs.started.map(({ id }) => id),
    );
  });

  it('is bounded by git too, which counts what the bytes become', async () => {
    await serve();
    commit(10_000);
    await push();
    const limits = programs.ran.flatMap(({ command }) =>
      command.filter((one) => one.startsWith('receive.maxInputSize=')),
    );
    assert.deepEqual(limits, [`receive.maxInputSize=${String(pushLimits.pushBytes)}`]);
  });

  it('is refused when the repository of the app is full', async () => {
    await serve({ keptBytes: 100_000 });
    commit(90_000);
    assert.equal((await push()).code, 0);
    commit(20_000);
    assert.equal((await push()).code, 0);
    commit(10);
    const full = await push();
    assert.notEqual(full.code, 0);
    assert.match(full.said, /413/);
    // Who doesn't ask for the branches first gets no further.
    const answer = await fetch(`${url}/git-receive-pack`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-git-receive-pack-request' },
      body: flushPacket,
    });
    assert.match(await answer.text(), /The repository of the app has/);
  });

  it('drops what no branch leads to before anything is refused', async () => {
    await serve({ keptBytes: 100_000 });
    commit(60_000);
    assert.equal((await push()).code, 0);
    commit(60_000, '--amend');
    assert.equal((await push('--force')).code, 0);
    commit(10);
    const { code, said } = await push();
    assert.equal(code, 0, said);
  });

  it('deploys only what changes something that the app watches', async () => {
    await serve();
    const git = { connectionId: null, repository: 'push', branch: 'main', path: null };
    const watched = { ...git, watchPaths: ['src'] };
    await f.ask(appId, { type: 'update', patch: { git: watched } });
    commit(10);
    await push();
    await f.ask(appId, { type: 'update', patch: { autoDeploy: true } });
    commit(10);
    assert.match((await push()).said, /^remote: It changes nothing that the app watches\./m);
    assert.equal(f.app(appId).latestDeploymentId, null);
    mkdirSync(join(work, 'src'));
    writeFileSync(join(work, 'src', 'a'), 'a');
    commit(10);
    assert.doesNotMatch((await push()).said, /It changes nothing/);
    assert.notEqual(f.app(appId).latestDeploymentId, null);
  });

  it('shows other branches by previews, as far as the app wants them', async () => {
    await serve();
    await f.ask(appId, { type: 'update', patch: { previewBranches: ['feat/*'] } });
    commit(10);
    const phases = (): Record<string, string> =>
      Object.fromEntries(
        f.store.list(tables.previews, 'app', [appId]).map(({ branch, phase }) => [branch, phase]),
      );
    const first = await pushRefs(['main:feat/a', 'main:fix/b']);
    assert.match(first.said, /^remote: feat\/a gets a preview\./m);
    assert.deepEqual(phases(), { 'feat/a': 'open' });
    const [preview] = f.store.list(tables.previews, 'app', [appId]);
    const head = git(work, 'rev-parse', 'main').trim();
    assert.deepEqual([preview?.commitSha, preview?.pusher], [head, null]);
    // What a preview shows is pushed to its app.
    const { id = '' } = preview ?? {};
    await eventually('made', () => f.store.get(tables.apps, id) !== undefined);
    const own = url.replace(appId, id);
    const env = { PATH: process.env['PATH'], HOME: work, GIT_TERMINAL_PROMPT: '0' };
    const refused = await new Promise<string>((resolve) => {
      execFile('git', ['push', own, 'main'], { cwd: work, env }, (_error, out, err) =>
        resolve(out + err),
      );
    });
    assert.match(refused, /not deployed from what is pushed here|409/);
    const many = Array.from({ length: 30 }, (_, i) => `main:feat/${String(i)}`);
    assert.equal((await pushRefs(many)).code, 0);
    assert.equal(Object.keys(phases()).length, 6);
    // Of six one had to make room.
    const open = await found('five', () => {
      const all = Object.entries(phases()).filter(([, phase]) => phase === 'open');
      return all.length === 5 ? all[0]?.[0] : undefined;
    });
    const { said } = await pushRefs([`:${open}`, ':fix/b']);
    assert.ok(said.includes(`The preview of ${open} is closed.`), said);
    await eventually('closed', () => phases()[open] === 'closed');
  });

  it('ends with its time, and is not deployed', async () => {
    const { pipe } = programs;
    programs.pipe = async (id, program, input, signal) => {
      const isReceiving =
        program.command.includes('receive-pack') && !program.command.includes('--advertise-refs');
      if (!isReceiving) return await pipe(id, program, input, signal);
      return await pipe(id, { ...program, command: ['sleep', '60'] }, null, signal);
    };
    await serve({ receiveMs: 200 });
    await f.ask(appId, { type: 'update', patch: { autoDeploy: true } });
    commit(10);
    const late = await push();
    assert.notEqual(late.code, 0);
    assert.match(late.said, /took too long/);
    assert.equal(f.app(appId).latestDeploymentId, null);
    assert.deepEqual(left(), []);
    assert.deepEqual(
      programs.removed,
      programs.started.map(({ id }) => id),
    );
  });
});
