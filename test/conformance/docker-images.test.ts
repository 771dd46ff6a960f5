import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import Docker from 'dockerode';

import type { ImageInfo, Images, RegistryLogin } from '../../src/drivers/driver.ts';
import { cleanups } from '../support/cleanups.ts';
import { ownDaemon } from '../support/docker-daemon.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { baseImage, busyboxFile } from '../support/docker-images.ts';
import { containerSpec, dockerPlace } from '../support/docker-place.ts';
import type { DockerPlace } from '../support/docker-place.ts';
import { marked, readAll, running, sh, textOf, until } from '../support/driver-specs.ts';
import { startRegistry } from '../support/registry.ts';
import type { TestRegistry } from '../support/registry.ts';
import { tempDir } from '../support/runner.ts';

const owner = 'app_images';
const login = { username: 'reader', password: 'not-in-any-log' };
const never = new AbortController().signal;

describe('images of the Docker driver', { skip: needs('docker') }, () => {
  const later = cleanups();
  let daemon: DockerDaemon;
  let place: DockerPlace;
  let images: Images;
  let docker: Docker;
  let registry: TestRegistry;

  before(async () => {
    daemon = await ownDaemon();
    later(() => daemon.close());
    place = await dockerPlace({ daemon });
    later(() => place.close());
    assert.ok(place.driver.images);
    images = place.driver.images;
    later(() => images.keep(owner, new Set()));
    docker = new Docker({ socketPath: place.daemon.socket });
    registry = await startRegistry({
      repository: 'team/tool',
      tag: '1',
      files: busyboxFile(),
      config: { Cmd: ['/bin/busybox', 'echo', 'pulled'], ExposedPorts: { '8080/tcp': {} } },
      login,
    });
    later(() => registry.close());
  });

  const folder = (files: Readonly<Record<string, string>>): string => {
    const dir = tempDir();
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
      fs.writeFileSync(path.join(dir, name), text);
    }
    return dir;
  };

  const build = async (
    name: string,
    files: Readonly<Record<string, string>>,
    more: {
      dockerfile?: { path: string } | { text: string };
      buildArgs?: Record<string, string>;
      signal?: AbortSignal;
      logins?: RegistryLogin[];
      /** Takes what it says. */
      lines?: string[];
    } = {},
  ): Promise<ImageInfo> => {
    const contextDir = folder(files);
    try {
      const {
        dockerfile = { path: 'Dockerfile' },
        buildArgs = {},
        logins = [],
        signal = never,
        lines = [],
      } = more;
      const spec = { owner, name, contextDir, dockerfile, buildArgs, logins };
      return await images.build(spec, (line) => lines.push(line), signal);
    } finally {
      fs.rmSync(contextDir, { recursive: true });
    }
  };

  /** What the daemon has of an image of ours. */
  const onDaemon = async (image: string): Promise<Docker.ImageInspectInfo> => {
    const all = await docker.listImages();
    const tags = all.flatMap(({ RepoTags }) => RepoTags ?? []);
    const tag = tags.find((one) => one.startsWith(`${image}.`));
    return docker.getImage(tag ?? image).inspect();
  };

  /** What a container of the image prints. */
  const printed = async (image: string, command: readonly string[] = []): Promise<string> => {
    const id = `print-${image.replace(/.*[.]/, '').replaceAll(/[^a-z0-9]/g, '')}`;
    const container = { image, port: null, volumes: [], network: null, aliases: [] };
    await place.driver.start(containerSpec({ id, command, workingDir: '', container }));
    try {
      return textOf(await readAll(place.driver, id));
    } finally {
      await place.driver.remove(id);
    }
  };

  describe('build()', () => {
    it('builds what the Dockerfile says, with its arguments, and says each line', async () => {
      const lines: string[] = [];
      const { image, ports } = await build(
        'plain',
        {
          Dockerfile: `FROM ${baseImage}\nARG GREETING\nCOPY said /said\nEXPOSE 3000 53/udp 80\nRUN echo one; echo two >&2; echo "$GREETING" >> /said\nCMD ["cat", "/said"]\n`,
          said: 'from a file\n',
        },
        { buildArgs: { GREETING: 'and an argument' }, lines },
      );
      assert.deepEqual(ports, [80, 3000]);
      assert.ok(lines.includes('one') && lines.includes('two'), lines.join('\n'));
      assert.equal(await printed(image), 'from a file\nand an argument\n');
    });

    it('takes the text of a Dockerfile that is in no folder, and one below the folder', async () => {
      const text = `FROM ${baseImage}\nCOPY . /all\nCMD ["ls", "-A", "/all"]\n`;
      const given = await build('text', { mine: '' }, { dockerfile: { text } });
      assert.match(await printed(given.image), /^mine$/m);
      const below = await build(
        'below',
        { 'deploy/web.Dockerfile': text, mine: '' },
        { dockerfile: { path: 'deploy/web.Dockerfile' } },
      );
      assert.match(await printed(below.image), /^deploy\nmine$/m);
    });

    it('sends nothing that .dockerignore names, but its exceptions', async () => {
      const { image } = await build('ignoring', {
        Dockerfile: `FROM ${baseImage}\nCOPY . /all\nCMD find /all -type f | sort\n`,
        '.dockerignore': 'node_modules\n*.log\ndist\n!dist/kept/this\n# a remark\n',
        'node_modules/a/index.js': '',
        'trace.log': '',
        'dist/big': '',
        'dist/kept/this': '',
        'dist/kept/other': '',
        'src/trace.log': '',
        'src/main.js': '',
      });
      assert.deepEqual((await printed(image)).trim().split('\n'), [
        '/all/.dockerignore',
        '/all/Dockerfile',
        '/all/dist/kept/this',
        '/all/src/main.js',
        '/all/src/trace.log',
      ]);
    });

    it('says what failed, in the words of the builder', async () => {
      const lines: string[] = [];
      await assert.rejects(
        build('fails', { Dockerfile: `FROM ${baseImage}\nRUN echo before; exit 3\n` }, { lines }),
        { code: 'IMAGE_BUILD_FAILED', message: /^The build failed: .+ ended with exit code 3\.$/ },
      );
      assert.ok(lines.includes('before'));
      await assert.rejects(build('broken', { Dockerfile: 'FORM nothing\n' }), {
        code: 'IMAGE_BUILD_FAILED',
        message: /unknown instruction: form/i,
      });
      await assert.rejects(build('empty', { Dockerfile: '' }), { code: 'IMAGE_BUILD_FAILED' });
      await assert.rejects(build('none', { other: '' }), {
        code: 'IMAGE_BUILD_FAILED',
        message: /no Dockerfile at Dockerfile/,
      });
      for (const outside of ['../Dockerfile', '/../../etc/passwd', '..']) {
        await assert.rejects(build('outside', {}, { dockerfile: { path: outside } }), {
          code: 'IMAGE_BUILD_FAILED',
        });
      }
    });

    it('says that an image it starts from is not to be had', async () => {
      const missing = `FROM ${registry.host}/team/missing:1\n`;
      await assert.rejects(build('from', { Dockerfile: missing }), {
        code: /IMAGE_NOT_FOUND|REGISTRY_REFUSED/,
      });
    });

    it('starts from what a login gives, which is not there for others', async () => {
      const reference = `${registry.host}/team/private:1`;
      const config = { Cmd: ['/bin/busybox', 'echo', 'private'] };
      const contents = { ...busyboxFile(), which: Buffer.from('private') };
      registry.serve({ repository: 'team/private', tag: '1', files: contents, config, login });
      const files = { Dockerfile: `FROM ${reference}\nLABEL which=private\n` };
      const logins = [{ host: registry.host, ...login }];
      const lines: string[] = [];
      const { image } = await build('private', files, { logins, lines });
      // Who knows the digest needs no login as long as BuildKit keeps what it fetched.
      assert.ok(!lines.some((line) => line.includes('sha256:')), lines.join('\n'));
      assert.equal(await printed(image), 'private\n');
      await assert.rejects(docker.getImage(reference).inspect(), { statusCode: 404 });
      await assert.rejects(build('private2', files), { code: 'REGISTRY_REFUSED' });
    });

    it('gives a login to its own registry alone', async () => {
      const other = await startRegistry({
        repository: 'team/other',
        tag: '1',
        files: busyboxFile(),
        config: {},
        login,
      });
      try {
        const files = { Dockerfile: `FROM ${other.host}/team/other:1\n` };
        const logins = [{ host: registry.host, ...login }];
        await assert.rejects(build('other', files, { logins }), { code: 'REGISTRY_REFUSED' });
        await build('other', files, { logins: [...logins, { host: other.host, ...login }] });
      } finally {
        await other.close();
      }
    });

    it('ends what is under way when it is aborted', async () => {
      const given = new AbortController();
      const under = build(
        'aborted',
        { Dockerfile: marked(`FROM ${baseImage}\nRUN sleep 98801\n`) },
        { signal: given.signal },
      );
      const refused = assert.rejects(under, { name: 'AbortError' });
      await until('the step', () => running('sleep 98801').length > 0);
      given.abort();
      await refused;
      await until('its end', () => running('sleep 98801').length === 0);
    });

    it('replaces an image of its name, and leaves nothing of the old one', async () => {
      const dockerfile = (text: string): Record<string, string> => ({
        Dockerfile: `FROM ${baseImage}\nRUN echo ${text} > /said\nCMD ["cat", "/said"]\n`,
      });
      const first = await build('again', dockerfile('first'));
      const { Id: old } = await onDaemon(first.image);
      const second = await build('again', dockerfile('second'));
      assert.equal(second.image, first.image);
      assert.equal(await printed(second.image), 'second\n');
      await assert.rejects(docker.getImage(old).inspect(), { statusCode: 404 });
      const same = await build('again', dockerfile('second'));
      assert.equal(await printed(same.image), 'second\n');
    });
  });

  describe('pull()', () => {
    const lines: string[] = [];
    const pull = (
      name: string,
      reference: string,
      logins: { host: string; username: string; password: string }[] = [],
    ): Promise<ImageInfo> => {
      lines.length = 0;
      return images.pull({ owner, name, reference, logins }, (line) => lines.push(line), never);
    };

    it('pulls from a registry that wants a login, and says how far it is', async () => {
      const reference = `${registry.host}/team/tool:1`;
      const info = await pull('tool', reference, [{ host: registry.host, ...login }]);
      assert.deepEqual(info.ports, [8080]);
      assert.match(info.digest ?? '', /^sha256:[0-9a-f]{64}$/);
      assert.ok(
        lines.some((line) => line.startsWith('Pulling: 1 of 1 layers')),
        lines.join('\n'),
      );
      assert.ok(lines.every((line) => !line.includes(login.password)));
      assert.equal(await printed(info.image), 'pulled\n');
      // By its own name others would have it without a login.
      await assert.rejects(docker.getImage(reference).inspect(), { statusCode: 404 });
      const again = `${registry.host}/team/tool@${info.digest ?? ''}`;
      const same = await pull('tool2', again, [{ host: registry.host, ...login }]);
      assert.equal(same.digest, info.digest);
    });

    it('says that a registry refused, with and without a login', async () => {
      const reference = `${registry.host}/team/tool:1`;
      await assert.rejects(pull('no1', reference), {
        code: 'REGISTRY_REFUSED',
        message: /wants a login/,
      });
      const wrong = { host: registry.host, username: 'reader', password: 'wrong' };
      await assert.rejects(pull('no2', reference, [wrong]), {
        code: 'REGISTRY_REFUSED',
        message: /refused .* with the login/,
      });
      // A login is for its own host alone.
      await assert.rejects(pull('no3', reference, [{ host: 'elsewhere.test', ...login }]), {
        code: 'REGISTRY_REFUSED',
      });
    });

    it('says that there is no such image, and no such registry', async () => {
      const logins = [{ host: registry.host, ...login }];
      await assert.rejects(pull('no4', `${registry.host}/team/tool:2`, logins), {
        code: 'IMAGE_NOT_FOUND',
      });
      await assert.rejects(pull('no5', '127.0.0.1:1/team/tool:1'), {
        code: 'REGISTRY_REFUSED',
        message: /not reached/,
      });
      await assert.rejects(pull('no6', 'Not An Image'), { code: 'IMAGE_NOT_FOUND' });
    });

    it('uses an image of the server when no registry has it, by its whole name only', async () => {
      const local = `127.0.0.1:1/gangway-test/local:1`;
      await docker.getImage(baseImage).tag({ repo: '127.0.0.1:1/gangway-test/local', tag: '1' });
      const info = await pull('local', local);
      assert.equal(await printed(info.image, sh('echo local')), 'local\n');
      assert.ok(lines.some((line) => line.includes('that is on the server')));
      assert.ok(await docker.getImage(local).inspect(), 'it is not ours to remove');
      await docker.getImage(local).remove();
    });

    it('gives nobody an image of ours by its name', async () => {
      const mine = await build('mine', { Dockerfile: `FROM ${baseImage}\nCMD ["true"]\n` });
      const asked = registry.asked.length;
      await assert.rejects(pull('theirs', mine.image), { code: 'IMAGE_NOT_FOUND' });
      assert.equal(registry.asked.length, asked);
      const { Id: id } = await onDaemon(mine.image);
      for (const from of [mine.image, id, id.slice(7, 19)]) {
        const text = `ARG BASE=${from}\nFROM \${BASE:-x}\nRUN true\n`;
        await assert.rejects(build('stolen', { Dockerfile: text }), {
          name: 'ServiceError',
        });
      }
    });
  });

  describe('keep()', () => {
    it('removes what is not named, but what a container is made of, and nothing of others', async () => {
      const dockerfile = (name: string): Record<string, string> => ({
        Dockerfile: `FROM ${baseImage}\nLABEL which=${name}\nCMD ["sleep", "1000"]\n`,
      });
      const kept = await build('keep1', dockerfile('one'));
      const used = await build('keep2', dockerfile('two'));
      const gone = await build('keep3', dockerfile('three'));
      const container = { image: used.image, port: null, volumes: [], network: null, aliases: [] };
      const spec = containerSpec({ id: 'uses-1', command: [], workingDir: '', container });
      await place.driver.start({ ...spec, kind: 'service', stopGraceMs: 100 });
      await images.keep('app_other', new Set());
      await images.keep(owner, new Set([kept.image]));
      assert.ok(await onDaemon(kept.image));
      assert.ok(await onDaemon(used.image));
      assert.ok(await docker.getImage(baseImage).inspect());
      await assert.rejects(onDaemon(gone.image), { statusCode: 404 });
      await place.driver.remove('uses-1');
    });
  });
});
