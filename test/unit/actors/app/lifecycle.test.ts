import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { DatabaseRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import type { AppFixture } from '../../../support/app-fixture.ts';
import { appFixture } from '../../../support/app-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

describe('the life of an app', () => {
  let f: AppFixture;
  beforeEach(async () => {
    f = await appFixture();
  });
  afterEach(() => f.close());

  const goLive = async (): Promise<string> => {
    const { id } = await f.uploaded();
    await f.until((await f.ask(id, { type: 'redeploy', trigger: 'api' })).id, 'ready');
    return id;
  };

  it('stops with its route gone, and starts again from the same release', async () => {
    const id = await goLive();
    assert.equal((await f.ask(id, { type: 'stop' })).status, 'stopped');
    await eventually('no target', () => f.driver.targets('web.test')?.length === 0);
    await eventually('nothing runs', () => f.driver.ids.length === 0);
    assert.equal((await f.ask(id, { type: 'start' })).desired, 'running');
    await eventually('active', () => f.app(id).status === 'active');
    assert.equal(f.driver.targets('web.test')?.length, 1);
    assert.notEqual(f.driver.started[0]?.id, f.driver.started[1]?.id);
    assert.equal(f.driver.started[0]?.workingDir, f.driver.started[1]?.workingDir);
  });

  it('is active after a start once the edge leads to it, also where Gangway crashes meanwhile', async (t) => {
    const id = await goLive();
    await f.ask(id, { type: 'stop' });
    await eventually('nothing runs', () => f.driver.ids.length === 0);
    const took = Promise.withResolvers<undefined>();
    t.mock.method(f.driver, 'setRoutes', () => took.promise);
    await f.ask(id, { type: 'start' });
    await eventually('it runs', () => f.app(id).run.live !== null);
    assert.equal(f.app(id).status, 'building');
    await f.crash();
    took.resolve(undefined);
    await eventually('active', () => f.app(id).status === 'active');
  });

  it('tells the edge at each step why it takes no requests', async () => {
    const vacancy = (): string | undefined =>
      f.driver.routes.find(({ host }) => host === 'web.test')?.vacancy;
    const tells = (what: string | undefined): Promise<void> =>
      eventually(`it is ${String(what)}`, () => vacancy() === what);
    const { id } = await f.uploaded();
    await tells('not_deployed');
    f.source.held = new Promise(() => undefined);
    const { id: first } = await f.ask(id, { type: 'redeploy', trigger: 'api' });
    await tells('first_deployment');
    await f.ask(id, { type: 'cancel', deploymentId: first });
    await tells('not_deployed');
    f.source.held = null;
    await f.until((await f.ask(id, { type: 'redeploy', trigger: 'api' })).id, 'ready');
    await tells(undefined);
    f.driver.setProbe(f.app(id).run.live?.workloadId ?? '', 'silent');
    f.driver.crash(f.app(id).run.live?.workloadId ?? '', 0);
    await tells('ended');
    assert.equal(f.driver.targets('web.test')?.length, 1);
    await f.ask(id, { type: 'stop' });
    await tells('stopped');
    await f.ask(id, { type: 'delete' });
    await eventually('no route', () => f.driver.targets('web.test') === undefined);
    await f.ask(id, { type: 'restore' });
    await tells('stopped');
  });

  it('restarts into a new instance while the old one serves', async () => {
    const id = await goLive();
    const before = f.app(id).run.live?.workloadId;
    assert.equal((await f.ask(id, { type: 'restart' })).status, 'active');
    await eventually('new instance', () => f.app(id).run.live?.workloadId !== before);
    assert.notEqual(f.app(id).run.live, null);
    await eventually('old gone', () => f.driver.removed.includes(before ?? ''));
  });

  it('is restarted when a database that it is told the password of has another', async () => {
    const [url, host] = [`\${database.db_1.url}`, `\${database.db_2.host}`];
    const database = (id: string) =>
      put(tables.databases, databaseOf(id) as unknown as DatabaseRecord);
    await f.store.commit({ actor: '', epoch: 0, changes: ['db_1', 'db_2'].map(database) });
    const { id } = await f.uploaded({ env: [entry('URL', url), entry('HOST', host)] });
    const rotated = (databaseId: string): Promise<boolean> =>
      f.ask(id, { type: 'database-rotated', databaseId, name: 'Data' });
    assert.equal(await rotated('db_1'), false, 'it never ran');
    const deployment = (await f.ask(id, { type: 'redeploy', trigger: 'api' })).id;
    assert.equal(await rotated('db_1'), false, 'a deployment is under way');
    await f.until(deployment, 'ready');
    const first = f.driver.started[0]?.id;
    await eventually('another one runs', () => {
      const { live } = f.app(id).run;
      return live !== null && live.workloadId !== first;
    });
    const live = f.app(id).run.live?.workloadId;
    assert.equal(await rotated('db_2'), false, 'no password of that one');
    assert.equal(f.app(id).run.live?.workloadId, live);
    await eventually('it is told once', () =>
      (f.streams.text.get(`app:${id}`) ?? '').includes('The database Data (db_1) has another'),
    );
    assert.equal(f.store.count(tables.alarms, 'due', []), 0);
    await f.ask(id, { type: 'stop' });
    assert.equal(await rotated('db_1'), false, 'it is stopped');
  });

  it('does what was asked last, however fast stops and starts follow', async () => {
    const id = await goLive();
    await f.ask(id, { type: 'stop' });
    const asked = ['start', 'stop', 'start', 'restart', 'stop', 'restart'] as const;
    const replies = await Promise.all(asked.map((type) => f.ask(id, { type })));
    assert.deepEqual(
      replies.map(({ desired }) => desired),
      asked.map((type) => (type === 'stop' ? 'stopped' : 'running')),
    );
    await eventually('active', () => f.app(id).status === 'active');
    await f.ask(id, { type: 'stop' });
    await eventually('nothing runs', () => f.driver.ids.length === 0);
  });

  it('cannot start before it was deployed, or while a deployment runs', async () => {
    const { id } = await f.uploaded();
    await assert.rejects(f.ask(id, { type: 'start' }), { code: 'NOT_DEPLOYABLE' });
    f.source.held = new Promise(() => undefined);
    await f.ask(id, { type: 'redeploy', trigger: 'api' });
    await assert.rejects(f.ask(id, { type: 'restart' }), { code: 'DEPLOY_IN_PROGRESS' });
  });

  it('ends a deployment under way when it is stopped', async () => {
    const id = await goLive();
    f.source.held = new Promise(() => undefined);
    const { id: second } = await f.ask(id, { type: 'redeploy', trigger: 'api' });
    await f.until(second, 'building');
    await f.ask(id, { type: 'stop' });
    assert.equal(f.deployment(second).status, 'canceled');
    assert.equal(f.app(id).status, 'stopped');
  });

  it('shows a crash loop as an error, and is active when it listens again', async () => {
    const id = await goLive();
    const workload = f.app(id).run.live?.workloadId ?? '';
    f.driver.setProbe(workload, 'silent');
    f.driver.crash(workload, 0);
    await eventually('error', () => f.app(id).status === 'error');
    f.driver.revive(workload, 1);
    f.driver.setProbe(workload, 'listening');
    await eventually('active', () => f.app(id).status === 'active');
  });

  it('goes to trash and comes back stopped', async () => {
    const id = await goLive();
    assert.equal(await f.ask(id, { type: 'delete' }), true);
    await eventually('log ended', () => f.streams.ended.includes(`app:${id}`));
    assert.equal(f.driver.targets('web.test'), undefined);
    assert.deepEqual(f.driver.ids, []);
    assert.equal([...f.store.scan(tables.trash)].length, 1);
    await assert.rejects(f.ask(id, { type: 'redeploy', trigger: 'api' }), { code: 'NOT_FOUND' });
    await assert.rejects(f.ask(id, { type: 'delete' }), { code: 'NOT_FOUND' });
    assert.equal(await f.ask(id, { type: 'restore' }), true);
    assert.equal(f.app(id).status, 'stopped');
    assert.equal([...f.store.scan(tables.alarms)].length, 0);
    await f.ask(id, { type: 'start' });
    await eventually('active', () => f.app(id).status === 'active');
  });

  it('is purged with everything it had', async () => {
    const id = await goLive();
    const { id: deployment } = [...f.store.scan(tables.deployments)][0] ?? { id: '' };
    await f.ask(id, { type: 'env-upsert', entries: [entry('A', '1')] });
    await assert.rejects(f.ask(id, { type: 'purge' }), { code: 'NOT_FOUND' });
    await f.ask(id, { type: 'delete' });
    assert.equal(await f.ask(id, { type: 'purge' }), true);
    for (const table of [tables.apps, tables.env, tables.trash, tables.alarms]) {
      assert.equal([...f.store.scan<unknown>(table as never)].length, 0);
    }
    assert.equal(f.store.get(tables.deployments, deployment), undefined);
    assert.ok(!existsSync(join(f.root, 'apps', id)));
    assert.ok(!existsSync(join(f.root, 'uploads', id)));
    assert.deepEqual(f.streams.dropped, [`app:${id}`, `build:${deployment}`]);
  });

  it('is purged by its alarm', async () => {
    await f.close();
    f = await appFixture({ options: { trashMs: 1 } });
    const { id } = await f.create();
    await f.ask(id, { type: 'delete' });
    await eventually('purged', () => f.store.get(tables.apps, id) === undefined);
  });

  it('seals secret values and gives them to its processes', async () => {
    const { id } = await f.uploaded({ env: [entry('TOKEN', 's3cret')] });
    const [plain] = await f.ask(id, {
      type: 'env-upsert',
      entries: [{ ...entry('MODE', 'x'), isSecret: false, targets: ['production'] }],
    });
    assert.equal(plain?.value, 'x');
    const stored = f.store.get(tables.env, [id, 'TOKEN']);
    assert.equal(stored?.value, null);
    assert.ok(!stored.masked.includes('s3cret'));
    assert.equal(await f.ask(id, { type: 'env-reveal', key: 'TOKEN' }), 's3cret');
    await f.until((await f.ask(id, { type: 'redeploy', trigger: 'api' })).id, 'ready');
    const { env } = f.driver.started[0] ?? {};
    assert.equal(env?.['TOKEN'], 's3cret');
    assert.equal(env['MODE'], 'x');
    assert.equal(await f.ask(id, { type: 'env-delete', key: 'TOKEN' }), true);
    assert.equal(await f.ask(id, { type: 'env-delete', key: 'TOKEN' }), false);
  });

  it('refuses variables that are ours, misnamed or too large', async () => {
    const { id } = await f.create();
    for (const key of ['PORT', 'APP_DATA_DIR', 'GANGWAY_X', '1A', 'A-B', '', 'a b']) {
      const entries = [entry(key, '')];
      await assert.rejects(f.ask(id, { type: 'env-upsert', entries }), { code: 'BAD_USER_INPUT' });
    }
    const large = [entry('A', 'x'.repeat(40_000))];
    await assert.rejects(f.ask(id, { type: 'env-upsert', entries: large }), /32 KiB/);
    const many = Array.from({ length: 501 }, (_, i) => entry(`V${String(i)}`, ''));
    await assert.rejects(f.ask(id, { type: 'env-upsert', entries: many }), /500 variables/);
  });

  it('takes a hook call with the right token only, and only while it is on', async () => {
    const { hashHookToken } = await import('../../../../src/actors/app/deploying/hook-token.ts');
    const { id } = await f.uploaded();
    const { token } = await f.ask(id, { type: 'hook-reveal' });
    assert.match(token, /^[A-Za-z0-9_-]{32,}$/);
    const call = (value: string) => f.ask(id, { type: 'hook', tokenHash: hashHookToken(value) });
    await assert.rejects(call('wrong'), { code: 'NOT_FOUND' });
    const { deployment, url } = await call(token);
    assert.equal(deployment.trigger, 'deploy_hook');
    assert.equal(url, 'http://web.test');
    await f.ask(id, { type: 'hook-enable', enabled: false });
    await assert.rejects(call(token), { code: 'HOOK_DISABLED' });
    await assert.rejects(call('wrong'), { code: 'NOT_FOUND' });
    const rotated = await f.ask(id, { type: 'hook-rotate' });
    assert.notEqual(rotated.token, token);
    await f.ask(id, { type: 'hook-enable', enabled: true });
    await assert.rejects(call(token), { code: 'NOT_FOUND' });
    await call(rotated.token);
  });

  it('refuses a repository that nothing can be fetched from, at first and later', async () => {
    const from = (repository: string) => ({
      git: { connectionId: null, repository, branch: 'main', path: null },
    });
    const good = 'https://git.example/acme/shop.git';
    const { id } = await f.create({ source: 'GIT', ...from(good) });
    for (const [repository, words] of [
      ['ssh://git@git.example/acme/shop.git', /not by ssh/],
      ['file:///etc', /Only https/],
      ['https://127.0.0.1/acme/shop.git', /not public/],
      ['acme/shop', /must be an address/],
    ] as const) {
      const refused = { code: 'BAD_USER_INPUT', message: words };
      await assert.rejects(f.create({ source: 'GIT', ...from(repository) }), refused);
      await assert.rejects(f.ask(id, { type: 'update', patch: from(repository) }), refused);
    }
    assert.equal(f.app(id).git?.repository, good);
  });

  it('keeps nothing of a source that was fetched in part', async () => {
    await f.close();
    f = await appFixture({
      fetch: ({ archive }) => {
        writeFileSync(archive, 'a part');
        return Promise.reject(new ServiceError('GIT_FAILED', 'It is too large.'));
      },
    });
    const repository = 'https://git.example/acme/shop.git';
    const git = { connectionId: null, repository, branch: 'main', path: null };
    const { id } = await f.create({ source: 'GIT', git });
    const deployment = await f.ask(id, { type: 'redeploy', trigger: 'api' });
    await f.until(deployment.id, 'failed');
    await eventually('it is gone', () => readdirSync(join(f.root, 'uploads', id)).length === 0);
  });

  it('gives no app the host of the panel', async () => {
    const named = await Promise.all(['Panel', 'panel'].map((name) => f.create({ name })));
    assert.deepEqual(named.map(({ slug }) => slug).sort(), ['panel-2', 'panel-3']);
  });

  it('gives every app a slug and a uid of its own', async () => {
    await f.close();
    f = await appFixture({
      machine: {
        uids: {
          app: { first: 300_000, last: 300_009 },
          database: { first: 300_000, last: 300_009 },
        },
      },
    });
    const apps = await Promise.all(
      Array.from({ length: 4 }, () => f.create({ name: 'Ünïque Näme' })),
    );
    const slugs = apps.map(({ slug }) => slug).sort();
    assert.deepEqual(slugs, ['unique-name', 'unique-name-2', 'unique-name-3', 'unique-name-4']);
    assert.equal(new Set(apps.map(({ uid }) => uid)).size, 4);
    assert.ok(apps.every(({ uid }) => uid >= 300_000 && uid <= 300_009));
  });

  it('makes a crowd of apps at once, of one name too', async () => {
    await f.close();
    f = await appFixture({
      machine: {
        uids: {
          app: { first: 300_000, last: 399_999 },
          database: { first: 300_000, last: 399_999 },
        },
      },
    });
    const apps = await Promise.all(
      Array.from({ length: 120 }, (_, number) =>
        f.create({ name: number % 2 === 0 ? 'Same' : `Other ${String(number)}` }),
      ),
    );
    assert.equal(new Set(apps.map(({ slug }) => slug)).size, 120);
    assert.equal(new Set(apps.map(({ uid }) => uid)).size, 120);
    // Who shares no name keeps its own.
    assert.ok(
      apps.every(({ slug }, number) => number % 2 === 0 || slug === `other-${String(number)}`),
    );
  });
});

function entry(key: string, value: string) {
  return { key, value, isSecret: true, targets: [] };
}

/** A PostgreSQL that runs. */
function databaseOf(id: string) {
  return {
    id,
    teamId: 'team_1',
    serverId: 'srv_local',
    name: 'Data',
    engine: 'POSTGRES',
    status: 'running',
    deletedAtMs: null,
    databaseName: 'app',
    username: 'app',
    passwordSealed: Buffer.from(''),
    nextPasswordSealed: null,
    adminSealed: Buffer.from(''),
    run: { port: 5432 },
    uid: 0,
  };
}
