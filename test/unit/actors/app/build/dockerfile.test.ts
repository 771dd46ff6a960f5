import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { declaredArgs, hostArgs } from '../../../../../src/actors/app/build/build-image.ts';
import { detectBuild } from '../../../../../src/actors/app/build/detect.ts';
import { generateDockerfile, nodeImageOf } from '../../../../../src/actors/app/build/dockerfile.ts';
import { hostOfReference, pinned } from '../../../../../src/actors/app/build/registry-logins.ts';
import { ReleaseFolder } from '../../../../../src/places/release-source.ts';
import { emptyBuild } from '../../../../../src/actors/app/settings/validate.ts';
import type { BuildConfig } from '../../../../../src/store/records/records.ts';

const images = { node: 'node', python: 'python', go: 'golang', base: 'alpine' };

describe('a Dockerfile that is written for a source', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gangway-dockerfile-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const write = async (files: Record<string, string>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  };
  const lines = async (
    config: Partial<BuildConfig> = {},
    buildArgs: string[] = [],
  ): Promise<string[]> => {
    const source = new ReleaseFolder(folder);
    const build = { ...emptyBuild, ...config };
    const plan = await detectBuild(source, build, null);
    const text = await generateDockerfile({
      source,
      plan,
      config: build,
      images,
      installArgs: ['MIRROR'],
      buildArgs,
    });
    // What every stage begins with is of no interest here.
    const same = /^(ENV|USER 0:0|RUN mkdir|WORKDIR)/;
    return text.split('\n').filter((line) => line !== '' && !same.test(line));
  };
  const copyAll = 'COPY --chown=1000:1000 [".","./"]';
  const manifest = (fields: object) => ({ 'package.json': JSON.stringify(fields) });

  it('installs packages of Node in a layer of their own', async () => {
    await write({
      ...manifest({ scripts: { build: 'b', start: 'node x' }, dependencies: { a: '~1.0' } }),
      'package-lock.json': '{}',
      '.npmrc': '',
    });
    assert.deepEqual(await lines({}, ['SHOWN']), [
      'FROM node',
      'USER 1000:1000',
      'COPY --chown=1000:1000 ["package.json","package-lock.json",".npmrc","./"]',
      'ARG MIRROR',
      'RUN ["/bin/sh","-ec","npm ci --include=dev --no-audit --no-fund\\nrm -rf \\"$HOME/.npm\\""]',
      copyAll,
      'ARG SHOWN',
      'RUN ["/bin/sh","-ec","npm run build"]',
      'CMD ["/bin/sh","-c","exec node x"]',
      'EXPOSE 8080',
    ]);
  });

  for (const [what, fields] of [
    ['scripts of its own', { scripts: { postinstall: 'x' } }],
    ['packages beside it', { dependencies: { a: 'file:./a' } }],
    ['workspaces', { workspaces: ['a'] }],
  ] as const) {
    it(`has all of the source before an installation with ${what}`, async () => {
      await write({ ...manifest({ ...fields, main: 'a.js' }), 'a.js': '' });
      const [, , copied, argument, install] = await lines();
      assert.equal(copied, copyAll);
      assert.equal(argument, 'ARG MIRROR');
      assert.match(install ?? '', /npm install/);
    });
  }

  it('leaves the tools of a site behind, and finds where it was built to', async () => {
    await write(manifest({ scripts: { build: 'b' } }));
    const all = await lines({ port: 3000 });
    const from = all.filter((line) => /^(FROM|COPY --from|CMD|EXPOSE)/.test(line));
    assert.deepEqual(from, [
      'FROM node AS build',
      'FROM node',
      'COPY --from=build --chown=1000:1000 ["/home/app/site/","/app/"]',
      'CMD ["node","/home/app/static-server.mjs","/app"]',
      'EXPOSE 3000',
    ]);
    assert.match(all.join('\n'), /for folder in dist build out public \./);
    const named = await lines({ outputDir: "it's" });
    assert.match(named.join('\n'), /\[ -d '\.\/it'\\\\''s' \]/);
  });

  it('builds Go apart from what it runs in', async () => {
    await write({ 'go.mod': '', 'go.sum': '', 'main.go': '' });
    assert.deepEqual(await lines(), [
      'FROM golang AS build',
      'USER 1000:1000',
      'COPY --chown=1000:1000 ["go.mod","go.sum","./"]',
      'ARG MIRROR',
      'RUN ["/bin/sh","-ec","go mod download"]',
      copyAll,
      'RUN ["/bin/sh","-ec","mkdir -p .gangway-build && go build -o .gangway-build/app ."]',
      'FROM alpine',
      'USER 1000:1000',
      'COPY --from=build --chown=1000:1000 ["/app/","/app/"]',
      'CMD ["/bin/sh","-c","exec ./.gangway-build/app"]',
      'EXPOSE 8080',
    ]);
    assert.ok(!(await lines({ startCommand: 'go run .' })).includes('FROM alpine'));
  });

  it('installs packages of Python where its programs are found', async () => {
    await write({ 'requirements.txt': 'flask==3\n# -e no\n', 'main.py': '' });
    const python = await lines();
    assert.equal(python[2], 'COPY --chown=1000:1000 ["requirements.txt","./"]');
    assert.match(python[4] ?? '', /"python3 -m venv \/app\/\.venv"/);
    assert.match(python[5] ?? '', /"pip install .* -r req/);
    assert.equal(python.at(-2), 'CMD ["/bin/sh","-c","exec python main.py"]');
    await write({ 'requirements.txt': '-r more.txt\n' });
    assert.equal((await lines())[2], copyAll);
    // An hour, where each line is looked for from each line before it.
    await write({ 'requirements.txt': '\n'.repeat(1_000_000) });
    assert.equal((await lines())[2], python[2]);
    await rm(join(folder, 'main.py'));
    await assert.rejects(lines(), /A Python app needs a start command/);
  });

  it('serves files that need no build from where they lie', async () => {
    await write({ 'public/index.html': '' });
    assert.deepEqual(await lines(), [
      'FROM node',
      'USER 1000:1000',
      'COPY --chown=1000:1000 ["public/","./"]',
      'COPY --chown=1000:1000 .gangway/static-server.mjs /home/app/static-server.mjs',
      'CMD ["node","/home/app/static-server.mjs","/app"]',
      'EXPOSE 8080',
    ]);
  });

  it('says that a Dockerfile was looked for as well', async () => {
    await assert.rejects(lines(), /Looked for: Dockerfile, a build or start command/);
  });

  it('keeps a command in one line whatever stands in it', async () => {
    await write({ 'index.html': '' });
    const startCommand = 'echo "a\\\nb" && FROM x\nRUN rm -rf / $HOME';
    const all = await lines({ startCommand });
    const command = all.find((line) => line.startsWith('CMD '));
    assert.deepEqual(JSON.parse(command?.slice(4) ?? ''), ['/bin/sh', '-c', startCommand]);
    assert.equal(all.filter((line) => line.startsWith('FROM')).length, 1);
  });

  it('takes another Node where the image is the default', () => {
    const image = (version: string | null) => nodeImageOf('node:22-slim', true, version).image;
    assert.equal(image(null), 'node:22-slim');
    assert.equal(image('20.x'), 'node:20-slim');
    assert.equal(image('>=18.2'), 'node:18.2-slim');
    assert.equal(image('lts/*'), 'node:22-slim');
    const own = nodeImageOf('registry.example/node:1', false, '20');
    assert.equal(own.image, 'registry.example/node:1');
    assert.match(own.note ?? '', /chooses nothing here/);
  });
});

describe('build arguments', () => {
  it('are those that the Dockerfile declares', () => {
    const text = [
      'ARG BASE=x',
      'FROM $BASE',
      '  arg ONE TWO="a b" THREE',
      'ARG FOUR=\\',
      '  5',
      'ARG \\',
      '  SIX',
      '# ARG SEVEN',
      'RUN echo ARG EIGHT',
    ].join('\r\n');
    assert.deepEqual([...declaredArgs(text)], ['BASE', 'ONE', 'TWO', 'THREE', 'FOUR', 'SIX']);
    assert.deepEqual([...declaredArgs('# escape=`\nARG A `\n  B')], ['A', 'B']);
  });

  it('of the host hold no files and no passwords', () => {
    const { proxies, mirrors } = hostArgs({
      HTTPS_PROXY: 'http://proxy.example:3128',
      HTTP_PROXY: 'http://user:pass@proxy.example',
      npm_config_registry: 'https://npm.example',
      NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
    });
    assert.deepEqual(proxies, { HTTPS_PROXY: 'http://proxy.example:3128' });
    assert.deepEqual(mirrors, { npm_config_registry: 'https://npm.example' });
  });
});

describe('references of images', () => {
  it('name their registry, or Docker Hub', () => {
    assert.equal(hostOfReference('nginx'), 'docker.io');
    assert.equal(hostOfReference('library/nginx:1'), 'docker.io');
    assert.equal(hostOfReference('index.docker.io/library/nginx'), 'docker.io');
    assert.equal(hostOfReference('localhost/a'), 'localhost');
    assert.equal(hostOfReference('Registry.example:5000/team/a:1'), 'registry.example:5000');
  });

  it('are pinned by digest without their tag', () => {
    assert.equal(pinned('host:5000/a', null), 'host:5000/a');
    assert.equal(pinned('host:5000/a', 'sha256:1'), 'host:5000/a@sha256:1');
    assert.equal(pinned('host:5000/a:tag', 'sha256:1'), 'host:5000/a@sha256:1');
    assert.equal(pinned('a:tag@sha256:0', 'sha256:1'), 'a@sha256:1');
  });
});
