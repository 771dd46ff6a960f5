import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { detectBuild, settlePlan } from '../../../../../src/actors/app/build/detect.ts';
import { ReleaseFolder } from '../../../../../src/places/release-source.ts';
import { emptyBuild } from '../../../../../src/actors/app/settings/validate.ts';
import type { BuildConfig } from '../../../../../src/store/records/records.ts';

describe('build detection', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gangway-detect-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const write = async (files: Record<string, string>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text, { mode: 0o755 });
    }
  };
  const detect = (config: Partial<BuildConfig> = {}, path: string[] = []) =>
    detectBuild(
      new ReleaseFolder(folder),
      { ...emptyBuild, ...config },
      {
        has: (program) => Promise.resolve(path.some((at) => existsSync(join(at, program)))),
        nodeVersion: '22.1.0',
      },
    );
  const settle = async (config: Partial<BuildConfig> = {}) => {
    const { release } = await detect(config);
    return settlePlan(new ReleaseFolder(folder), release, { ...emptyBuild, ...config });
  };
  const manifest = (fields: object) => ({ 'package.json': JSON.stringify(fields) });
  const ci = 'npm ci --include=dev --no-audit --no-fund';
  const install = 'npm install --include=dev --no-audit --no-fund';

  it('installs by the lock file, builds, and runs the start script itself', async () => {
    await write({
      ...manifest({ scripts: { build: 'tsc', start: 'node out.js' }, dependencies: { a: '1' } }),
      'package-lock.json': '{}',
    });
    const { steps, release } = await detect();
    assert.deepEqual(steps, [ci, 'npm run build']);
    assert.deepEqual(release, { kind: 'node', startCommand: 'node out.js', staticDir: null });
  });

  it('installs without a lock file, and says that a foreign one is not read', async () => {
    await write({ ...manifest({ main: './app.js', dependencies: { a: '1' } }), 'app.js': '' });
    await write({ 'yarn.lock': '' });
    const { steps, notes, release } = await detect();
    assert.deepEqual(steps, [install]);
    assert.match(notes.join(), /yarn\.lock is not read/);
    assert.equal(release.startCommand, "node 'app.js'");
  });

  it('starts server.js as npm would, and leaves hooked scripts to npm', async () => {
    await write({ ...manifest({}), 'server.js': '' });
    assert.equal((await detect()).release.startCommand, 'node server.js');
    assert.deepEqual((await detect()).steps, []);
    await write(manifest({ scripts: { prestart: 'x', start: 'y' } }));
    assert.equal((await detect()).release.startCommand, 'npm start');
  });

  it('serves what a build without a start script made', async () => {
    await write(manifest({ scripts: { build: 'vite build' }, devDependencies: { vite: '6' } }));
    await write({ 'index.html': 'source' });
    const { steps, release } = await detect();
    assert.deepEqual(steps, [install, 'npm run build']);
    assert.equal(release.kind, 'static');
    await write({ 'dist/index.html': 'built' });
    assert.equal((await settle()).staticDir, 'dist');
    await write({ 'made/x.html': '' });
    assert.equal((await settle({ outputDir: 'made' })).staticDir, 'made');
    await assert.rejects(settle({ outputDir: 'nowhere' }), /made no folder nowhere/);
  });

  it('lets the Procfile say how to start, and package.json how to build', async () => {
    await write({ Procfile: '# c\nworker: w\nweb: node a.js --x\n', ...manifest({}) });
    await write({ 'package-lock.json': '{}' });
    const { found, steps, release } = await detect();
    assert.equal(found, 'Procfile');
    assert.deepEqual(steps, [ci]);
    assert.deepEqual(release, { kind: 'procfile', startCommand: 'node a.js --x', staticDir: null });
    await write({ Procfile: 'worker: w' });
    await assert.rejects(detect(), /no line "web: <command>"/);
  });

  it('puts configured commands in the place of what was found', async () => {
    await write(manifest({ scripts: { build: 'a', start: 'b' }, dependencies: { c: '1' } }));
    const build = await detect({ buildCommand: 'make', startCommand: './run' });
    assert.deepEqual(build.steps, [install, 'make']);
    assert.deepEqual(build.release, { kind: 'command', startCommand: './run', staticDir: null });
    const own = await detect({ buildCommand: 'npm ci && npm run x' });
    assert.deepEqual(own.steps, ['npm ci && npm run x']);
    assert.equal(own.release.startCommand, 'b');
    assert.equal((await detect({ outputDir: 'dist' })).release.startCommand, null);
  });

  it('builds Python and Go where the host can, and says when it cannot', async () => {
    await write({ 'requirements.txt': '', 'app.py': '' });
    await assert.rejects(detect(), /Python app, and this server has no python3/);
    await write({ 'tools/python3': '', 'tools/go': '' });
    const tools = [join(folder, 'tools')];
    const python = await detect({}, tools);
    assert.equal(python.release.startCommand, 'python app.py');
    assert.match(python.steps.join(), /venv.*requirements\.txt/);
    await rm(join(folder, 'requirements.txt'));
    await write({ 'go.mod': 'module x' });
    await assert.rejects(detect(), /Go app, and this server has no go/);
    assert.match((await detect({}, tools)).steps.join(), /go build/);
  });

  it('serves plain files', async () => {
    await write({ 'index.html': '' });
    assert.deepEqual(await settle(), { kind: 'static', startCommand: null, staticDir: '.' });
    assert.equal((await settle({ outputDir: '.' })).staticDir, '.');
  });

  it('says what was looked for when nothing fits', async () => {
    await write({ 'readme.md': '' });
    await assert.rejects(detect(), /Looked for: .*Procfile, package\.json.*index\.html\.$/);
    await write({ Dockerfile: '' });
    await assert.rejects(detect(), /There is a Dockerfile; this server has no docker runtime/);
    await write(manifest({ scripts: { build: 'x' } }));
    await assert.rejects(settle(), /no start command, and no index\.html/);
  });

  it('refuses another Node, a configured Dockerfile, and a broken package.json', async () => {
    await write({ 'index.html': '' });
    await assert.rejects(detect({ nodeVersion: '20' }), /Node 20; this server has Node 22\.1\.0/);
    await detect({ nodeVersion: 'v22.x' });
    await detect({ nodeVersion: 'lts' });
    await assert.rejects(detect({ dockerfile: 'Dockerfile' }), /needs the docker runtime/);
    await write({ 'package.json': '{' });
    await assert.rejects(detect(), /not valid JSON/);
    await write({ 'package.json': '[]' });
    await assert.rejects(detect(), /not a JSON object/);
  });

  it('follows no link out of the source', async () => {
    await symlink('/etc/passwd', join(folder, 'package.json'));
    await symlink('/etc/passwd', join(folder, 'index.html'));
    await assert.rejects(detect(), /Looked for/);
  });

  it('opens no pipe, and looks behind no link', async () => {
    execFileSync('mkfifo', [join(folder, 'package.json')]);
    await assert.rejects(detect(), {
      code: 'NOT_DEPLOYABLE',
      message: 'package.json cannot be read: it is a named pipe.',
    });
    await rm(join(folder, 'package.json'));
    await write({ 'site/index.html': 'x', 'index.html': 'x' });
    await symlink('site', join(folder, 'linked'));
    const source = new ReleaseFolder(folder);
    assert.equal(await source.hasFile('site', 'index.html'), true);
    assert.equal(await source.hasFile('./site/../index.html'), true);
    assert.equal(await source.hasFolder('.'), true);
    for (const path of ['linked/index.html', '../index.html', 'x\0y', 'x'.repeat(300), 'site/']) {
      assert.equal(await source.hasFile(path), false, path);
    }
  });
});
