import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { emptyBuild } from '../../../../src/actors/app/settings/validate.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appFixture } from '../../../support/app-fixture.ts';
import type { AppFixture } from '../../../support/app-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { ScriptedImages } from '../../../support/scripted-images.ts';

describe('an app on a driver of containers', () => {
  let f: AppFixture;
  let images: ScriptedImages;
  beforeEach(async () => {
    images = new ScriptedImages();
    f = await appFixture({ images });
  });
  afterEach(() => f.close());

  const deploy = async (appId: string): Promise<string> =>
    (await f.ask(appId, { type: 'redeploy', trigger: 'api' })).id;
  const deployed = async (appId: string): Promise<string> => {
    const id = await deploy(appId);
    await f.until(id, 'ready');
    return id;
  };
  const variable = (key: string, value: string, isSecret: boolean) => ({
    key,
    value,
    isSecret,
    targets: ['production' as const],
  });
  const logOf = (id: string): string => f.streams.text.get(`build:${id}`) ?? '';

  it('builds its Dockerfile, and starts the image with its data, network and port', async () => {
    f.source.files = { Dockerfile: 'FROM base\nARG TOKEN=x\nARG OTHER', 'a.txt': '' };
    images.onBuild = () => ({ ports: [3000], lines: ['Step 1/1 : FROM base'] });
    const env = [variable('TOKEN', 'shh', true), variable('KEY', 'v', true)];
    const { id } = await f.uploaded({ env: [...env] });
    const deploymentId = await deployed(id);
    const [build] = images.built;
    assert.deepEqual(build?.dockerfile, { path: 'Dockerfile' });
    assert.equal(build.name, deploymentId);
    assert.deepEqual(build.buildArgs, { TOKEN: 'shh' });
    const [spec] = f.driver.started;
    assert.deepEqual(spec?.container, {
      image: `ours/${deploymentId}`,
      port: 3000,
      volumes: [{ name: `${id}-data`, path: '/data' }],
      network: 'team_1',
      reachedAt: 'address',
      aliases: ['web'],
    });
    assert.deepEqual(spec.command, []);
    assert.deepEqual(spec.env, { TOKEN: 'shh', KEY: 'v', APP_DATA_DIR: '/data', PORT: '3000' });
    assert.equal(spec.uid, null);
    assert.match(
      logOf(deploymentId),
      /Found Dockerfile\.\nStep 1\/1 : FROM base\nStarting .* 3000/,
    );
    assert.equal(f.app(id).run.live?.image, `ours/${deploymentId}`);
    assert.deepEqual(f.releases(id), [], 'the source is in the image');
  });

  it('sends the traffic to the address that an instance has, and to loopback where it has none', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    images.onBuild = () => ({ ports: [3000] });
    f.driver.script = () => ({
      probe: 'listening',
      address: { host: '172.20.0.9', port: 3000 },
    });
    const { id } = await f.uploaded();
    await deployed(id);
    assert.deepEqual(f.driver.targets('web.test'), ['172.20.0.9:3000']);
    f.driver.script = () => ({ probe: 'listening' });
    await deployed(id);
    const { port } = f.app(id).run.live ?? {};
    assert.deepEqual(f.driver.targets('web.test'), [`127.0.0.1:${String(port)}`]);
  });

  it('gives the app the chosen port where the image names none, or several', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    await deployed(id);
    const [first] = f.driver.started;
    assert.equal(first?.env['PORT'], String(first?.port));
    assert.equal(first.container?.port, null);
    images.onBuild = () => ({ ports: [80, 443] });
    const second = await deployed(id);
    assert.equal(f.driver.started[1]?.container?.port, null);
    assert.match(logOf(second), /names the ports 80, 443/);
    await f.ask(id, { type: 'update', patch: { build: { port: 443 } } });
    await deployed(id);
    assert.equal(f.driver.started[2]?.env['PORT'], '443');
  });

  it('writes a Dockerfile where there is none, and starts what that says', async () => {
    f.source.files = {
      'package.json': JSON.stringify({ scripts: { start: 'node a.js' }, dependencies: { a: '1' } }),
      'package-lock.json': '{}',
      'node_modules/a/index.js': '',
      'a.js': '',
    };
    const env = [variable('SHOWN', '1', false), variable('HIDDEN', '2', true)];
    const { id } = await f.uploaded({ env: [...env], build: { nodeVersion: '20.x' } });
    const deploymentId = await deployed(id);
    const [build] = images.built;
    assert.match(build?.text ?? '', /^FROM node:20-slim\n/);
    assert.match(build?.text ?? '', /ARG SHOWN/);
    assert.doesNotMatch(build?.text ?? '', /HIDDEN/);
    assert.deepEqual(build?.buildArgs, { SHOWN: '1' });
    assert.ok(!build.files.includes('node_modules'), 'what is installed anew is not sent');
    assert.deepEqual(f.driver.started[0]?.command, [], 'the image says how it starts');
    assert.match(logOf(deploymentId), /Found package\.json\./);
    assert.equal(f.deployment(deploymentId).plan?.kind, 'node');
  });

  it('serves static files with our own server, whatever .dockerignore says', async () => {
    f.source.files = { 'index.html': 'hi', '.dockerignore': '*' };
    const { id } = await f.uploaded();
    await deployed(id);
    const [build] = images.built;
    assert.ok(build?.files.includes('.gangway'));
    assert.match(build?.ignore ?? '', /\n!\.gangway\n$/);
    assert.match(build?.text ?? '', /CMD \["node",".*static-server\.mjs","\/app"\]/);
  });

  it('prefers configured commands to a Dockerfile, and a configured Dockerfile to both', async () => {
    f.source.files = { Dockerfile: 'FROM own', 'docker/x': 'FROM x', 'package.json': '{}' };
    const { id } = await f.uploaded({ build: { buildCommand: 'make', startCommand: './run' } });
    await deployed(id);
    assert.match(images.built[0]?.text ?? '', /RUN \["\/bin\/sh","-ec","make"\]/);
    await f.ask(id, { type: 'update', patch: { build: { dockerfile: 'docker/x' } } });
    await deployed(id);
    assert.equal(images.built[1]?.text, 'FROM x');
    assert.deepEqual(f.driver.started[1]?.command, ['/bin/sh', '-c', 'exec ./run']);
    const startOnly = { ...emptyBuild, startCommand: './run' };
    await f.ask(id, { type: 'update', patch: { build: startOnly } });
    await deployed(id);
    assert.equal(images.built[2]?.text, 'FROM own');
    assert.deepEqual(f.driver.started[2]?.command, ['/bin/sh', '-c', 'exec ./run']);
  });

  it('fails with the reason of a build, and keeps what serves', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    const good = await deployed(id);
    images.onBuild = () => {
      throw new ServiceError('IMAGE_BUILD_FAILED', 'The build failed: make returned 2.');
    };
    const failed = await deploy(id);
    await f.until(failed, 'failed');
    assert.equal(f.deployment(failed).error, 'The build failed: make returned 2.');
    assert.match(logOf(failed), /Failed: The build failed: make returned 2\./);
    assert.equal(f.app(id).run.live?.deploymentId, good);
    assert.equal(f.app(id).status, 'active');
    await eventually('its source is gone', () => f.releases(id).length === 0);
  });

  it('says why one of its own steps failed', async () => {
    f.source.files = { 'package.json': JSON.stringify({ scripts: { build: 'x' } }) };
    const { id } = await f.uploaded();
    images.onBuild = ({ text }) => {
      assert.match(text, /Gangway: It has no start command/);
      throw new ServiceError('IMAGE_BUILD_FAILED', 'The command /bin/sh returned 1.');
    };
    const plain = await deploy(id);
    await f.until(plain, 'failed');
    assert.equal(f.deployment(plain).error, 'The command /bin/sh returned 1.');
    let said: (() => void) | null = null;
    images.onBuild = () => ({
      lines: ['Gangway: It has no start command.'],
      held: new Promise((_resolve, reject) => {
        said = () => {
          reject(new ServiceError('IMAGE_BUILD_FAILED', 'The command /bin/sh returned 1.'));
        };
      }),
    });
    const told = await deploy(id);
    await eventually('the build has begun', () => said !== null);
    (said as unknown as () => void)();
    await f.until(told, 'failed');
    assert.equal(f.deployment(told).error, 'It has no start command.');
  });

  it('ends a build that is canceled, or takes too long', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    images.onBuild = () => ({ held: new Promise(() => undefined) });
    const first = await deploy(id);
    await eventually('it builds', () => images.built.length === 1);
    await f.ask(id, { type: 'cancel', deploymentId: first });
    await f.until(first, 'canceled');
    await eventually('the build is given up', () => images.aborted === 1);

    await f.close();
    f = await appFixture({ images, options: { buildTimeoutMs: 50 } });
    f.source.files = { Dockerfile: 'FROM base' };
    const slow = await f.uploaded();
    const second = await deploy(slow.id);
    await f.until(second, 'failed');
    assert.match(f.deployment(second).error ?? '', /The build took longer than/);
  });

  it('builds anew after a crash in the middle of a build', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    images.onBuild = () => ({ held: new Promise(() => undefined) });
    const deploymentId = await deploy(id);
    await eventually('it builds', () => images.built.length === 1);
    images.onBuild = () => ({});
    await f.crash();
    await f.until(deploymentId, 'ready');
    assert.equal(images.built.length, 2);
    assert.equal(images.built[1]?.name, deploymentId);
  });

  it('keeps the images of three releases, and runs an old one again as it was', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) ids.push(await deployed(id));
    const kept = ids.slice(1).map((one) => `ours/${one}`);
    await eventually('the oldest is dropped', () => {
      const last = images.kept.at(-1);
      return last?.owner === id && last.images.join() === kept.sort().join();
    });
    const target = ids[1] ?? '';
    const { id: rollback } = await f.ask(id, {
      type: 'rollback',
      deploymentId: target,
      trigger: 'api',
    });
    await f.until(rollback, 'ready');
    assert.equal(f.driver.started.at(-1)?.container?.image, `ours/${target}`);
    assert.equal(images.built.length, 4);
  });

  it('pulls the image of an app, and remembers which one it was', async () => {
    const { id } = await f.create({
      source: 'IMAGE',
      image: 'registry.example:5000/team/web:1',
      build: { startCommand: 'serve all' },
    });
    f.store.write([
      put(tables.registries, {
        id: 'reg_1',
        teamId: 'team_1',
        name: 'ours',
        host: 'registry.example:5000',
        username: 'ada',
        sealed: Buffer.from('registry:reg_1|pass'),
        createdAtMs: 0,
      }),
      put(tables.registries, {
        id: 'reg_2',
        teamId: 'team_1',
        name: 'another',
        host: 'other.example',
        username: 'ada',
        sealed: Buffer.from('registry:reg_2|other'),
        createdAtMs: 0,
      }),
    ]);
    images.onPull = () => ({ ports: [8000], digest: 'sha256:abc' });
    const deploymentId = await deployed(id);
    const [pull] = images.pulled;
    assert.equal(pull?.reference, 'registry.example:5000/team/web:1');
    const login = { host: 'registry.example:5000', username: 'ada', password: 'pass' };
    assert.deepEqual(pull.logins, [login]);
    assert.deepEqual(f.deployment(deploymentId).plan?.image, {
      name: `ours/${deploymentId}`,
      label: 'registry.example:5000/team/web:1',
      port: 8000,
      pulled: 'registry.example:5000/team/web@sha256:abc',
    });
    assert.deepEqual(f.driver.started[0]?.command, ['/bin/sh', '-c', 'exec serve all']);
    assert.equal(f.app(id).run.live?.image, 'registry.example:5000/team/web:1');
    assert.doesNotMatch(logOf(deploymentId), /pass/);

    // Somebody removed it by hand: the very same comes back.
    f.driver.script = () => {
      f.driver.script = () => ({ probe: 'listening' });
      return { failure: 'Cannot start it: no such image on the server.' };
    };
    await f.ask(id, { type: 'restart' });
    await eventually('it is pulled again', () => images.pulled.length === 2);
    assert.equal(images.pulled[1]?.reference, 'registry.example:5000/team/web@sha256:abc');
    assert.equal(images.pulled[1].name, deploymentId);
    await eventually('it runs', () => f.driver.started.length === 3);
  });

  it('fails with a sentence when a pull is refused or the port is taken', async () => {
    const { id } = await f.create({ source: 'IMAGE', image: 'none' });
    images.onPull = () => {
      throw new ServiceError('IMAGE_NOT_FOUND', 'There is no image none:latest.');
    };
    const first = await deploy(id);
    await f.until(first, 'failed');
    assert.equal(f.deployment(first).error, 'There is no image none:latest.');
    images.onPull = () => ({});
    f.driver.beforeStart = () => {
      throw new ServiceError('CONFLICT', 'Port 1 is taken.');
    };
    const second = await deploy(id);
    await f.until(second, 'failed');
    assert.equal(f.deployment(second).error, 'Port 1 is taken.');
  });

  it('tries another port when the one it chose was taken meanwhile', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    f.driver.script = (spec) => {
      f.driver.script = () => ({ probe: 'listening' });
      queueMicrotask(() => {
        const detail = 'Its port is in use.';
        f.driver.end(spec.id, { code: null, reason: 'failed_to_start', detail });
      });
      return { probe: 'foreign' };
    };
    await deployed(id);
    const [first, second] = f.driver.started;
    assert.notEqual(first?.port, second?.port);
    assert.equal(f.app(id).run.live?.port, second?.port);
  });

  it('does not start what was made for the other runtime', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    const deploymentId = await deployed(id);
    const { kind, startCommand, staticDir } = f.deployment(deploymentId).plan ?? assert.fail();
    const plan = { kind, startCommand, staticDir };
    f.store.write([put(tables.deployments, { ...f.deployment(deploymentId), plan })]);
    await assert.rejects(f.ask(id, { type: 'restart' }), {
      code: 'NOT_DEPLOYABLE',
      message: /made for the process runtime.*Deploy again/,
    });
    await assert.rejects(f.ask(id, { type: 'rollback', deploymentId, trigger: 'api' }), {
      code: 'NOT_DEPLOYABLE',
    });
    await f.crash();
    f.driver.lose();
    await f.crash();
    await eventually('it is not there', () => f.app(id).run.live === null);
    assert.equal(f.app(id).status, 'error');
    assert.equal(f.driver.ids.length, 0);
    await deployed(id);
    assert.equal(f.app(id).status, 'active');
  });

  it('takes its volume and images along when it is purged', async () => {
    f.source.files = { Dockerfile: 'FROM base' };
    const { id } = await f.uploaded();
    await deployed(id);
    await eventually('what is outdated is dropped', () => images.kept.length === 1);
    await f.ask(id, { type: 'delete' });
    assert.deepEqual(f.driver.removedVolumes, [], 'it can come back from trash');
    await f.ask(id, { type: 'purge' });
    assert.deepEqual(f.driver.removedVolumes, [`${id}-data`]);
    assert.deepEqual(images.kept.at(-1), { owner: id, images: [] });
    assert.ok(!existsSync(join(f.root, 'apps', id)));
  });

  it('takes no archive for an app of an image', async () => {
    const { id } = await f.create({ source: 'IMAGE', image: 'nginx' });
    const begin = f.ask(id, { type: 'upload-begin', uploadId: 'u' });
    await assert.rejects(begin, { code: 'NOT_AN_UPLOAD_APP' });
  });
});
