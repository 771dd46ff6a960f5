/**
 * Owns another state of the project beside this one: a commit, checked out below the temporary
 * folder, to be made ready to run.
 *
 * 1. `close` takes it away and leaves no trace in the repository; twice is fine.
 * 2. It can be closed at any time, from a signal's handler or while the process exits, too.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface WorktreeOptions {
  /** The repository, with its packages installed. */
  home: string;
  ref: string;
}

const installMs = 600_000;

export class Worktree {
  readonly root: string;
  readonly commit: string;
  readonly #home: string;
  #isOpen = true;
  /** The process group that installs packages, if one does. */
  #installing: number | null = null;
  readonly #onExit = (): void => this.close();

  /** Checks the reference out; throws, and leaves nothing, where it cannot. */
  static open({ home, ref }: WorktreeOptions): Worktree {
    const found = git(home, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`);
    if (found === null) throw new Error(`There is no commit ${ref} in this repository.`);
    return new Worktree(home, found);
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
    // With all that it started: nothing may write into what is taken away.
    if (this.#installing !== null) endGroup(this.#installing);
    git(this.#home, 'worktree', 'remove', '--force', this.root);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
    git(this.#home, 'worktree', 'prune');
  }

  /** Gives it packages: those that are here where the lock file is the same, else its own. */
  async install(log: (line: string) => void): Promise<void> {
    const packages = join(this.#home, 'node_modules');
    if (hasSameLock(this.#home, this.root)) {
      symlinkSync(packages, join(this.root, 'node_modules'));
      return;
    }
    log('its packages are others: they are installed (npm ci) …');
    const npm = join(packages, 'npm', 'bin', 'npm-cli.js');
    const args = [npm, 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
    const child = spawn(process.execPath, args, {
      cwd: this.root,
      stdio: ['ignore', 'ignore', 'inherit'],
      // A group of its own, which can be ended as one.
      detached: true,
    });
    this.#installing = child.pid ?? null;
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(installMs) });
    const [code, signal] = (await ended.catch((error: unknown) => {
      throw this.#notInstalled(error);
    })) as [number | null, string | null];
    this.#installing = null;
    if (code !== 0) throw this.#notInstalled(new Error(`npm ended with ${String(signal ?? code)}`));
  }

  #notInstalled(cause: unknown): Error {
    return new Error(`The packages of ${this.commit} cannot be installed`, { cause });
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of it has ended already.
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
