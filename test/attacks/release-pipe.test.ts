/** An app that swaps `package.json` of its releases for a pipe, which whoever opens it waits at. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ReleaseFolder } from '../../src/places/release-source.ts';
import { appFixture } from '../support/app-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/store-fixture.ts';
import { fillHostile, hostileText, startSwapping as beginSwapping } from '../support/swapping.ts';

/** Swaps it in all releases of an app, those to come too. `pipe` is one pipe, which has many names. */
const swapping = `
const fs = require('node:fs');
const [releases, pipe] = process.argv.slice(1);
const attempt = (work) => { try { work(); } catch {} };
fs.writeSync(1, 'ready');
for (;;) {
  let names = [];
  attempt(() => { names = fs.readdirSync(releases); });
  for (const name of names.sort().slice(-1)) {
    const file = releases + '/' + name + '/package.json';
    for (let turn = 0; turn < 50; turn++) attempt(() => {
      fs.renameSync(file, file + '.kept');
      attempt(() => fs.linkSync(pipe, file));
      attempt(() => fs.renameSync(file + '.kept', file));
    });
  }
}`;

async function startSwapping(releases: string, pipe: string): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, ['-e', swapping, releases, pipe], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGKILL');
    await ended;
  };
}

describe('a release whose package.json becomes a pipe', () => {
  it('fails its own build with a sentence; others build, and the end comes', async (t) => {
    const f = await appFixture();
    let stop = (): Promise<void> => Promise.resolve();
    t.after(async () => {
      await stop();
      await f.close();
    });
    f.source.files = {
      'package.json': '{"scripts":{"start":"node a.js"}}',
      'a.js': '',
    };
    const hostile = await f.uploaded();
    const quiet = await f.uploaded();
    const pipe = join(f.root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const releases = join(f.root, 'apps', hostile.id, 'releases');
    mkdirSync(releases, { recursive: true });
    stop = await startSwapping(releases, pipe);
    const deploy = (appId: string) => f.ask(appId, { type: 'redeploy', trigger: 'api' });
    const isOver = (id: string): boolean => ['ready', 'failed'].includes(f.deployment(id).status);
    for (let round = 0; round < 15; round++) {
      const { id } = await deploy(hostile.id);
      await eventually('the hostile build is over', () => isOver(id), 20_000);
      const log = f.streams.text.get(`build:${id}`) ?? '';
      if (f.deployment(id).status === 'failed')
        assert.match(log, /cannot be read: it is a named pipe|Nothing here says/);
    }
    const { id } = await deploy(quiet.id);
    await f.until(id, 'ready');
    await f.runtime().close();
  });

  it('never holds up who reads it', async (t) => {
    const folder = await temporaryFolder(t);
    mkdirSync(join(folder, 'outside'));
    const outsideFile = join(folder, 'outside', 'victim');
    writeFileSync(outsideFile, 'secret');
    const release = join(folder, 'release');
    mkdirSync(release);
    fillHostile({ folder: release, outsideFolder: join(folder, 'outside'), outsideFile, count: 1 });
    const stop = await beginSwapping(t, release);
    const source = new ReleaseFolder(release);
    for (let round = 0; round < 500; round++) {
      const text = await source.text('file0').catch((error: unknown) => {
        assert.match(String(error), /file0 cannot be read: it is a named pipe\./);
        return null;
      });
      assert.ok(text === null || text === hostileText, String(text));
    }
    await stop();
  });
});
