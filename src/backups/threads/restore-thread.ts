/**
 * Owns what restores do in threads: an artifact is fetched, checked and read there, and the files of a tar are
 * written.
 */
import type { PlaceInThread } from '../destinations/open.ts';
import type { CheckedArtifact, WantedArtifact } from '../restores/artifact-check.ts';
import type { StoredArtifact } from '../restores/fetched.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import { BackupThread, chunksOf, News } from './backup-thread.ts';
import type { ArtifactFile, TreeStep } from './messages.ts';

/** Steps that are sent and not done. */
const batchesAhead = 4;
/** A thread ends soon behind its signal, but where its disk does not answer. */
const graceMs = 2_000;

/** See `fetchArtifact`. */
export async function fetchInThread(
  artifact: StoredArtifact,
  at: PlaceInThread,
  path: string,
  seen: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const thread = new BackupThread({ kind: 'fetch', at, artifact, path }, signal, (reply) => {
    if (reply.type === 'read') seen(reply.bytes);
  });
  await outcomeOf(thread, signal);
}

/** Checks an artifact to its end; see `checkArtifact`. `seen` is told how many of its bytes were read. */
export async function checkInThread(
  artifact: ArtifactFile,
  wanted: WantedArtifact,
  seen: (bytes: number) => void,
  signal: AbortSignal,
): Promise<CheckedArtifact> {
  const thread = new BackupThread({ kind: 'check', artifact, wanted }, signal, (reply) => {
    if (reply.type === 'read') seen(reply.bytes);
  });
  return (await outcomeOf(thread, signal)) as CheckedArtifact;
}

function outcomeOf({ outcome }: BackupThread, signal: AbortSignal): Promise<unknown> {
  const hangs = new AbortController();
  const giveUp = (): void => void setTimeout(() => hangs.abort(signal.reason), graceMs).unref();
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  return untilAborted(outcome, hangs.signal).finally(() =>
    signal.removeEventListener('abort', giveUp),
  );
}

/** What an artifact holds behind its encryption and its compression. */
export async function* readInThread(
  artifact: ArtifactFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* chunksOf({ kind: 'read', artifact }, signal);
}

/** Writes files below a folder, as `TreeWriter` does. */
export class ThreadedWriter {
  readonly #thread: BackupThread;
  readonly #left = new AbortController();
  readonly #news = new News();
  #ahead = 0;
  #isOver = false;

  constructor(path: string, signal: AbortSignal) {
    const either = AbortSignal.any([signal, this.#left.signal]);
    this.#thread = new BackupThread({ kind: 'write', path }, either, (reply) => {
      if (reply.type !== 'written') return;
      this.#ahead -= 1;
      this.#news.tell();
    });
    const over = (): void => {
      this.#isOver = true;
      this.#news.tell();
    };
    this.#thread.outcome.then(over, over);
  }

  /** Resolves when there is room for more. Rejects when it failed. */
  async write(steps: TreeStep[]): Promise<void> {
    if (steps.length === 0) return;
    this.#thread.post({ type: 'steps', steps });
    this.#ahead += 1;
    while (this.#ahead >= batchesAhead && !this.#isOver) await this.#news.next();
    if (this.#isOver) await this.#thread.outcome;
  }

  /** Resolves when all is written. */
  async finish(): Promise<void> {
    this.#thread.post({ type: 'steps', steps: null });
    await this.#thread.outcome;
  }

  /** Resolves when nothing is written any more. */
  async close(): Promise<void> {
    this.#left.abort(new Error('Nothing more is written'));
    await this.#thread.outcome.catch(() => undefined);
  }
}
