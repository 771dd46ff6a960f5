/** What the usual programs pack we accept, and what we accept they list with the same names. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ArchiveFormat } from '../../src/archives/formats/format.ts';
import { pax, tar, zip } from '../support/archives.ts';
import { inspect } from '../support/inspect.ts';
import { needs } from '../support/programs.ts';

let root: string;
const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    env: { LC_ALL: 'C.UTF-8', PATH: process.env['PATH'] },
  });
async function names(format: ArchiveFormat, bytes: Uint8Array): Promise<string[]> {
  const found: string[] = [];
  await inspect(format, bytes, {
    visitor: { entry: ({ path }) => (path === '' ? 0 : found.push(path)) },
  });
  return found.sort();
}

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/\/$/, '').replace(/^\.\//, ''))
    .filter((line) => line !== '' && line !== '.')
    .sort();

before(() => {
  root = mkdtempSync(join(tmpdir(), 'gangway-programs-'));
  const deep = join(root, 'app', 'd'.repeat(100), 'e'.repeat(120), 'ü');
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(root, 'app', 'empty'));
  writeFileSync(join(deep, 'file name.txt'), 'x'.repeat(10_000));
  writeFileSync(join(root, 'app', 'run.sh'), '#!/bin/sh\n');
  chmodSync(join(root, 'app', 'run.sh'), 0o755);
  writeFileSync(join(root, 'app', 'none'), '');
  symlinkSync('run.sh', join(root, 'app', 'link'));
});
after(() => {
  rmSync(root, { recursive: true, force: true });
});

describe('GNU tar', { skip: needs('tar') }, () => {
  for (const kind of ['gnu', 'pax', 'posix', 'oldgnu']) {
    it(`packs ${kind} archives that are read as it lists them`, async () => {
      run('tar', `--format=${kind}`, '-cf', 'a.tar', '-C', 'app', '.');
      run('tar', `--format=${kind}`, '-czf', 'a.tgz', 'app');
      const listed = lines(run('tar', '--quoting-style=literal', '-tf', 'a.tar'));
      assert.deepEqual(await names('tar', readFileSync(join(root, 'a.tar'))), listed);
      const inFolder = lines(run('tar', '--quoting-style=literal', '-tzf', 'a.tgz'));
      const bytes = readFileSync(join(root, 'a.tgz'));
      assert.deepEqual(await names('tar.gz', bytes), inFolder);
      assert.equal((await inspect('tar.gz', bytes)).soleFolder, 'app');
    });
  }

  it('lists the archives of our tests as we read them', async () => {
    const bytes = tar(
      { name: 'a', prefix: 'p' },
      pax({ path: 'ü/ß' }),
      { name: 'x', data: 'y' },
      { name: 'g', data: 'long', magic: 'gnu' },
      { name: 'v7', magic: 'v7', data: '1' },
      { name: 'l', type: '2', linkName: 'v7' },
    );
    writeFileSync(join(root, 'ours.tar'), bytes);
    const listed = lines(run('tar', '--quoting-style=literal', '-tf', 'ours.tar'));
    assert.deepEqual(await names('tar', bytes), listed);
    writeFileSync(join(root, 'ours.tgz'), gzipSync(bytes));
    assert.deepEqual(lines(run('tar', '--quoting-style=literal', '-tzf', 'ours.tgz')), listed);
  });
});

describe('Info-ZIP', { skip: needs('zip', 'unzip') }, () => {
  for (const options of [['-r'], ['-ry'], ['-0r'], ['-r', '-fd'], ['-ry', '-fz']]) {
    it(`packs with ${options.join(' ')} what is read as unzip lists it`, async () => {
      rmSync(join(root, 'a.zip'), { force: true });
      run('zip', '-q', ...options, 'a.zip', 'app');
      const listed = lines(run('unzip', '-Z1', 'a.zip'));
      assert.deepEqual(await names('zip', readFileSync(join(root, 'a.zip'))), listed);
    });
  }

  it('packs to a pipe, too', async () => {
    const bytes = execFileSync('sh', ['-c', 'zip -qr - app | cat'], { cwd: root });
    assert.equal((await names('zip', bytes)).length, 9);
  });

  it('lists and tests the archives of our tests as we read them', async () => {
    const bytes = zip([
      { name: 'a', data: 'x', descriptor: 'signed' },
      { name: 'b', data: 'y'.repeat(100), zip64: true },
      { name: 'd/', mode: 0o040755 },
      { name: 'd/l', data: '../a', mode: 0o120777 },
    ]);
    writeFileSync(join(root, 'ours.zip'), bytes);
    assert.deepEqual(await names('zip', bytes), lines(run('unzip', '-Z1', 'ours.zip')));
    assert.match(run('unzip', '-tq', 'ours.zip'), /No errors/);
  });
});

describe('Python', { skip: needs('python3') }, () => {
  it('packs zips, to a file and to a pipe, and lists them as we do', async () => {
    const script = [
      'import sys, zipfile, io',
      'class Pipe(io.RawIOBase):',
      '  def __init__(self): self.all = bytearray()',
      '  def writable(self): return True',
      '  def write(self, b): self.all += b; return len(b)',
      'for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):',
      '  pipe = Pipe()',
      '  with zipfile.ZipFile(pipe, "w", method) as z:',
      '    z.writestr("a/ü.txt", "hello" * 1000); z.writestr("b", ""); z.writestr("c/", "")',
      '  open("pipe%d.zip" % method, "wb").write(pipe.all)',
      '  with zipfile.ZipFile("file%d.zip" % method, "w", method) as z:',
      '    z.writestr("a/ü.txt", "hello" * 1000); z.writestr("b", ""); z.writestr("c/", "")',
    ].join('\n');
    run('python3', '-c', script);
    const made = readdirSync(root).filter((file) => /^(pipe|file)\d\.zip$/.test(file));
    assert.equal(made.length, 4);
    for (const file of made) {
      assert.deepEqual(await names('zip', readFileSync(join(root, file))), ['a/ü.txt', 'b', 'c']);
    }
  });

  it('packs tars that are read as it lists them', async () => {
    for (const kind of ['USTAR', 'GNU', 'PAX']) {
      const script = `import tarfile
t = tarfile.open("py.tar", "w", format=tarfile.${kind}_FORMAT)
t.add("app/run.sh"); t.add("app/link"); t.add("app/empty"); t.close()`;
      run('python3', '-c', script);
      const bytes = readFileSync(join(root, 'py.tar'));
      assert.deepEqual(await names('tar', bytes), ['app/empty', 'app/link', 'app/run.sh']);
    }
  });
});

describe('git archive', { skip: needs('git') }, () => {
  it('packs what is read', async () => {
    const git = (...args: string[]): string =>
      run('git', '-C', 'app', '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args);
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'all');
    for (const [format, file] of [
      ['tar', 'g.tar'],
      ['tar.gz', 'g.tgz'],
      ['zip', 'g.zip'],
    ] as const) {
      git('archive', `--format=${format}`, '-o', `../${file}`, 'HEAD');
      const found = await names(format, readFileSync(join(root, file)));
      for (const name of ['run.sh', 'link', 'none']) assert.ok(found.includes(name));
    }
    rmSync(join(root, 'app', '.git'), { recursive: true });
  });
});
