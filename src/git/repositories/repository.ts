/**
 * Owns the bare repositories on this machine, and how git touches them: never but in a sandbox, for a
 * repository is made of what strangers wrote.
 *
 *   <root>                     0711
 *   <root>/<name>              0710  ours, group of the repository's uid
 *   <root>/<name>/{repo,tmp}   0700  the repository's
 *   <root>/<name>/beside       0700  objects and an index while the sandbox is open
 *
 * 1. Git runs as a workload of the runner: with the layers of isolation that builds have, under a uid that
 *    owns this repository alone, with bounded memory and time. It has no credentials, and is given none.
 * 2. One thing at a time happens in a repository.
 * 3. No name that a stranger chose is an argument of git's, but behind a hash.
 */
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Driver, Pipe } from '../../drivers/driver.ts';
import { ServiceError } from '../../lib/errors.ts';
import { KeyedQueue } from '../../lib/keyed-queue.ts';
import type { Logger } from '../../lib/log.ts';
import { Folder, ignoreChange, within } from '../../lib/untrusted-files/folder.ts';
import { makeOurs, makeTheirs } from '../../lib/untrusted-files/owners.ts';
import { removeTree } from '../../lib/untrusted-files/remove.ts';
import { gitFailed, plainLine } from '../git-failure.ts';

export interface RepositoriesOptions {
  /** Absolute; nobody else can change it, and every uid can walk through it. */
  root: string;
  /** Runs programs of this machine. */
  driver: Pick<Driver, 'start' | 'pipe' | 'remove'>;
  /** Null: git runs under our own uid. */
  uids: { first: number; last: number } | null;
  logger: Logger;
}

/** Who the sandbox is for. */
export interface SandboxOwner {
  /** Of the workload; unlike any other. */
  job: string;
  appId: string;
  teamId: string;
}

const memoryMb = 1024;
const pidsMax = 64;
/** Longer than any work in it may take. */
const deadlineMs = 60 * 60_000;
const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Of what git answers in one piece. */
const answerMaxBytes = 256 * 1024;

export class Repositories {
  readonly #options: RepositoriesOptions;
  readonly #turns = new KeyedQueue();
  /** Repositories that something happens in, or waits to. */
  readonly #busy = new Map<string, number>();

  constructor(options: RepositoriesOptions) {
    this.#options = options;
  }

  /** Gives `work` the repository of this name, which is made when it is not there. */
  async use<T>(
    name: string,
    owner: SandboxOwner,
    signal: AbortSignal,
    work: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    this.#busy.set(name, (this.#busy.get(name) ?? 0) + 1);
    try {
      return await this.#turns.take(name, () => this.#inSandbox(name, owner, signal, work));
    } finally {
      const others = (this.#busy.get(name) ?? 1) - 1;
      if (others === 0) this.#busy.delete(name);
      else this.#busy.set(name, others);
    }
  }

  /** Removes a repository that nothing happens in. */
  async remove(name: string): Promise<void> {
    await this.#turns.take(name, () => removeTree(join(this.#options.root, name)));
  }

  /** Removes repositories that were not used since. */
  async removeUnused(sinceMs: number): Promise<void> {
    const { root } = this.#options;
    for (const name of await readdir(root).catch(() => [])) {
      const used = await lstat(join(root, name)).catch(() => undefined);
      if (used === undefined || used.mtimeMs >= sinceMs || this.#busy.has(name)) continue;
      await this.remove(name);
    }
  }

  async #inSandbox<T>(
    name: string,
    owner: SandboxOwner,
    signal: AbortSignal,
    work: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const { driver, logger } = this.#options;
    const folders = await this.#folders(name);
    const spec = this.#spec(owner, folders);
    const { state } = await driver.start(spec);
    if (state.phase === 'ended') {
      // An earlier try was cut off.
      await driver.remove(owner.job);
      await driver.start(spec);
    }
    try {
      const repository = new Repository(driver, owner.job, folders, signal);
      if (!folders.isThere) await repository.init();
      return await work(repository);
    } finally {
      await driver.remove(owner.job).catch((error: unknown) => {
        logger.warn({ workload: owner.job, err: error }, 'workload_not_removed');
      });
      await removeTree(join(folders.top, 'beside'));
    }
  }

  async #folders(name: string): Promise<RepositoryFolders> {
    const { root, uids } = this.#options;
    await mkdir(root, { recursive: true, mode: 0o711 });
    // The umask cuts the mode above.
    await chmod(root, 0o711);
    const uid = uids && uidOf(name, uids);
    const top = join(root, name);
    const [repo, temp] = [join(top, 'repo'), join(top, 'tmp')];
    await makeOurs(top, uid);
    for (const folder of [repo, temp]) await makeTheirs(folder, uid);
    await utimes(top, new Date(), new Date());
    const head = await lstat(join(repo, 'HEAD')).catch(() => undefined);
    return { top, repo, temp, uid, isThere: head !== undefined };
  }

  #spec(
    { job, appId, teamId }: SandboxOwner,
    { top, repo, temp, uid }: RepositoryFolders,
  ): Parameters<Driver['start']>[0] {
    return {
      id: job,
      owner: appId,
      team: teamId,
      kind: 'job',
      // Git's programs run beside it; they end with it.
      command: ['sleep', String(deadlineMs / 1000)],
      workingDir: repo,
      env: gitEnvironment(repo, temp),
      uid,
      port: null,
      container: null,
      files: { root: top, temp },
      resources: { memoryMb, cpus: null, pids: pidsMax, replicas: 1 },
      deadlineMs,
      stopGraceMs: 0,
    };
  }
}

interface RepositoryFolders {
  top: string;
  repo: string;
  temp: string;
  uid: number | null;
  /** Whether it was made before. */
  isThere: boolean;
}

/** A repository while its sandbox is open. */
export class Repository {
  readonly #driver: Pick<Driver, 'pipe'>;
  readonly #job: string;
  readonly #folders: Pick<RepositoryFolders, 'top' | 'repo' | 'uid'>;
  readonly #signal: AbortSignal;

  constructor(
    driver: Pick<Driver, 'pipe'>,
    job: string,
    folders: Pick<RepositoryFolders, 'top' | 'repo' | 'uid'>,
    signal: AbortSignal,
  ) {
    this.#driver = driver;
    this.#job = job;
    this.#folders = folders;
    this.#signal = signal;
  }

  async init(): Promise<void> {
    await this.answer(['init', '--quiet', '--bare', '--template=']);
  }

  /** What it keeps. */
  async packs(): Promise<{ count: number; bytes: number }> {
    const packs = { count: 0, bytes: 0 };
    await within(Folder.open(dirname(this.#folders.repo)), async (top) => {
      const folder = await top.below(['repo', 'objects', 'pack']).catch(ignoreChange);
      if (folder === undefined) return;
      await within(Promise.resolve(folder), async () => {
        for await (const name of folder.names()) {
          packs.count += Number(name.toString().endsWith('.pack'));
          packs.bytes += (await folder.lstat(name)).size;
        }
      });
    });
    return packs;
  }

  /** Removes all that is in it. */
  async empty(): Promise<void> {
    const { repo, uid } = this.#folders;
    await removeTree(repo);
    await makeTheirs(repo, uid);
    await this.init();
  }

  /** Variables by which git has an empty index, and objects that are gone with the sandbox. */
  async beside(): Promise<Record<string, string>> {
    const { top, repo, uid } = this.#folders;
    const folder = join(top, 'beside');
    await removeTree(folder);
    await makeTheirs(folder, uid);
    return {
      GIT_INDEX_FILE: join(folder, 'index'),
      GIT_OBJECT_DIRECTORY: folder,
      // In quotes it may hold a colon.
      GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(repo, 'objects')),
    };
  }

  /** What git answers, in one piece. Rejects with GIT_FAILED. */
  async answer(
    args: readonly string[],
    input: AsyncIterable<Uint8Array> | null = null,
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    return (await this.bytes(args, input, env)).toString();
  }

  /** The commit of a branch; null: there is none. */
  async tip(branch: string): Promise<string | null> {
    const ref = `refs/heads/${branch}`;
    const found = await this.answer(['show-ref', '--verify', '--hash', ref]).catch(noRef);
    return found?.trim() ?? null;
  }

  /** The commits of all branches, by name. */
  async heads(): Promise<Map<string, string>> {
    const format = '--format=%(objectname) %(refname:strip=2)';
    const lines = (await this.answer(['for-each-ref', format, 'refs/heads'])).split('\n');
    const named = lines.filter((line) => line !== '').map((line) => line.split(' ', 2));
    return new Map(named.map(([sha = '', branch = '']) => [branch, sha]));
  }

  async bytes(
    args: readonly string[],
    input: AsyncIterable<Uint8Array> | null = null,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of this.stream(args, input, env)) {
      bytes += chunk.length;
      if (bytes > answerMaxBytes) throw gitFailed('Git answered with too much.');
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** What git writes, as it is taken. Throws GIT_FAILED at the end of one that failed. */
  async *stream(
    args: readonly string[],
    input: AsyncIterable<Uint8Array> | null = null,
    env: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<Uint8Array, void> {
    const { output, ended } = await this.#pipe(args, input, env);
    yield* output;
    const { exitCode, complaint } = await ended;
    if (exitCode === 0) return;
    if (exitCode === 137) throw gitFailed('Git needs more memory for it than it may use here.');
    const said = complaint.trim().split('\n').at(-1) ?? '';
    throw gitFailed(`Git refuses it: ${plainLine(said.replace(/^(fatal|error): /, ''))}`);
  }

  async #pipe(
    args: readonly string[],
    input: AsyncIterable<Uint8Array> | null,
    env: Readonly<Record<string, string>>,
  ): Promise<Pipe> {
    const command = ['git', '-c', 'core.hooksPath=/dev/null', ...args];
    try {
      return await this.#driver.pipe(this.#job, { command, env }, input, this.#signal);
    } catch (error) {
      const isMissing = error instanceof ServiceError && error.code === 'BAD_USER_INPUT';
      throw isMissing ? gitFailed('Git is not installed on this server.', error) : error;
    }
  }
}

function noRef(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'GIT_FAILED') return null;
  throw error;
}

/** Nothing of the machine's own settings counts, and nobody is asked. */
function gitEnvironment(repo: string, temp: string): Record<string, string> {
  return {
    PATH: programPath,
    HOME: temp,
    TMPDIR: temp,
    LANG: 'C.UTF-8',
    GIT_DIR: repo,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

/** Two may share one, as rarely as chance has it: then their views of files still keep them apart. */
function uidOf(name: string, { first, last }: { first: number; last: number }): number {
  const hash = createHash('sha256').update(name).digest();
  return first + (hash.readUInt32BE(0) % (last - first + 1));
}
