import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { newId } from '../../../../../src/lib/ids.ts';
import { put } from '../../../../../src/store/records/table.ts';
import { tables } from '../../../../../src/store/records/tables.ts';
import type { AppFixture } from '../../../../support/app-fixture.ts';
import { appFixture } from '../../../../support/app-fixture.ts';
import { eventually } from '../../../../support/eventually.ts';

describe('deployments of an app', () => {
  let f: AppFixture;
  beforeEach(async () => {
    f = await appFixture();
  });
  afterEach(() => f.close());

  const redeploy = (appId: string) => f.ask(appId, { type: 'redeploy', trigger: 'api' });

  it('takes an upload all the way to a live instance', async () => {
    const { id } = await f.uploaded();
    const { id: first, status } = await redeploy(id);
    assert.equal(status, 'queued');
    await f.until(first, 'ready');
    const app = f.app(id);
    assert.equal(app.status, 'active');
    assert.equal(app.desired, 'running');
    assert.equal(app.liveDeploymentId, first);
    assert.deepEqual(f.driver.targets('web.test'), [`127.0.0.1:${String(app.run.live?.port)}`]);
    const [service] = f.driver.started;
    assert.equal(service?.env['PORT'], String(app.run.live?.port));
    assert.match(service.env['APP_DATA_DIR'] ?? '', /\/data$/);
    assert.deepEqual(f.deployment(first).plan, {
      kind: 'static',
      startCommand: null,
      staticDir: '.',
    });
    await eventually('log ended', () => f.streams.ended.includes(`build:${first}`));
  });

  it('returns the waiting deployment to whoever asks while it waits, and queues one behind it', async () => {
    const { id } = await f.uploaded();
    let letGo = (): void => undefined;
    f.source.held = new Promise((resolve) => {
      letGo = resolve;
    });
    const first = await redeploy(id);
    await f.until(first.id, 'building');
    const behind = await Promise.all([redeploy(id), redeploy(id), redeploy(id)]);
    assert.equal(new Set(behind.map((one) => one.id)).size, 1);
    assert.notEqual(behind[0].id, first.id);
    letGo();
    await f.until(behind[0].id, 'ready');
    assert.equal(f.deployment(first.id).status, 'ready');
  });

  it('keeps the old instance until the new one has the traffic, then ends it', async () => {
    const { id } = await f.uploaded();
    await f.until((await redeploy(id)).id, 'ready');
    const old = f.app(id).run.live;
    await f.until((await redeploy(id)).id, 'ready');
    assert.ok(
      f.driver.routed.every(
        (routes) => routes.every((r) => r.targets.length === 1) || routes[0]?.targets.length === 0,
      ),
    );
    await eventually('old gone', () => f.driver.removed.includes(old?.workloadId ?? ''));
    await eventually('no drain', () => f.app(id).run.draining.length === 0);
  });

  it('tells the last words of an instance that did not start, and of no other', async () => {
    await f.close();
    f = await appFixture({ options: { healthTimeoutMs: 400 } });
    const { id } = await f.uploaded();
    const { id: first } = await redeploy(id);
    await f.until(first, 'ready');
    const lines = Array.from({ length: 100 }, (_, i) => `new ${String(i + 1)}`);
    for (const crashes of [true, false]) {
      f.driver.script = ({ id: workload }) => {
        f.driver.output.set(workload, [...lines, `last ${'x'.repeat(5000)}`]);
        f.driver.output.set(f.app(id).run.live?.workloadId ?? '', ['from the old one']);
        if (!crashes) return { probe: 'silent' };
        setImmediate(() => {
          f.driver.crash(workload, 2, { code: 7 });
        });
        return {};
      };
      const { id: failing } = await redeploy(id);
      await f.until(failing, 'failed');
      const log = (): string => f.streams.text.get(`build:${failing}`) ?? '';
      await eventually('log', () => log().includes('Failed: '));
      assert.match(log(), /What the app itself wrote last:\nstdout: new 62\n/);
      assert.match(log(), /stdout: new 100\nstdout: last x{2043}\nFailed: The app /);
      assert.doesNotMatch(log(), /new 61|old one/);
    }
    f.driver.script = () => ({ exitCode: 1 });
    const { id: silent } = await redeploy(id);
    await f.until(silent, 'failed');
    await eventually('log', () => f.streams.ended.includes(`build:${silent}`));
    assert.match(
      f.streams.text.get(`build:${silent}`) ?? '',
      /The app itself wrote nothing\.\nFailed/,
    );
  });

  it('fails a build with its exit code and leaves nothing behind', async () => {
    f.source.files = { 'package.json': '{"scripts":{"build":"x","start":"y"}}' };
    f.driver.script = () => ({ exitCode: 3 });
    const { id } = await f.uploaded();
    const { id: first } = await redeploy(id);
    await f.until(first, 'failed');
    assert.equal(f.deployment(first).error, 'The build failed with exit code 3.');
    assert.equal(f.app(id).status, 'error');
    await eventually('log ended', () => f.streams.ended.includes(`build:${first}`));
    assert.deepEqual(f.releases(id), []);
    assert.deepEqual(f.driver.ids, []);
  });

  it('fails what never listens, says so, and leaves the old instance serving', async () => {
    await f.close();
    f = await appFixture({ options: { healthTimeoutMs: 400 } });
    const { id } = await f.uploaded();
    await f.until((await redeploy(id)).id, 'ready');
    const live = f.app(id).run.live?.workloadId;
    f.driver.script = () => ({ probe: 'silent' });
    const { id: second } = await redeploy(id);
    await f.until(second, 'failed');
    assert.match(f.deployment(second).error ?? '', /not healthy within .* nothing listened/);
    assert.equal(f.app(id).run.live?.workloadId, live);
    assert.equal(f.app(id).status, 'active');
    f.driver.listening = [{ address: '127.0.0.1', port: 8000 }];
    const { id: third } = await redeploy(id);
    await f.until(third, 'failed');
    assert.match(f.deployment(third).error ?? '', /: it listens on port 8000 .*, not on PORT \d+/);
    const log = f.streams.text.get(`build:${third}`) ?? '';
    assert.match(log, /It listens on port 8000 .*, not on PORT \d+\.\n[^]*Failed: /);
    await eventually('gone', () => f.app(id).run.draining.length === 0);
    assert.deepEqual(f.driver.ids, [live]);
  });

  it('tries another port when a stranger listens on the chosen one', async () => {
    let tries = 0;
    f.driver.script = () => ({ probe: ++tries === 1 ? 'foreign' : 'listening' });
    const { id } = await f.uploaded();
    await f.until((await redeploy(id)).id, 'ready');
    assert.equal(tries, 2);
  });

  it('cancels what builds, and removes its job and its release', async () => {
    f.source.files = { 'package.json': '{"scripts":{"build":"x","start":"y"}}' };
    f.driver.script = () => ({});
    const { id } = await f.uploaded();
    const { id: first } = await redeploy(id);
    await eventually('job runs', () => f.driver.started.length === 1);
    assert.equal(await f.ask(id, { type: 'cancel', deploymentId: first }), true);
    assert.equal(f.deployment(first).status, 'canceled');
    await eventually('job gone', () => f.driver.ids.length === 0);
    await eventually('log ended', () => f.streams.ended.includes(`build:${first}`));
    assert.equal(f.app(id).status, 'idle');
    assert.equal(await f.ask(id, { type: 'cancel', deploymentId: first }), false);
    await assert.rejects(f.ask(id, { type: 'cancel', deploymentId: 'dpl_none' }), {
      code: 'NOT_FOUND',
    });
  });

  it('refuses to deploy without an upload', async () => {
    const { id } = await f.create();
    await assert.rejects(redeploy(id), { code: 'NOT_DEPLOYABLE' });
  });

  it('makes no app whose source this server cannot run, and says what it needs', async () => {
    for (const [made, message] of [
      [{ source: 'IMAGE', image: 'nginx:1' }, /^An app with source IMAGE needs the docker runtime/],
      [
        { source: 'COMPOSE', compose: 'services: {}' },
        /^An app with source COMPOSE needs the docker/,
      ],
    ] as const) {
      await assert.rejects(f.create(made), { code: 'UNSUPPORTED_SOURCE', message });
    }
    // What is wrong with it in itself is said first.
    await assert.rejects(f.create({ source: 'IMAGE' }), { code: 'BAD_USER_INPUT' });
    assert.equal(f.store.count(tables.apps, 'slug', []), 0);
  });

  it('refuses to deploy what was made while there were containers', async () => {
    const { id } = await f.create();
    const image = { ...f.app(id), source: 'IMAGE', image: 'nginx:1' } as const;
    await f.store.commit({ actor: '', epoch: 0, changes: [put(tables.apps, image)] });
    await f.crash();
    await assert.rejects(redeploy(id), { code: 'UNSUPPORTED_SOURCE' });
  });

  it('keeps the last three releases and rolls back to a kept one without building', async () => {
    const { id } = await f.uploaded();
    const made: string[] = [];
    for (let i = 0; i < 4; i++) {
      const { id: deployment } = await redeploy(id);
      await f.until(deployment, 'ready');
      made.push(deployment);
    }
    const [gone = '', second = ''] = made;
    await eventually('pruned', () => f.deployment(gone).release === null);
    await eventually('folders gone', () => f.releases(id).length === 3);
    await assert.rejects(f.ask(id, { type: 'rollback', deploymentId: gone, trigger: 'api' }), {
      code: 'NOT_DEPLOYABLE',
    });
    const back = await f.ask(id, { type: 'rollback', deploymentId: second, trigger: 'api' });
    assert.equal(back.trigger, 'rollback');
    await f.until(back.id, 'ready');
    assert.equal(f.app(id).liveDeploymentId, back.id);
    assert.equal(f.deployment(back.id).release, second);
    assert.match(f.driver.started.at(-1)?.workingDir ?? '', new RegExp(`${second}$`));
  });

  it('keeps 200 deployments of an app, with their logs, whether they succeed or fail', async () => {
    const { id } = await f.uploaded();
    const { id: live } = await redeploy(id);
    await f.until(live, 'ready');
    const template = { ...f.deployment(live), status: 'failed', release: null } as const;
    const past = Array.from({ length: 250 }, (_, i) => newId('dpl', i + 1));
    f.store.write(past.map((one) => put(tables.deployments, { ...template, id: one })));
    const count = (): number => f.store.count(tables.deployments, 'app', [id]);
    const { id: next } = await redeploy(id);
    await f.until(next, 'ready');
    assert.equal(count(), 200);
    await eventually('logs dropped', () => f.streams.dropped.includes(`build:${past[0] ?? ''}`));
    // The one that serves is the oldest now, and what follows comes to nothing.
    const later = Array.from({ length: 230 }, (_, i) => newId('dpl', Date.now() + i));
    f.store.write(later.map((one) => put(tables.deployments, { ...template, id: one })));
    f.driver.script = () => ({ exitCode: 1 });
    f.source.files = { 'package.json': '{"scripts":{"build":"x","start":"y"}}' };
    const { id: bad } = await redeploy(id);
    await f.until(bad, 'failed');
    // With itself and the two releases that are kept, however old.
    assert.ok(count() <= 203, String(count()));
    assert.equal(f.app(id).liveDeploymentId, next);
    for (const one of [live, next]) assert.notEqual(f.deployment(one).release, null);
  });

  it('lets a rollback take the place of a deployment that waits', async () => {
    const { id } = await f.uploaded();
    const first = await redeploy(id);
    await f.until(first.id, 'ready');
    let letGo = (): void => undefined;
    f.source.held = new Promise((resolve) => {
      letGo = resolve;
    });
    await f.until((await redeploy(id)).id, 'building');
    const waits = await redeploy(id);
    const back = await f.ask(id, { type: 'rollback', deploymentId: first.id, trigger: 'api' });
    assert.equal(f.deployment(waits.id).status, 'superseded');
    letGo();
    await f.until(back.id, 'ready');
  });

  it('builds no more at a time than the server allows, the oldest first', async () => {
    await f.close();
    f = await appFixture({ concurrency: 1 });
    let letGo = (): void => undefined;
    f.source.held = new Promise((resolve) => {
      letGo = resolve;
    });
    const a = await f.uploaded();
    const b = await f.uploaded();
    const first = await redeploy(a.id);
    await f.until(first.id, 'building');
    const second = await redeploy(b.id);
    assert.equal(f.app(b.id).status, 'queued');
    assert.notEqual(a.slug, b.slug);
    letGo();
    await f.until(second.id, 'ready');
    await f.until(first.id, 'ready');
  });

  it('lets an app sleep while its deployment is in line, wakes it in turn, and can cancel it', async () => {
    await f.close();
    f = await appFixture({ concurrency: 1, idleMax: 0 });
    let letGo = (): void => undefined;
    f.source.held = new Promise((resolve) => {
      letGo = resolve;
    });
    const builds = await f.uploaded();
    const first = await redeploy(builds.id);
    await f.until(first.id, 'building');
    const [b, c] = [await f.uploaded(), await f.uploaded()];
    const [canceled, last] = [await redeploy(b.id), await redeploy(c.id)];
    // Whoever comes newly sends those with nothing to do to sleep; the edge never does.
    await eventually('they sleep', () => {
      void f.ask(newId('app'), { type: 'wake' });
      return f.runtime().stats().actors <= 3;
    });
    assert.equal(await f.ask(b.id, { type: 'cancel', deploymentId: canceled.id }), true);
    await eventually('its log ends', () => f.streams.ended.includes(`build:${canceled.id}`));
    assert.equal(f.streams.text.get(`build:${canceled.id}`), 'Canceled.\n');
    assert.equal(f.deployment(last.id).status, 'queued');
    letGo();
    await f.until(last.id, 'ready');
    assert.equal(f.deployment(canceled.id).status, 'canceled');
  });

  it('answers a storm of calls with one deployment under way and one behind it', async () => {
    const { id } = await f.uploaded();
    let letGo = (): void => undefined;
    f.source.held = new Promise((resolve) => {
      letGo = resolve;
    });
    const answers = await Promise.all(Array.from({ length: 500 }, () => redeploy(id)));
    const ids = new Set(answers.map((answer) => answer.id));
    assert.equal(ids.size, 2);
    letGo();
    for (const deployment of ids) await f.until(deployment, 'ready');
  });

  it('keeps a waiting deployment back until the upload ends, and then builds the new archive', async () => {
    const { id } = await f.uploaded();
    const { dir, name } = await f.ask(id, { type: 'upload-begin', uploadId: 'u2' });
    const { id: waits } = await redeploy(id);
    await assert.rejects(f.ask(id, { type: 'upload-begin', uploadId: 'u3' }), {
      code: 'UPLOAD_IN_PROGRESS',
    });
    assert.equal(f.deployment(waits).status, 'queued');
    await writeFile(join(dir, name), 'archive');
    const upload = {
      filename: 'n.zip',
      sizeBytes: 1,
      sha256: '',
      format: 'zip',
      uploadedAtMs: 2,
      blob: 'blob-2',
    } as const;
    await f.ask(id, { type: 'upload-commit', uploadId: 'u2', upload });
    await f.until(waits, 'ready');
    assert.equal(f.deployment(waits).upload?.blob, 'blob-2');
  });

  it('refuses an upload while a deployment runs, and takes it afterwards', async () => {
    const { id } = await f.uploaded();
    let letGo = (): void => undefined;
    f.source.held = new Promise((resolve) => {
      letGo = resolve;
    });
    const { id: first } = await redeploy(id);
    await f.until(first, 'building');
    await assert.rejects(f.ask(id, { type: 'upload-begin', uploadId: 'u' }), {
      code: 'DEPLOY_IN_PROGRESS',
    });
    letGo();
    await f.until(first, 'ready');
    await f.ask(id, { type: 'upload-begin', uploadId: 'u' });
    assert.equal(await f.ask(id, { type: 'upload-abort', uploadId: 'u' }), true);
    assert.equal(await f.ask(id, { type: 'upload-abort', uploadId: 'u' }), false);
  });
});
