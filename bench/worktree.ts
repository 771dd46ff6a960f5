/**
 * Owns another state of the project beside this one: a commit, checked out below the temporary
 * folder, ready to run.
 *
 * 1. `close` takes it away and leaves no trace in the repository; twice is fine.
 * 2. It can be closed at any time, from a signal's handler or while the process exits, too.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface WorktreeOptions {
  /** The repository, with its packages installed. */
  home: string;
  ref: string;
  log: (line: string) => void;
}

export class Worktree {
  readonly root: string;
  readonly commit: string;
  readonly #home: string;
  #isOpen = true;
  readonly #onExit = (): void => this.close();

  /** Checks the reference out and gives it its packages; throws, and leaves nothing, where it cannot. */
  static open({ home, ref, log }: WorktreeOptions): Worktree {
    const found = git(home, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`);
    if (found === null) throw new Error(`There is no commit ${ref} in this repository.`);
    const tree = new Worktree(home, found);
    try {
      tree.#install(log);
    } catch (error) {
      tree.close();
      throw error;
    }
    return tree;
  }

  private constructor(home: string, commit: string) {
    this.#home = home;
    this.commit = commit;
    this.root = mkdtempSync(join(tmpdir(), 'gangway-base-'));
    process.once('exit', this.#onExit);
    if (git(home, 'worktree', 'add', '--detach', this.root, commit) !== null) return;
    this.close();
    throw new Error(`git cannot check ${commit} out into ${this.root}`);
  }

  /** The Node that this state of the project names, where it has packages of its own. */
  get node(): string {
    const own = join(this.root, 'node_modules', '.bin', 'node');
    return existsSync(own) ? own : process.execPath;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.off('exit', this.#onExit);
    git(this.#home, 'worktree', 'remove', '--force', this.root);
    rmSync(this.root, { recursive: true, force: true });
    git(this.#home, 'worktree', 'prune');
  }

  #install(log: (line: string) => void): void {
    const packages = join(this.#home, 'node_modules');
    if (hasSameLock(this.#home, this.root)) {
      symlinkSync(packages, join(this.root, 'node_modules'));
      return;
    }
    log(`its packages are others: npm ci in ${this.root} …`);
    const npm = join(packages, 'npm', 'bin', 'npm-cli.js');
    const args = [npm, 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status, error } = spawnSync(process.execPath, args, {
      cwd: this.root,
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: 600_000,
    });
    if (status === 0) return;
    const cause = error ?? new Error(`npm ended with ${String(status)}`);
    throw new Error(`The packages of ${this.commit} cannot be installed`, { cause });
  }
}

function hasSameLock(one: string, other: string): boolean {
  const lock = (root: string): Buffer => readFileSync(join(root, 'package-lock.json'));
  return lock(one).equals(lock(other));
}

/** What git printed; null where it refused. Hooks and the environment of a caller's git are left out. */
function git(cwd: string, ...args: string[]): string | null {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')),
  );
  const { status, stdout } = spawnSync('git', ['-c', 'core.hooksPath=/dev/null', ...args], {
    cwd,
    env,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : null;
}
