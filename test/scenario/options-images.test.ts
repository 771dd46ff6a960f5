/** Options about containers: a daemon that answers next to nothing is told which images are wanted. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { archiveOf } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { type HangingDaemon, hangingDaemon } from '../support/hanging-daemon.ts';
import { minuteMs, TimeMachine } from '../support/time-machine.ts';

const patienceMs = 20_000;

describe('options of a service about containers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-images-'));
  const time = new TimeMachine(join(folder, 'time'));
  let daemon: HangingDaemon;
  let gangway: Gangway;
  let client: Client;
  before(async () => {
    daemon = await hangingDaemon();
    daemon.answer(/^GET \/_ping/, {});
    daemon.answer(/^GET \/events/, 'stream');
    daemon.answer(/^GET \/containers\/json/, []);
    daemon.answer(/^GET \/images\//, { Id: 'sha256:1', RepoTags: [], Config: {} });
    daemon.answer(/^GET \/images\/json/, []);
    daemon.answer(/^POST \/images\/create/, {});
    daemon.answer(/^POST \/session/, 'stream');
    daemon.answer(/^GET \/networks\//, { Id: 'n1', Labels: { 'gangway.address': 'own' } });
    daemon.answer(/^POST \/build/, 'stream');
    gangway = await Gangway.open(
      time.options({
        GANGWAY_GATEWAY_THREADS: '1',
        GANGWAY_RUNTIME: 'auto',
        GANGWAY_DOCKER_SOCKET: daemon.socket,
        GANGWAY_NODE_IMAGE: 'mirror.test/our-node:22',
        GANGWAY_PYTHON_IMAGE: 'mirror.test/our-python:3',
        GANGWAY_GO_IMAGE: 'mirror.test/our-go:1',
        GANGWAY_BASE_IMAGE: 'mirror.test/our-base:3',
        GANGWAY_DATABASE_IMAGES: 'POSTGRES=mirror.test/our-postgres:{version}',
        GANGWAY_BUILD_TIMEOUT_MINUTES: '7',
        GANGWAY_BUILD_CONCURRENCY: '5',
      }),
    );
    client = gangway.client;
  });
  after(async () => {
    try {
      await gangway.end();
    } finally {
      await daemon.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  const askedFor = (image: string): Promise<void> =>
    until(image, patienceMs, () =>
      daemon.requests.some((one) => decodeURIComponent(one).includes(`/images/${image}/json`)),
    );
  const builtFrom = (image: string): Promise<void> =>
    until(image, patienceMs, () => daemon.builds.some((one) => one.includes(`FROM ${image}`)));

  it('runtime "auto" takes the daemon that answers at dockerSocket', async () => {
    const { servers } = await client.must<{ servers: { runtime: string }[] }>(
      '{ servers { runtime } }',
    );
    assert.deepEqual(servers, [{ runtime: 'docker' }]);
  });

  const builds: [string, Record<string, string>, string[]][] = [
    [
      'nodeImage is what Node apps are built with',
      { 'package.json': '{"scripts":{"start":"node a.js"}}', 'a.js': '' },
      ['mirror.test/our-node:22'],
    ],
    [
      'pythonImage is what Python apps are built with',
      { 'requirements.txt': '', Procfile: 'web: python a.py', 'a.py': '' },
      ['mirror.test/our-python:3'],
    ],
    [
      'goImage is what Go apps are built with, baseImage what they run in',
      { 'go.mod': 'module a\n', 'main.go': 'package main\nfunc main() {}\n' },
      ['mirror.test/our-go:1', 'mirror.test/our-base:3'],
    ],
  ];
  for (const [title, files, images] of builds) {
    it(title, async () => {
      const app = await client.createApp('Built');
      await client.mustUpload(app.id, archiveOf(files));
      await client.redeploy(app.id);
      for (const image of images) await builtFrom(image);
    });
  }

  it('databaseImages is what databases run in', async () => {
    await client.must(
      'mutation { createDatabase(input: { name: "Ours", engine: POSTGRES, version: "17" }) { id } }',
    );
    await askedFor('mirror.test/our-postgres:17');
  });

  it('buildTimeoutMinutes end the build of an image', async () => {
    const app = await client.createApp('Endless');
    await client.mustUpload(app.id, archiveOf({ Dockerfile: 'FROM scratch\n' }));
    const before = daemon.requests.filter((one) => one.startsWith('POST /build')).length;
    const id = await client.redeploy(app.id);
    await until('it is built', patienceMs, () => {
      return daemon.requests.filter((one) => one.startsWith('POST /build')).length > before;
    });
    // By this answer the daemon's has come too: it was given before, and is not to be leapt over.
    assert.equal((await client.deployment(id))?.status, 'building');
    await time.jump(6 * minuteMs);
    assert.equal((await client.deployment(id))?.status, 'building');
    await time.jump(2 * minuteMs);
    assert.equal(await client.finished(id), 'failed');
    assert.match((await client.deployment(id))?.error ?? '', /7 minutes/);
  });
});
