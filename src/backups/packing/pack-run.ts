/**
 * Owns one run in the thread that packs backups: what comes on its port is compressed, encrypted, hashed and
 * written to its destination.
 *
 * 1. Its port is closed when nothing of it is under way any more, also behind a failure.
 */
import { asFailure } from '../../workers/task-failure.ts';
import { openInThread } from '../destinations/open.ts';
import { packInto } from '../runs/pack.ts';
import type { GzipPool } from '../streams/gzip-pool.ts';
import type { FromPackRun, PackRun, ToPackRun } from './messages.ts';

/** How far it is, is told in steps of this. */
const tellBytes = 2 ** 20;

export async function packRun(
  { port, key, recipient, hashesDump, ...place }: PackRun,
  pool: GzipPool,
): Promise<void> {
  const post = (message: FromPackRun): void => port.postMessage(message);
  const stop = new AbortController();
  const chunks = new Incoming(post);
  port.on('message', (message: ToPackRun) => {
    if (message.type === 'stop') stop.abort(new Error('Nobody waits for it any more'));
    else chunks.push(message.type === 'chunk' ? message.bytes : null);
  });
  port.on('close', () => stop.abort(new Error('Nobody waits for it any more')));
  let told = 0;
  let ending: Promise<unknown> = Promise.resolve();
  try {
    const artifact = await packInto(chunks, pool, {
      ...{ recipient, hashesDump, key, signal: stop.signal },
      destination: openInThread(place),
      leaves: (left) => {
        ending = left;
      },
      progress: (bytes) => {
        if (bytes - told < tellBytes) return;
        post({ type: 'progress', bytes });
        told = bytes;
      },
    });
    post({ type: 'done', artifact });
  } catch (error) {
    post({ type: 'failed', failure: asFailure(error) });
    await ending.catch(() => undefined);
  }
  port.close();
}

/** What has come and was not taken; its sender bounds it. */
class Incoming implements AsyncIterable<Uint8Array> {
  readonly #post: (message: FromPackRun) => void;
  readonly #waiting: (Uint8Array | null)[] = [];
  #wake: () => void = () => undefined;

  constructor(post: (message: FromPackRun) => void) {
    this.#post = post;
  }

  /** Null: that was all. */
  push(chunk: Uint8Array | null): void {
    this.#waiting.push(chunk);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#waiting.shift();
      if (chunk === null) return;
      if (chunk === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
      else {
        // Whoever takes it may free it.
        const { length: bytes } = chunk;
        yield chunk;
        this.#post({ type: 'taken', bytes });
      }
    }
  }
}
