import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worktree } from '../../../bench/worktree.ts';
import { eventually } from '../../support/eventually.ts';
import { needs } from '../../support/programs.ts';

const programUrl = new URL('../../../bench/worktree.ts', import.meta.url).href;

describe('Worktree', { skip: needs('git') }, () => {
  let home: string;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: home, encoding: 'utf8' }).trim();
  const trees = (): number => git('worktree', 'list').split('\n').length;
  const open = (ref: string) => Worktree.open({ home, ref });

  before(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), 'gangway-test-')));
    git('init', '-q', '-b', 'main');
    git('config', 'user.email', 'bench@example.com');
    git('config', 'user.name', 'Bench');
    writeFileSync(join(home, 'package-lock.json'), '{}');
    writeFileSync(join(home, 'state'), 'old');
    git('add', '.');
    git('commit', '-q', '-m', 'old');
    writeFileSync(join(home, 'state'), 'new');
    git('commit', '-q', '-am', 'new');
    mkdirSync(join(home, 'node_modules', 'some-package'), { recursive: true });
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  it('holds another commit, with the packages of this one where the lock is the same', async () => {
    const tree = open('HEAD~1');
    await tree.install(() => undefined);
    assert.equal(readFileSync(join(tree.root, 'state'), 'utf8'), 'old');
    assert.ok(existsSync(join(tree.root, 'node_modules', 'some-package')));
    assert.equal(tree.commit, git('rev-parse', 'HEAD~1'));
    tree.close();
  });

  it('leaves nothing when it is closed, and not the packages it was lent: twice is fine', async () => {
    const tree = open('main');
    await tree.install(() => undefined);
    assert.equal(trees(), 2);
    tree.close();
    tree.close();
    assert.equal(trees(), 1);
    assert.ok(!existsSync(tree.root));
    assert.ok(existsSync(join(home, 'node_modules', 'some-package')));
    assert.equal(git('status', '--porcelain', '--untracked-files=no'), '');
  });

  it('leaves nothing where there is no such commit, or it cannot be made ready', async () => {
    assert.throws(() => open('no-such-branch'), /There is no commit no-such-branch/);
    assert.throws(() => open('--help'), /There is no commit/);
    git('checkout', '-q', '-b', 'without-lock');
    git('rm', '-q', 'package-lock.json');
    git('commit', '-q', '-m', 'without a lock');
    git('checkout', '-q', 'main');
    const tree = open('without-lock');
    await assert.rejects(
      tree.install(() => undefined),
      /package-lock\.json/,
    );
    tree.close();
    assert.equal(trees(), 1);
  });

  /** An npm that does as it is told, in place of the one that asks a registry. */
  const installsBy = (program: string): void => {
    const folder = join(home, 'node_modules', 'npm', 'bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'npm-cli.js'), program);
  };

  it('gets packages of its own where the lock is another, and those packages are its own', async () => {
    git('checkout', '-q', '-b', 'other-lock');
    writeFileSync(join(home, 'package-lock.json'), '{ "lockfileVersion": 3 }');
    git('commit', '-q', '-am', 'another lock');
    git('checkout', '-q', 'main');
    installsBy(`require('node:fs').mkdirSync('node_modules/own', { recursive: true });`);
    const said: string[] = [];
    const tree = open('other-lock');
    await tree.install((line) => void said.push(line));
    assert.ok(existsSync(join(tree.root, 'node_modules', 'own')));
    assert.ok(!existsSync(join(home, 'node_modules', 'own')));
    assert.match(said.join(), /its packages are others/);
    tree.close();

    installsBy('process.exit(7);');
    const without = open('other-lock');
    await assert.rejects(
      without.install(() => undefined),
      (error: Error) => {
        assert.match(error.message, /cannot be installed/);
        assert.match(String(error.cause), /with 7/);
        return true;
      },
    );
    without.close();
    assert.equal(trees(), 1);
  });

  it('ends what installs its packages when it is closed meanwhile', async () => {
    const pidFile = join(home, 'pid');
    installsBy(`
      const child = require('node:child_process').spawn('sleep', ['60']);
      require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));`);
    const tree = open('other-lock');
    const installed = tree.install(() => undefined);
    const refused = assert.rejects(installed, /cannot be installed/);
    const pidOf = (): string => (existsSync(pidFile) ? readFileSync(pidFile, 'utf8') : '');
    await eventually('the installation', () => pidOf() !== '');
    tree.close();
    await refused;
    await eventually('what it started to end', () => !existsSync(`/proc/${pidOf()}/exe`));
    assert.ok(!existsSync(tree.root));
    assert.equal(trees(), 1);
  });

  for (const end of ['process.exit(130)', "throw new Error('a scenario failed')"]) {
    it(`leaves nothing when the process ends by ${end}`, () => {
      const program = `
        import { Worktree } from ${JSON.stringify(programUrl)};
        const tree = Worktree.open({ home: ${JSON.stringify(home)}, ref: 'main' });
        console.log(tree.root);
        ${end};`;
      const file = join(home, 'ends.mjs');
      writeFileSync(file, program);
      const { stdout, status } = spawnSync(
        process.execPath,
        ['--no-warnings', pathToFileURL(file).pathname],
        {
          encoding: 'utf8',
        },
      );
      assert.notEqual(status, 0);
      assert.match(stdout, /gangway-base-/);
      assert.ok(!existsSync(stdout.trim()));
      assert.equal(trees(), 1);
    });
  }
});
