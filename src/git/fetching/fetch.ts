/**
 * Owns fetching a commit of a branch, by default the newest, as an archive: what builds then unpack, as they do an upload.
 *
 * 1. The service talks to the server, and hands the bytes to git in its sandbox: git itself reaches nobody, and
 *    sees no credentials.
 * 2. Objects stay for the next time, one repository for a team, connection and remote.
 * 3. Time, bytes that come, and bytes that are unpacked are bounded.
 */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import { gitFailed, plainLine } from '../git-failure.ts';
import type { GitRemote } from '../providers/provider.ts';
import type { Repositories, Repository, SandboxOwner } from '../repositories/repository.ts';
import type { GitCommit } from './commit.ts';
import { remoteFlaw } from './remote-flaw.ts';
import { tooManyFiles, type TreeFile, treeFiles } from './tree-files.ts';
import { type WholeTree, WholeTrees } from './whole-tree.ts';
import { findBranch, type Link, packOf, type Tip } from './upload-pack.ts';

export interface GitFetchOptions {
  http: Pick<GuardedFetch, 'send' | 'checked'>;
  repositories: Repositories;
  /** Those that people push to. */
  pushed: Repositories;
  logger: Logger;
  limits?: Partial<typeof gitLimits>;
}

export const gitLimits = {
  /** Over all of a fetch. */
  fetchMs: 10 * 60_000,
  silenceMs: 60_000,
  packBytes: 1024 ** 3,
  /** Of a commit's files. */
  treeBytes: 4 * 1024 ** 3,
  /** Of a commit with its submodules; as many as an archive may have. */
  treeFiles: 200_000,
  /** That are looked at, also where the app is built from a few of them. */
  walkedFiles: 1_000_000,
  /** Of what is kept of a repository: beyond, it is fetched anew. */
  keptBytes: 1536 * 1024 ** 2,
  keptPacks: 16,
  keptMs: 7 * 24 * 3_600_000,
};

export interface FetchRequest extends SandboxOwner {
  connectionId: string | null;
  remote: GitRemote;
  branch: string;
  /** The only commit that will do; null: the newest of the branch. */
  sha: string | null;
  /** A folder of the repository; null: all of it. */
  path: string | null;
  /** Whether submodules are fetched, too. */
  submodules: boolean;
  /** The file that is written: a tar. */
  archive: string;
  /** Told before anything is unpacked. */
  found: (commit: GitCommit) => Promise<void>;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** Of what was pushed here. */
export interface PushedRequest extends Omit<
  FetchRequest,
  'connectionId' | 'remote' | 'submodules'
> {
  /** The app that it was pushed to. */
  pushedTo: string;
}

export class GitFetch {
  readonly #options: GitFetchOptions;
  readonly #limits: typeof gitLimits;

  constructor(options: GitFetchOptions) {
    this.#options = options;
    this.#limits = { ...gitLimits, ...options.limits };
  }

  /** Rejects with GIT_FAILED, or with the reason of the signal. */
  async fetch(request: FetchRequest): Promise<GitCommit> {
    const { fetchMs, silenceMs } = this.#limits;
    const late = AbortSignal.timeout(fetchMs);
    const signal = AbortSignal.any([request.signal, late]);
    try {
      const { remote, branch } = request;
      const { http } = this.#options;
      const flaw = remoteFlaw(remote.url, http);
      if (flaw !== null) throw gitFailed(`The repository cannot be fetched: ${flaw}`);
      const link: Link = { http, remote, silenceMs, signal };
      request.say(`Fetching ${plainLine(branch)} of ${plainLine(remote.url)}.`);
      const newest = await findBranch(link, branch);
      const tip = { ...newest, sha: request.sha ?? newest.sha };
      const use = (repository: Repository): Promise<GitCommit> =>
        this.#into(repository, request, link, tip);
      return await this.#options.repositories.use(nameOf(request), request, signal, use);
    } catch (error) {
      request.signal.throwIfAborted();
      if (!late.aborted) throw error;
      throw gitFailed(`Fetching took longer than ${String(fetchMs / 60_000)} minutes.`, error);
    } finally {
      this.#removeUnused();
    }
  }

  /** The same of what was pushed here. Rejects with GIT_FAILED, or with the reason of the signal. */
  pushed(request: PushedRequest): Promise<GitCommit> {
    const { pushedTo, branch, signal } = request;
    return this.#options.pushed.use(pushedTo, request, signal, async (repository) => {
      const newest = await repository.tip(branch);
      if (newest === null)
        throw gitFailed(`Nothing was pushed to the branch ${plainLine(branch)} yet.`);
      const sha = request.sha ?? newest;
      return this.#unpacked(repository, request, sha, () => Promise.resolve(null));
    });
  }

  async #into(
    repository: Repository,
    request: FetchRequest,
    link: Link,
    tip: Tip,
  ): Promise<GitCommit> {
    const { sha, version } = tip;
    await this.#makeRoom(repository);
    const list = await repository.answer(['for-each-ref', '--format=%(objectname)', keptRefs]);
    const have = list.split('\n').filter((one) => one !== '');
    if (!have.includes(sha)) await this.#receive(repository, link, tip, have);
    const { submodules, path, say } = request;
    const trees = new WholeTrees({
      ...{ repository, link, submodules, say },
      folder: path === null || path === '.' ? null : Buffer.from(path).toString('latin1'),
      limits: this.#limits,
      fetchCommit: async (from, one) => {
        if (have.includes(one)) return;
        await this.#receive(repository, from, { sha: one, version }, []);
        have.push(one);
      },
    });
    return this.#unpacked(repository, request, sha, () => trees.of(sha));
  }

  async #unpacked(
    repository: Repository,
    { path, archive, found, say }: Pick<FetchRequest, 'path' | 'archive' | 'found' | 'say'>,
    sha: string,
    whole: () => Promise<WholeTree | null>,
  ): Promise<GitCommit> {
    const commit = parseCommit(sha, await repository.answer(['cat-file', 'commit', sha]));
    say(`Found ${sha.slice(0, 12)} ${plainLine(commit.message.split('\n')[0] ?? '')}`);
    await found(commit);
    await this.#pack(repository, (await whole()) ?? { sha, env: {} }, path, archive);
    return commit;
  }

  /** What is kept is let go when it has become more than it saves. */
  async #makeRoom(repository: Repository): Promise<void> {
    const { bytes, count } = await repository.packs();
    const { keptBytes, keptPacks } = this.#limits;
    if (bytes < keptBytes && count < keptPacks) return;
    await repository.empty();
  }

  async #receive(
    repository: Repository,
    link: Link,
    tip: Tip,
    have: readonly string[],
  ): Promise<void> {
    const { packBytes } = this.#limits;
    const bounded = atMost(packOf(link, tip, have), packBytes, () =>
      gitFailed(`The commit has more than ${sizeText(packBytes)} of objects.`),
    );
    // Without its history a commit is not connected, so that is not asked for.
    await repository.answer(['index-pack', '--stdin', '--fix-thin'], bounded);
    await repository.answer(['update-ref', `${keptRefs}/${tip.sha}`, tip.sha]);
  }

  /** Writes the files of a commit, as they are there: attributes neither leave out nor change any. */
  async #pack(
    repository: Repository,
    { sha, env }: WholeTree,
    path: string | null,
    archive: string,
  ): Promise<void> {
    const tree = path === null || path === '.' ? `${sha}^{tree}` : `${sha}:${path}`;
    if (path !== null) await checkFolder(repository, tree, path, env);
    const { treeBytes } = this.#limits;
    await checkSize(treeFiles(repository, tree, this.#limits, env), this.#limits);
    const args = ['archive', '--format=tar', '--worktree-attributes', tree];
    const bounded = atMost(repository.stream(args, null, env), treeBytes, () =>
      treeTooLarge(treeBytes),
    );
    const file = await open(archive, 'w', 0o600);
    try {
      for await (const chunk of bounded) await file.writeFile(chunk);
    } finally {
      await file.close();
    }
  }

  #removeUnused(): void {
    const { repositories, logger } = this.#options;
    repositories.removeUnused(Date.now() - this.#limits.keptMs).catch((error: unknown) => {
      logger.warn({ err: error }, 'repositories_not_removed');
    });
  }
}

const keptRefs = 'refs/kept';
const messageMaxChars = 4000;

async function checkFolder(
  repository: Repository,
  tree: string,
  path: string,
  env: WholeTree['env'],
): Promise<void> {
  const kind = await repository.answer(['cat-file', '-t', tree], null, env).catch(() => '');
  if (kind.trim() !== 'tree') {
    throw gitFailed(`There is no folder ${plainLine(path)} in the repository.`);
  }
}

/** Few bytes may become any number of files, of any size: that is known before one is written. */
async function checkSize(
  files: AsyncIterable<TreeFile>,
  { treeFiles: filesMax, treeBytes }: typeof gitLimits,
): Promise<void> {
  let [count, bytes] = [0, 0];
  for await (const { size } of files) {
    count += 1;
    bytes += size;
    if (count > filesMax) throw tooManyFiles(filesMax);
    if (bytes > treeBytes) throw treeTooLarge(treeBytes);
  }
}

function treeTooLarge(bytesMax: number): Error {
  return gitFailed(`The files of the commit have more than ${sizeText(bytesMax)}.`);
}

/** The same for the same things alone; a name of a folder. */
function nameOf({ teamId, connectionId, remote }: FetchRequest): string {
  const key = JSON.stringify([teamId, connectionId, remote.url]);
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

/** As git stores it: headers, an empty line, the message. */
export function parseCommit(sha: string, text: string): GitCommit {
  const end = text.indexOf('\n\n');
  const head = end < 0 ? text : text.slice(0, end);
  const author = /^author (.*?) \d+ [+-]\d+$/m.exec(head)?.[1] ?? '';
  const message = end < 0 ? '' : text.slice(end + 2);
  return {
    sha,
    author: plainLine(author, 255),
    message: message
      .split('\n')
      .map((line) => plainLine(line, messageMaxChars))
      .join('\n')
      .trim()
      .slice(0, messageMaxChars),
  };
}

async function* atMost(
  source: AsyncIterable<Uint8Array>,
  bytesMax: number,
  failure: () => Error,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw failure();
    yield chunk;
  }
}

function sizeText(bytes: number): string {
  return bytes >= 1024 ** 3
    ? `${String(bytes / 1024 ** 3)} GiB`
    : `${String(bytes / 1024 ** 2)} MiB`;
}
