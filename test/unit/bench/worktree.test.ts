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

const programUrl = new URL('../../../bench/worktree.ts', import.meta.url).href;

describe('Worktree', () => {
  let home: string;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: home, encoding: 'utf8' }).trim();
  const trees = (): number => git('worktree', 'list').split('\n').length;
  const open = (ref: string) => Worktree.open({ home, ref, log: () => undefined });

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

  it('holds another commit, with the packages of this one where the lock is the same', () => {
    const tree = open('HEAD~1');
    assert.equal(readFileSync(join(tree.root, 'state'), 'utf8'), 'old');
    assert.ok(existsSync(join(tree.root, 'node_modules', 'some-package')));
    assert.equal(tree.commit, git('rev-parse', 'HEAD~1'));
    tree.close();
  });

  it('leaves nothing when it is closed, and not the packages it was lent: twice is fine', () => {
    const tree = open('main');
    assert.equal(trees(), 2);
    tree.close();
    tree.close();
    assert.equal(trees(), 1);
    assert.ok(!existsSync(tree.root));
    assert.ok(existsSync(join(home, 'node_modules', 'some-package')));
    assert.equal(git('status', '--porcelain', '--untracked-files=no'), '');
  });

  it('leaves nothing where there is no such commit, or it cannot be made ready', () => {
    assert.throws(() => open('no-such-branch'), /There is no commit no-such-branch/);
    assert.throws(() => open('--help'), /There is no commit/);
    git('checkout', '-q', '-b', 'without-lock');
    git('rm', '-q', 'package-lock.json');
    git('commit', '-q', '-m', 'without a lock');
    git('checkout', '-q', 'main');
    assert.throws(() => open('without-lock'), /package-lock\.json/);
    assert.equal(trees(), 1);
  });

  for (const end of ['process.exit(130)', "throw new Error('a scenario failed')"]) {
    it(`leaves nothing when the process ends by ${end}`, () => {
      const program = `
        import { Worktree } from ${JSON.stringify(programUrl)};
        const tree = Worktree.open({ home: ${JSON.stringify(home)}, ref: 'main', log: () => {} });
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
