import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, beforeEach, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { signal } from '../support/processes.ts';

const source = fileURLToPath(new URL('../../src/', import.meta.url));
const npm = fileURLToPath(new URL('../../node_modules/npm/bin/npm-cli.js', import.meta.url));

const { platform, arch, versions } = process;
const ownBinary = `uws_${platform}_${arch}_${versions.modules}.node`;
const otherBinary = `uws_${platform}_${arch}_1.node`;

/** A project of a few small packages that come from files, with the real install scripts. */
class Project {
  readonly folder: string;
  readonly root: string;
  readonly #calls: string;
  readonly #hangs: string;
  readonly #kept: string;

  constructor(folder: string) {
    this.folder = folder;
    this.root = join(folder, 'project');
    this.#calls = join(folder, 'calls');
    this.#hangs = join(folder, 'hangs');
    this.#kept = join(folder, 'kept');
    mkdirSync(join(this.root, 'src'), { recursive: true });
    for (const file of ['install.sh', 'install.mjs'])
      cpSync(join(source, file), join(this.root, 'src', file));
    this.#pack(
      'node',
      '1.0.0',
      { bin: { node: 'bin/node' } },
      {
        'bin/node': `#!/bin/sh\nexec '${process.execPath}' "$@"\n`,
      },
    );
    this.#pack(
      'uWebSockets.js',
      '1.0.0',
      {},
      {
        [`dist/bin/${ownBinary}`]: 'own',
        [`dist/bin/${otherBinary}`]: 'other',
      },
    );
    this.#pack('native', '1.0.0', { os: [platform] }, { 'native.node': 'code' });
    this.#pack('plain', '1.0.0');
    this.#pack('plain', '1.0.1');
    this.#pack('tool', '1.0.0');
    this.lock('1.0.0');
    // An npm that tells when it is called, and may be told to hang, or to bring back what was kept.
    const teller = `
      const fs = require('node:fs');
      const [calls, hangs, kept] = ${JSON.stringify([this.#calls, this.#hangs, this.#kept])};
      fs.appendFileSync(calls, process.pid + '\\n');
      if (fs.existsSync(hangs)) setInterval(() => {}, 60_000);
      else if (fs.existsSync(kept)) fs.cpSync(kept, 'node_modules', { recursive: true });
      else require(${JSON.stringify(npm)});`;
    writeFileSync(join(folder, 'npm.js'), teller);
  }

  #pack(
    name: string,
    version: string,
    manifest: object = {},
    files: Record<string, string> = {},
  ): void {
    const place = join(this.folder, 'pack', 'package');
    const all = { ...files, 'package.json': JSON.stringify({ name, version, ...manifest }) };
    for (const [file, text] of Object.entries(all)) {
      mkdirSync(join(place, file, '..'), { recursive: true });
      writeFileSync(join(place, file), text);
      chmodSync(join(place, file), 0o755);
    }
    const archive = join(this.folder, `${name}-${version}.tgz`);
    execFileSync('tar', ['-czf', archive, '-C', join(place, '..'), 'package']);
    rmSync(place, { recursive: true });
  }

  /** Writes the manifest and a lock file that fits it. */
  lock(plain: string): void {
    const at = (name: string, version = '1.0.0'): string => `file:../${name}-${version}.tgz`;
    const names = ['node', 'uWebSockets.js', 'native'].map((name) => [name, at(name)] as const);
    const manifest = {
      name: 'project',
      version: '1.0.0',
      scripts: { postinstall: 'node src/install.mjs finish' },
      dependencies: { ...Object.fromEntries<string>(names), plain: at('plain', plain) },
      devDependencies: { tool: at('tool') },
    };
    writeFileSync(join(this.root, 'package.json'), JSON.stringify(manifest));
    const args = [npm, 'install', '--package-lock-only', '--ignore-scripts', '--loglevel=error'];
    execFileSync(process.execPath, args, { cwd: this.root, env: this.#env() });
  }

  #env(): NodeJS.ProcessEnv {
    const own = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_)/i.test(name));
    return {
      ...Object.fromEntries(own),
      npm_config_cache: join(this.folder, 'cache'),
      npm_config_offline: 'true',
      npm_config_userconfig: join(this.folder, 'none'),
      npm_node_execpath: process.execPath,
      npm_execpath: join(this.folder, 'npm.js'),
    };
  }

  spawn(part: 'run' | 'all', root = this.root) {
    const child = spawn('sh', ['src/install.sh', part], {
      cwd: root,
      env: this.#env(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    return { pid: child.pid ?? 0, ended, output: () => output };
  }

  /** What an install says; it has to succeed. */
  async install(part: 'run' | 'all', root = this.root): Promise<string> {
    const { ended, output } = this.spawn(part, root);
    assert.equal(await ended, 0, output());
    return output();
  }

  /** The processes of npm so far. */
  get calls(): number[] {
    return existsSync(this.#calls)
      ? readFileSync(this.#calls, 'utf8').trim().split('\n').map(Number)
      : [];
  }

  set hangs(hangs: boolean) {
    if (hangs) writeFileSync(this.#hangs, '');
    else rmSync(this.#hangs);
  }

  /** From here on npm, which takes its time, does nothing but bring back what is there now. */
  keep(): void {
    cpSync(this.at(), this.#kept, { recursive: true, verbatimSymlinks: true });
    rmSync(join(this.#kept, '.gangway'), { recursive: true });
  }

  at(...names: string[]): string {
    return join(this.root, 'node_modules', ...names);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // It ended.
  }
}

describe('an install', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gangway-install-')));
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  let project: Project;
  let asked: number;
  before(() => {
    project = new Project(folder);
  });
  beforeEach(() => {
    asked = project.calls.length;
  });
  const newCalls = (): number => project.calls.length - asked;

  it('of what serving needs leaves out what only tests, other machines or other Nodes need', async () => {
    await project.install('run');
    assert.equal(newCalls(), 1);
    assert.ok(existsSync(project.at('plain')));
    assert.ok(!existsSync(project.at('tool')));
    assert.deepEqual(readdirSync(project.at('uWebSockets.js', 'dist', 'bin')), [ownBinary]);
  });

  it('that is whole is left alone, here and in a copy', async () => {
    const copy = join(folder, 'copy');
    cpSync(project.root, copy, { recursive: true });
    assert.equal(await project.install('run'), '');
    assert.equal(await project.install('run', copy), '');
    // One that nobody wrote down, too.
    rmSync(join(copy, 'node_modules', '.gangway'), { recursive: true });
    assert.equal(await project.install('run', copy), '');
    assert.equal(newCalls(), 0);
  });

  it('is completed for tests without touching what is there, and stays complete', async () => {
    const { ino } = statSync(project.at('plain', 'package.json'));
    await project.install('all');
    assert.ok(existsSync(project.at('tool')));
    assert.equal(statSync(project.at('plain', 'package.json')).ino, ino);
    await project.install('run');
    await project.install('all');
    assert.equal(newCalls(), 1);
  });

  it('follows a changed lock file, and keeps what tests need', async () => {
    project.lock('1.0.1');
    await project.install('run');
    const { version } = JSON.parse(readFileSync(project.at('plain', 'package.json'), 'utf8')) as {
      version: string;
    };
    assert.equal(version, '1.0.1');
    assert.ok(existsSync(project.at('tool')));
  });

  const losable = [
    'plain',
    'native/native.node',
    'node/bin/node',
    '.bin/node',
    `uWebSockets.js/dist/bin/${ownBinary}`,
  ];

  it('that lost much is repaired', async () => {
    for (const lost of losable) rmSync(project.at(lost), { recursive: true });
    await project.install('run');
    for (const lost of losable) assert.ok(existsSync(project.at(lost)), lost);
    assert.equal(newCalls(), 1);
    project.keep();
  });

  for (const lost of losable)
    it(`that lost ${lost} alone is repaired`, async () => {
      rmSync(project.at(lost), { recursive: true });
      await project.install('run');
      assert.ok(existsSync(project.at(lost)));
      assert.equal(newCalls(), 1);
    });

  it('is made once by two at a time', async () => {
    rmSync(project.at(), { recursive: true });
    await Promise.all([project.install('run'), project.install('run')]);
    assert.equal(newCalls(), 1);
  });

  it('that is ended by a signal ends npm, and is made anew by the next', async () => {
    rmSync(project.at(), { recursive: true });
    project.hangs = true;
    const { pid, ended } = project.spawn('run');
    await eventually('npm works', () => newCalls() === 1);
    const [called = 0] = project.calls.slice(-1);
    assert.ok(signal(pid, 'SIGTERM'));
    assert.equal(await ended, 143);
    await eventually('npm has ended', () => !isAlive(called));
    project.hangs = false;
    await project.install('run');
    assert.ok(existsSync(project.at('plain')));
  });

  it('that died leaves no claim that holds', async () => {
    rmSync(project.at(), { recursive: true });
    const { pid, ended } = project.spawn('run');
    await ended;
    rmSync(project.at('plain'), { recursive: true });
    writeFileSync(project.at('.gangway', 'installing'), String(pid));
    await project.install('run');
    assert.ok(existsSync(project.at('plain')));
  });
});
