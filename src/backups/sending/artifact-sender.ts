/**
 * Owns the thread that sends artifacts, for all downloads of a gateway thread together.
 *
 * 1. It is started by the first download, and ends when there was none for a while.
 * 2. All downloads together have a bounded amount of bytes under way: the more there are, the fewer each has.
 * 3. `close` ends the thread even while it sends; twice is fine.
 */
import { MessageChannel, Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';
import { shuttingDown } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { SendingLane } from '../../workers/sending/lane.ts';
import { type ArtifactRequest, windowChunks } from './artifact-messages.ts';

export interface ArtifactSenderOptions {
  logger: Logger;
  clock: Clock;
  /** The lane ends when nothing was sent for so long. */
  idleMs?: number;
}

const entry = new URL('../../workers/tasks/artifacts.ts', import.meta.url);
const idleMsDefault = 30_000;
/** Under way of the first 256 downloads at a time; each further one has two of the least chunks. */
const underWayBytes = 16 * 2 ** 20;
const chunkMax = 64 * 1024;
const chunkMin = 8 * 1024;

export class ArtifactSender {
  readonly #options: Required<ArtifactSenderOptions>;
  #thread: Worker | null = null;
  #lane: SendingLane<ArtifactRequest> | null = null;
  #closed: Promise<unknown> | null = null;

  constructor(options: ArtifactSenderOptions) {
    this.#options = { idleMs: idleMsDefault, ...options };
  }

  /**
   * The chunks of an artifact. Rejects with ARTIFACT_GONE, VERIFICATION_FAILED, DESTINATION_FAILED, with what
   * keeps it from being decrypted, and with SHUTTING_DOWN. A later failure, or an abort of `signal`, rejects
   * the reading of the chunks.
   */
  async send(
    request: Omit<ArtifactRequest, 'chunkBytes'>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    if (this.#closed !== null) throw shuttingDown();
    this.#lane ??= this.#newLane();
    const share = underWayBytes / (this.#lane.open + 1);
    const chunkBytes = Math.max(
      chunkMin,
      Math.min(chunkMax, 2 ** Math.floor(Math.log2(share / (2 * windowChunks)))),
    );
    return this.#lane.send({ ...request, chunkBytes }, windowChunks * chunkBytes, signal);
  }

  close(): Promise<unknown> {
    this.#lane?.close();
    this.#closed ??= this.#thread?.terminate() ?? Promise.resolve();
    return this.#closed;
  }

  #newLane(): SendingLane<ArtifactRequest> {
    const { clock, logger, idleMs } = this.#options;
    const { port1, port2 } = new MessageChannel();
    const thread = new Worker(entry, {
      workerData: port2,
      transferList: [port2],
      // Most of its memory lies outside the heap.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    const end = (): void => {
      if (this.#lane === lane) this.#lane = null;
      lane.close();
    };
    let emptied = 0;
    const lane = new SendingLane<ArtifactRequest>(port1, () => {
      const before = ++emptied;
      clock.after(idleMs, () => {
        if (before === emptied && lane.open === 0) end();
      });
    });
    thread.on('error', (error) => logger.error({ err: error }, 'artifact_thread_lost'));
    thread.on('exit', end);
    this.#thread = thread;
    return lane;
  }
}
