/**
 * Owns the thread that sends artifacts, for all downloads of a gateway thread together.
 *
 * 1. It is started by the first download, and ends when there was none for a while.
 * 2. All downloads together have a bounded amount of bytes under way: the more there are, the fewer each has.
 * 3. `close` ends the thread even while it sends; twice is fine.
 */
import { MessageChannel } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { SendingLane } from '../../workers/sending/lane.ts';
import type { ArtifactRequest, SendArtifactsTask } from './artifact-messages.ts';

export interface ArtifactSenderOptions {
  logger: Logger;
  clock: Clock;
  /** The lane ends when nothing was sent for so long. */
  idleMs?: number;
}

const idleMsDefault = 30_000;
/** Under way of all downloads, as long as each has no less than the least chunk. */
const underWayBytes = 16 * 2 ** 20;
const chunkMax = 64 * 1024;
const chunkMin = 8 * 1024;

export class ArtifactSender {
  readonly #options: Required<ArtifactSenderOptions>;
  #piscina: Promise<Piscina> | null = null;
  #lane: SendingLane<ArtifactRequest> | null = null;
  #closed: Promise<void> | null = null;

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
    const piscina = await this.#start();
    if (this.#closed !== null) throw shuttingDown();
    this.#lane ??= this.#newLane(piscina);
    const share = underWayBytes / (this.#lane.open + 1);
    const chunkBytes = Math.max(
      chunkMin,
      Math.min(chunkMax, 2 ** Math.floor(Math.log2(share / 4))),
    );
    return this.#lane.send({ ...request, chunkBytes }, 2 * chunkBytes, signal);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#lane?.close();
    await (await this.#piscina)?.destroy();
  }

  #start(): Promise<Piscina> {
    if (this.#closed !== null) return Promise.reject(shuttingDown());
    this.#piscina ??= this.#load();
    return this.#piscina;
  }

  async #load(): Promise<Piscina> {
    const { Piscina } = await import('piscina');
    return new Piscina({
      filename: new URL('../../workers/tasks/artifacts.ts', import.meta.url).href,
      minThreads: 0,
      // A lane that ends leaves its thread idle for a moment; nothing may have to wait for that.
      maxThreads: 2,
      idleTimeout: 1_000,
      // Most of its memory lies outside the heap.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
      // The thread has other things to do while its task runs.
      atomics: 'disabled',
    });
  }

  #newLane(piscina: Piscina): SendingLane<ArtifactRequest> {
    const { clock, logger, idleMs } = this.#options;
    const { port1, port2 } = new MessageChannel();
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
    piscina
      .run({ port: port2 } satisfies SendArtifactsTask, { name: 'send', transferList: [port2] })
      .catch((error: unknown) => {
        if (this.#closed === null) logger.error({ err: error }, 'artifact_thread_lost');
      })
      .finally(end);
    return lane;
  }
}

function shuttingDown(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'The service is shutting down. Try again soon.');
}
