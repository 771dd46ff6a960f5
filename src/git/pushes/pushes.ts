/**
 * Owns the repositories that people push to: one an app, which git alone touches, in its sandbox.
 *
 * 1. Objects are checked before any of them counts, and a push has at most `pushBytes`.
 * 2. What an app's repository holds is bounded; beyond, what no branch leads to is dropped, and then pushes are
 *    refused: also those of who did not ask for the branches before.
 */
import { createReadStream } from 'node:fs';

import { ServiceError } from '../../lib/errors.ts';
import type { Repositories, Repository, SandboxOwner } from '../repositories/repository.ts';

export const pushLimits = {
  pushBytes: 512 * 1024 ** 2,
  /** Of an app's repository. */
  keptBytes: 1024 ** 3,
  keptPacks: 30,
  /** From the end of the client's body on. */
  receiveMs: 10 * 60_000,
};
export type PushLimits = typeof pushLimits;

export interface Pushed {
  /** What git says of it, for the client's git. */
  report: Uint8Array;
  /** What the branch is now, when the push changed it; null: it did not, or removed it. */
  sha: string | null;
  /** The files that it changed; null: the branch is new, or there are too many to tell. */
  files: string[] | null;
  /** The other branches that the push changed, and what they are now; null: it removed them. */
  others: { branch: string; sha: string | null }[];
}

// prettier-ignore
const receivePack = [
  '-c', 'receive.fsckObjects=true',
  '-c', 'receive.denyCurrentBranch=ignore', '-c', 'receive.denyDeleteCurrent=ignore',
  '-c', 'receive.unpackLimit=1', '-c', 'receive.autogc=false', 'receive-pack', '--stateless-rpc',
];

export class GitPushes {
  readonly #repositories: Repositories;
  readonly #limits: PushLimits;

  constructor(repositories: Repositories, limits: PushLimits = pushLimits) {
    this.#repositories = repositories;
    this.#limits = limits;
  }

  /** The branches there are, as a client's git asks for them. */
  refs(owner: SandboxOwner, signal: AbortSignal): Promise<Uint8Array> {
    return this.#repositories.use(owner.appId, owner, signal, async (repository) => {
      await this.#makeRoom(repository);
      return repository.bytes([...receivePack, '--advertise-refs', '.']);
    });
  }

  /** `file`: what the client's git sent. */
  receive(owner: SandboxOwner, file: string, branch: string, signal: AbortSignal): Promise<Pushed> {
    return this.#repositories.use(owner.appId, owner, signal, async (repository) => {
      await this.#makeRoom(repository);
      const heads = await repository.heads();
      const limit = `receive.maxInputSize=${String(this.#limits.pushBytes)}`;
      const args = ['-c', limit, ...receivePack, '.'];
      const report = await repository.bytes(args, createReadStream(file));
      const moved = movedIn(heads, await repository.heads());
      const before = heads.get(branch);
      const sha = moved.get(branch) ?? null;
      moved.delete(branch);
      const files =
        sha === null || before === undefined ? null : await changed(repository, before, sha);
      const others = [...moved].map(([other, now]) => ({ branch: other, sha: now }));
      return { report, sha, files, others };
    });
  }

  /** Removes an app's repository. */
  forget(appId: string): Promise<void> {
    return this.#repositories.remove(appId);
  }

  async #makeRoom(repository: Repository): Promise<void> {
    const { keptBytes, keptPacks } = this.#limits;
    const { count, bytes } = await repository.packs();
    if (count < keptPacks && bytes < keptBytes) return;
    await repository.answer(['gc', '--quiet', '--prune=now']);
    if ((await repository.packs()).bytes < keptBytes) return;
    const size = `${String(keptBytes / 1024 ** 2)} MiB`;
    throw new ServiceError(
      'PAYLOAD_TOO_LARGE',
      `The repository of the app has ${size}, which is all it may.`,
    );
  }
}

/** What is elsewhere now, by branch; null: it is gone. */
function movedIn(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Map<string, string | null> {
  const moved = new Map<string, string | null>();
  for (const [branch, sha] of after) if (before.get(branch) !== sha) moved.set(branch, sha);
  for (const branch of before.keys()) if (!after.has(branch)) moved.set(branch, null);
  return moved;
}

async function changed(
  repository: Repository,
  before: string,
  after: string,
): Promise<string[] | null> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', before, after];
  try {
    return (await repository.answer(args)).split('\0').filter((file) => file !== '');
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'GIT_FAILED') return null;
    throw error;
  }
}
