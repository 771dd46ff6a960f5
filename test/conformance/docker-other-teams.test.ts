import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import Docker from 'dockerode';

import type { Driver, ImageInfo } from '../../src/drivers/driver.ts';
import { ownDaemon } from '../support/docker-daemon.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { baseImage, busyboxFile } from '../support/docker-images.ts';
import { containerSpec, dockerPlace } from '../support/docker-place.ts';
import type { DockerPlace } from '../support/docker-place.ts';
import { readAll, textOf } from '../support/driver-specs.ts';
import { eventually } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';
import { startRegistry } from '../support/registry.ts';
import { tempDir } from '../support/runner.ts';

const never = new AbortController().signal;

describe('images of several teams on one Docker daemon', { skip: needs('docker') }, () => {
  let daemon: DockerDaemon;
  let place: DockerPlace;
  let docker: Docker;

  before(async () => {
    daemon = await ownDaemon();
    place = await dockerPlace({ daemon });
    docker = new Docker({ socketPath: daemon.socket });
  });
  after(async () => {
    await place.close();
    await daemon.close();
  });

  const build = async (owner: string, name: string, dockerfile: string): Promise<ImageInfo> => {
    const { images } = place.driver;
    assert.ok(images);
    const contextDir = tempDir();
    fs.writeFileSync(path.join(contextDir, 'Dockerfile'), dockerfile);
    try {
      const spec = { owner, name, contextDir, dockerfile: { path: 'Dockerfile' } };
      const say = (): void => undefined;
      return await images.build({ ...spec, buildArgs: {}, logins: [] }, say, never);
    } finally {
      fs.rmSync(contextDir, { recursive: true });
    }
  };

  const printed = async (driver: Driver, image: string, command: string[]): Promise<string> => {
    const container = { image, port: null, volumes: [], network: null, aliases: [] };
    await driver.start(containerSpec({ id: 'print-1', command, workingDir: '', container }));
    try {
      return textOf(await readAll(driver, 'print-1'));
    } finally {
      await driver.remove('print-1');
    }
  };

  /** Tag and id on the daemon of an image that the driver calls `image`. */
  const onDaemon = async (image: string): Promise<{ tag: string; id: string }> => {
    const all = (await docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
    const tag = all.find((one) => one.startsWith(image)) ?? '';
    return { tag, id: (await docker.getImage(tag).inspect()).Id.slice('sha256:'.length) };
  };

  it('gives no team an image of another, whatever its Dockerfile names', async () => {
    const { image } = await build('app_a', 'victim', `FROM ${baseImage}\nLABEL which=victim\n`);
    const { tag, id } = await onDaemon(image);
    assert.match(tag, /^gangway-\w+:app_a\.victim\.[\w-]{22}$/);
    const [repository = ''] = image.split(':');
    const names = [image, image.replace('-', '\\-'), `docker.io/library/${image}`];
    const ids = [id.slice(0, 4), id.slice(0, 12), id, `sha256:${id}`, `${repository}@sha256:${id}`];
    const texts = [...names, ...ids].flatMap((from) => [
      `FROM ${from}\nRUN true\n`,
      `ARG A=${from.slice(0, 3)}\nARG B=${from.slice(3)}\nFROM $A$B\nRUN true\n`,
      `FROM ${baseImage}\nCOPY --from=${from} / /stolen\n`,
      `FROM ${baseImage}\nRUN --mount=from=${from},target=/stolen true\n`,
    ]);
    const thief = (text: string, n: number) => build('app_b', `thief${String(n)}`, text);
    await Promise.all(
      texts.map((text, n) => assert.rejects(thief(text, n), { name: 'ServiceError' }, text)),
    );
  });

  it('gives none by what an image does to those who build on it', async () => {
    const { image } = await build('app_a', 'copied', `FROM ${baseImage}\nLABEL which=copied\n`);
    const { id } = await onDaemon(image);
    const registry = await startRegistry({
      repository: 'team/trigger',
      tag: '1',
      files: busyboxFile(),
      config: { OnBuild: [`COPY --from=${id.slice(0, 12)} / /stolen`] },
      login: null,
    });
    try {
      // Older versions of BuildKit find nothing where newer ones refuse.
      const stolen = await build('app_b', 'thief', `FROM ${registry.host}/team/trigger:1\n`).then(
        (made) => printed(place.driver, made.image, ['/bin/busybox', 'find', '/stolen']),
        () => '',
      );
      assert.ok(!stolen.includes('/stolen/'), stolen);
    } finally {
      await registry.close();
    }
  });

  it('takes away what an earlier version fetched with a login and left', async () => {
    const left = 'registry.test/team/private:1';
    await docker.getImage(baseImage).tag({ repo: 'registry.test/team/private', tag: '1' });
    const notes = path.join(place.dataDir, 'docker', 'loans');
    fs.mkdirSync(notes, { recursive: true });
    fs.writeFileSync(path.join(notes, 'one'), left);
    await place.reopen();
    await eventually('it is gone', () => fs.readdirSync(notes).length === 0);
    await assert.rejects(docker.getImage(left).inspect(), { statusCode: 404 });
  });

  it('runs and keeps what an earlier version built, and takes its old tag away', async () => {
    const { image } = await build('app_a', 'old', `FROM ${baseImage}\nLABEL which=old\n`);
    const { tag, id } = await onDaemon(image);
    await docker.getImage(id).tag({ repo: image.split(':')[0] ?? '', tag: 'app_a.old' });
    await docker.getImage(tag).remove();
    const driver = await place.reopen();
    assert.ok(driver.images);
    assert.equal(await printed(driver, image, ['echo', 'old']), 'old\n');
    await driver.images.keep('app_a', new Set([image]));
    assert.deepEqual((await docker.getImage(id).inspect()).RepoTags, [tag]);
  });
});
