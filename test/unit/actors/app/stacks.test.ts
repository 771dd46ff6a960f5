import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  containerLog,
  containerNames,
  containerWorkload,
} from '../../../../src/actors/app/running/containers.ts';
import type { WorkloadSpec } from '../../../../src/protocol/workload.ts';
import { appFixture } from '../../../support/app-fixture.ts';
import type { AppFixture } from '../../../support/app-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { ScriptedImages } from '../../../support/scripted-images.ts';

const compose = `
services:
  web:
    image: registry.example/site:2
    ports: ["3000"]
    environment: { KEY: "\${KEY:-none}" }
    volumes: [files:/srv]
    depends_on: { db: { condition: service_healthy }, migrate: { condition: service_completed_successfully } }
  worker: { image: registry.example/site:2, command: work, depends_on: [web] }
  migrate: { image: registry.example/site:2, command: migrate, restart: "no", depends_on: [db] }
  db: { image: "postgres:17", volumes: [files:/var/lib] }
volumes: { files: }
`;

describe('an app of a compose file', () => {
  let f: AppFixture;
  let images: ScriptedImages;
  beforeEach(async () => {
    images = new ScriptedImages();
    f = await appFixture({ images });
    f.driver.script = scripted;
  });
  afterEach(() => f.close());

  const isDb = ({ container }: WorkloadSpec): boolean => container?.aliases[0] === 'db';
  const scripted = (spec: WorkloadSpec) => {
    if (spec.kind === 'job') return { exitCode: 0 };
    return isDb(spec) ? { health: 'healthy' as const } : { probe: 'listening' as const };
  };
  const made = (input = {}) => f.create({ source: 'COMPOSE', compose, ...input });
  const deploy = async (appId: string): Promise<string> =>
    (await f.ask(appId, { type: 'redeploy', trigger: 'api' })).id;
  const deployed = async (appId: string): Promise<string> => {
    const id = await deploy(appId);
    await f.until(id, 'ready');
    return id;
  };
  const started = (): string[] =>
    f.driver.started.map(({ container }) => container?.aliases[0] ?? '');
  const logOf = (id: string): string => f.streams.text.get(`build:${id}`) ?? '';

  it('starts its services in order, and sends the traffic to the main one', async () => {
    const { id, slug } = await made();
    const deploymentId = await deployed(id);
    assert.deepEqual(started(), ['db', 'migrate', 'web', 'worker']);
    assert.deepEqual(
      images.pulled.map(({ reference }) => reference),
      [
        'postgres:17',
        'registry.example/site:2',
        'registry.example/site:2',
        'registry.example/site:2',
      ],
    );
    const [, migrate, web] = f.driver.started;
    assert.equal(web?.id, `${deploymentId}-1`);
    assert.equal(web.container?.port, 3000);
    assert.deepEqual(web.env, { PORT: '3000', APP_DATA_DIR: '/data', KEY: 'none' });
    assert.deepEqual(web.container.volumes, [
      { name: `${id}-volume-files`, path: '/srv', readOnly: false },
      { name: `${id}-data`, path: '/data' },
    ]);
    assert.equal(web.container.network, `${id}-stack`);
    assert.deepEqual(web.container.furtherNetworks, [{ name: 'team_1', aliases: [slug] }]);
    assert.deepEqual(migrate?.command, ['migrate']);
    assert.equal(migrate.kind, 'job');
    const app = f.app(id);
    assert.equal(app.status, 'active');
    assert.deepEqual(f.driver.targets(`${slug}.test`), [`127.0.0.1:${String(web.port)}`]);
    const names = containerNames(f.store, app);
    assert.deepEqual(names, ['web', 'db', 'migrate', 'worker']);
    assert.equal(containerLog(id, names, 'web'), `app:${id}`);
    assert.equal(containerLog(id, names, 'db'), `app:${id}.db`);
    assert.equal(containerWorkload(app, 'db'), f.driver.started[0]?.id);
    assert.equal(containerWorkload(app, ''), web.id);
    assert.equal(containerWorkload(app, 'other'), undefined);
  });

  it('keeps the lines of each service in its own log', async () => {
    const { id } = await made();
    f.driver.beforeStart = (spec) => {
      f.driver.output.set(spec.id, [`I am ${spec.container?.aliases[0] ?? ''}`]);
    };
    await deployed(id);
    await eventually('all lines', () => f.streams.text.size >= 5);
    assert.equal(f.streams.text.get(`app:${id}`), 'I am web\n');
    assert.equal(f.streams.text.get(`app:${id}.db`), 'I am db\n');
    assert.equal(f.streams.text.get(`app:${id}.worker`), 'I am worker\n');
  });

  it('ends what runs before the next release begins, and goes back to it when that fails', async () => {
    const { id } = await made();
    const good = await deployed(id);
    const before = f.driver.ids;
    f.driver.beforeStart = () => {
      assert.deepEqual(
        f.driver.ids.filter((one) => before.includes(one)),
        [],
        'they run side by side',
      );
    };
    f.driver.script = (spec) =>
      spec.kind === 'job' && !spec.id.startsWith(good) ? { exitCode: 3 } : scripted(spec);
    const bad = await deploy(id);
    await f.until(bad, 'failed');
    assert.match(f.deployment(bad).error ?? '', /^migrate: The app exited with code 3/);
    await eventually('the release of before', () => f.app(id).run.live?.deploymentId === good);
    assert.equal(f.app(id).status, 'active');
    await eventually('nothing of the failed one', () => f.driver.ids.length === 4);
  });

  it('says which service it waited for in vain', async () => {
    await f.close();
    f = await appFixture({ images, options: { healthTimeoutMs: 400 } });
    f.driver.script = (spec) => (isDb(spec) ? { health: 'starting' } : scripted(spec));
    const { id } = await made();
    const failed = await deploy(id);
    await f.until(failed, 'failed');
    assert.match(f.deployment(failed).error ?? '', /waited .* for db to be healthy/);
    assert.match(logOf(failed), /migrate waits for db|web waits for db to be healthy/);
  });

  it('says that a service has no health check to wait for', async () => {
    f.driver.script = (spec) => (isDb(spec) ? {} : scripted(spec));
    const { id } = await made();
    const failed = await deploy(id);
    await f.until(failed, 'failed');
    assert.equal(f.deployment(failed).error, 'db: It has no health check to wait for.');
  });

  it('takes up again what it started, after a crash', async () => {
    const { id } = await made();
    await deployed(id);
    const { ids } = f.driver;
    await f.crash();
    await eventually('the same services', () => f.app(id).status === 'active');
    assert.deepEqual(f.driver.ids, ids);
  });

  it('starts all again when one of its services is lost', async () => {
    const { id } = await made();
    await deployed(id);
    const db = containerWorkload(f.app(id), 'db') ?? '';
    f.driver.end(db, { code: 1, reason: 'lost' });
    await eventually(
      'another db',
      () => {
        const { run, status } = f.app(id);
        return status === 'active' && containerWorkload({ id, run }, 'db') !== db;
      },
      5000,
    );
    assert.equal(f.driver.ids.length, 4);
  });

  it('rolls back to the very images and text of a release', async () => {
    const { id } = await made();
    const first = await deployed(id);
    await f.ask(id, {
      type: 'update',
      patch: { compose: 'services: {one: {image: other, ports: [80]}}' },
    });
    await deployed(id);
    assert.deepEqual(containerNames(f.store, f.app(id)), ['one']);
    const rollback = await f.ask(id, {
      type: 'rollback',
      deploymentId: first,
      trigger: 'rollback',
    });
    await f.until(rollback.id, 'ready');
    assert.deepEqual(containerNames(f.store, f.app(id)), ['web', 'db', 'migrate', 'worker']);
    assert.deepEqual(f.driver.started.at(-1)?.container?.image, `ours/${first}-3`);
    assert.ok(images.kept.at(-1)?.images.includes(`ours/${first}-0`));
  });

  it('refuses a file that asks for the host, when it is set and when it is deployed', async () => {
    const evil = compose.replace('ports:', 'privileged: true\n    ports:');
    await assert.rejects(made({ compose: evil }), {
      code: 'BAD_USER_INPUT',
      message: 'services.web.privileged is not allowed.',
    });
    const { id } = await made({
      compose:
        'services: {a: {image: a, ports: ["${P:-80}"], volumes: ["${V:-v}:/x"]}}\nvolumes: {v: }',
    });
    await f.ask(id, {
      type: 'env-upsert',
      entries: [{ key: 'V', value: '/etc', isSecret: false, targets: ['production'] }],
    });
    const failed = await deploy(id);
    await f.until(failed, 'failed');
    assert.match(
      f.deployment(failed).error ?? '',
      /services\.a\.volumes\[0\] .* folders of the host are refused/,
    );
    assert.deepEqual(f.driver.started, []);
  });

  it('may be set before it is whole, and says what it lacks when it is deployed', async () => {
    const lacks = [
      ['services: {}', /at least one service/],
      ['services: {db: {environment: {A: b}}}', /services\.db needs either image or build/],
      ['services: {db: {image: a}}', /says where it listens/],
    ] as const;
    for (const [text, sentence] of lacks) {
      const { id } = await made({ compose: text });
      const failed = await deploy(id);
      await f.until(failed, 'failed');
      assert.match(f.deployment(failed).error ?? '', sentence);
    }
  });

  it('takes all of it along when it is purged', async () => {
    const { id } = await made();
    await deployed(id);
    await f.ask(id, { type: 'delete' });
    await eventually('the end of all', () => f.driver.ids.length === 0);
    for (const log of [`app:${id}`, `app:${id}.db`] as const) {
      await eventually('its end', () => f.streams.ended.includes(log));
    }
    await f.ask(id, { type: 'purge' });
    assert.deepEqual(f.streams.dropped.filter((log) => log.startsWith('app:')).sort(), [
      `app:${id}`,
      `app:${id}.db`,
      `app:${id}.migrate`,
      `app:${id}.web`,
      `app:${id}.worker`,
    ]);
  });

  it('needs a driver of containers', async () => {
    const host = await appFixture();
    try {
      const making = host.create({ source: 'COMPOSE', compose });
      await assert.rejects(making, { code: 'UNSUPPORTED_SOURCE' });
    } finally {
      await host.close();
    }
  });
});
