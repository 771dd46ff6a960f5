/**
 * Owns the threads that touch the bytes of archives: receiving uploads, unpacking them and sending them.
 *
 * 1. Nothing is loaded or started before the first use, and idle threads end.
 * 2. Receiving, unpacking and sending do not wait for each other: each has threads of its own.
 * 3. `close` cancels what is under way, cleanly; twice is fine.
 */
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { MessageChannel } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { Clock } from '../../lib/clock.ts';
import { shuttingDown } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { ArchiveFormat } from '../formats/format.ts';
import { type ArchiveLimits, archiveLimits } from '../formats/limits.ts';
import { fromFailure } from '../../workers/task-failure.ts';
import { SendingLane } from '../../workers/sending/lane.ts';
import { BulkLane, type IncomingFile, type ReceiveOptions } from './bulk-lane.ts';
import {
  type ExtractReply,
  type ExtractTask,
  type SendRequest,
  type SendTask,
  type ServeTask,
  slotBytes,
} from '../bulk-messages.ts';

// Declared here, because TypeScript knows it only for browsers.
declare const WebAssembly: {
  Memory: new (size: { initial: number; maximum: number; shared: true }) => {
    buffer: SharedArrayBuffer;
  };
};

export interface BulkPoolOptions {
  /**
   * Where files lie while they arrive, on the file system of their final place. The folder is made when
   * missing. At start its owner removes it, with what a crash left in it.
   */
  temporaryDir: string;
  logger: Logger;
  clock: Clock;
  limits?: Partial<ArchiveLimits>;
  /** Threads that receive; each serves any number of transfers. */
  lanes?: number;
  /** Threads that unpack, one archive each; more wait. */
  extractors?: number;
  /** Bytes of one transfer that may be neither written nor checked yet. */
  windowBytes?: number;
  /** Memory of a lane for arriving bytes, in slots of half a MiB. */
  slots?: number;
  /** A lane without transfers ends after this time. */
  idleMs?: number;
  /** The tasks' file. */
  tasks?: URL;
}

const cores = availableParallelism();
const defaults = {
  lanes: Math.max(1, Math.min(4, cores >> 1)),
  extractors: Math.max(1, cores >> 1),
  windowBytes: 4 * 1024 * 1024,
  slots: 40,
  idleMs: 30_000,
};

type ZipRequest = Omit<SendRequest, 'port'>;

const zipWindowBytes = 512 * 1024;

export interface ExtractOptions {
  /** User and group id of the written files; null or absent: the process's own. */
  uid?: number | null;
  /** Unpacks an archive whose only top-level entry is one folder with that folder. */
  keepsSoleFolder?: boolean;
  /** Cancels the unpacking and removes what was written. Rejects with `signal.reason`. */
  signal?: AbortSignal;
}

export interface Extracted {
  /** Entries of the archive, folders included. */
  entries: number;
  /** Bytes of the files written. */
  bytes: number;
}

export class BulkPool {
  readonly #options: Required<Omit<BulkPoolOptions, 'limits'>>;
  readonly #limits: ArchiveLimits;
  readonly #lanes: BulkLane[] = [];
  readonly #waiting: (() => void)[] = [];
  #extracting = 0;
  #sending: SendingLane<ZipRequest> | null = null;
  #pool: Promise<Piscina> | null = null;
  #closed: Promise<void> | null = null;

  constructor(options: BulkPoolOptions) {
    const tasks = new URL('../../workers/tasks/bulk.ts', import.meta.url);
    this.#options = { tasks, ...defaults, ...options };
    this.#limits = { ...archiveLimits, ...options.limits };
  }

  /** Begins to receive one archive. Throws SHUTTING_DOWN. */
  async receive(options: ReceiveOptions): Promise<IncomingFile> {
    await mkdir(this.#options.temporaryDir, { recursive: true, mode: 0o700 });
    const pool = await this.#start();
    if (this.#closed !== null) throw shuttingDown();
    return this.#lane(pool).receive(options);
  }

  /** A stored archive as a zip. Rejects with SOURCE_TOO_LARGE, ARCHIVE_* and SHUTTING_DOWN. */
  async send(
    request: Omit<ZipRequest, 'limits'>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const pool = await this.#start();
    if (this.#closed !== null) throw shuttingDown();
    this.#sending ??= this.#newZipLane(pool);
    return this.#sending.send({ ...request, limits: this.#limits }, zipWindowBytes, signal);
  }

  /**
   * Unpacks `archivePath` into `intoDir`, which is emptied first, so that a crashed call can be repeated.
   * All checks of the upload are repeated; rejects with the same ARCHIVE_* codes, and with STORAGE_FULL. An
   * archive whose only top-level entry is one folder is unpacked without that folder, unless that is kept.
   */
  async extract(
    archivePath: string,
    format: ArchiveFormat,
    intoDir: string,
    options: ExtractOptions = {},
  ): Promise<Extracted> {
    const { uid = null, keepsSoleFolder = false, signal } = options;
    signal?.throwIfAborted();
    const canceled = new SharedArrayBuffer(4);
    const cancel = (): unknown => Atomics.store(new Int32Array(canceled), 0, 1);
    signal?.addEventListener('abort', cancel, { once: true });
    await this.#turn();
    try {
      signal?.throwIfAborted();
      const pool = await this.#start();
      if (this.#closed !== null) throw shuttingDown();
      const task: ExtractTask = {
        ...{ archive: archivePath, format, into: intoDir, uid, keepsSoleFolder, canceled },
        limits: this.#limits,
      };
      const reply = (await pool.run(task, { name: 'extract' })) as ExtractReply;
      if (reply.type === 'failed') {
        signal?.throwIfAborted();
        throw fromFailure(reply.failure);
      }
      return { entries: reply.entries, bytes: reply.bytes };
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#extracting--;
      this.#waiting.shift()?.();
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.abortAll()));
    for (const lane of this.#lanes) lane.close();
    this.#sending?.close();
    if (this.#pool !== null) await (await this.#pool).destroy();
  }

  #start(): Promise<Piscina> {
    if (this.#closed !== null) return Promise.reject(shuttingDown());
    this.#pool ??= this.#load();
    return this.#pool;
  }

  async #load(): Promise<Piscina> {
    const { Piscina } = await import('piscina');
    const { tasks, lanes, extractors } = this.#options;
    return new Piscina({
      filename: tasks.href,
      minThreads: 0,
      // A lane that ends leaves its thread idle for a moment; nothing may have to wait for that.
      maxThreads: lanes + extractors + 1,
      idleTimeout: 1_000,
      // Most of these threads' memory lies outside the heap.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
      // The thread has other things to do while a task runs.
      atomics: 'disabled',
    });
  }

  /** The lane with the fewest transfers; a new one while all are busy and there may be more. */
  #lane(pool: Piscina): BulkLane {
    const living = this.#lanes.filter((lane) => !lane.dead);
    living.sort((a, b) => a.transfers - b.transfers);
    const [least] = living;
    const full = living.length >= this.#options.lanes;
    return least !== undefined && (full || least.transfers === 0) ? least : this.#newLane(pool);
  }

  #newLane(pool: Piscina): BulkLane {
    const { port1, port2 } = new MessageChannel();
    const { temporaryDir, windowBytes, slots, logger } = this.#options;
    const memory = slotMemory(slots);
    const task: ServeTask = { port: port2, memory };
    const lane: BulkLane = new BulkLane({
      ...{ port: port1, memory, limits: this.#limits, temporaryDir, windowBytes },
      onEmpty: this.#whenIdle(
        () => lane.transfers === 0,
        () => lane.close(),
      ),
    });
    this.#lanes.push(lane);
    const forget = (): unknown => this.#lanes.splice(this.#lanes.indexOf(lane), 1);
    pool
      .run(task, { name: 'serve', transferList: [port2] })
      .then(forget, async (error: unknown) => {
        forget();
        if (this.#closed === null) logger.error({ err: error }, 'bulk_thread_lost');
        await lane.die();
      })
      .catch((error: unknown) => logger.error({ err: error }, 'bulk_files_not_removed'));
    return lane;
  }

  #newZipLane(pool: Piscina): SendingLane<ZipRequest> {
    const { port1, port2 } = new MessageChannel();
    const { logger } = this.#options;
    const end = (): void => {
      if (this.#sending === lane) this.#sending = null;
      lane.close();
    };
    const lane = new SendingLane<ZipRequest>(
      port1,
      this.#whenIdle((): boolean => lane.open === 0, end),
    );
    pool
      .run({ port: port2 } satisfies SendTask, { name: 'send', transferList: [port2] })
      .catch((error: unknown) => {
        if (this.#closed === null) logger.error({ err: error }, 'bulk_thread_lost');
      })
      .finally(end);
    return lane;
  }

  /** Returns what a lane calls when it becomes empty: `end` is called once it stayed empty for `idleMs`. */
  #whenIdle(isEmpty: () => boolean, end: () => void): () => void {
    const { clock, idleMs } = this.#options;
    let emptied = 0;
    return () => {
      const before = ++emptied;
      clock.after(idleMs, () => {
        if (before === emptied && isEmpty()) end();
      });
    };
  }

  async #turn(): Promise<void> {
    while (this.#extracting >= this.#options.extractors) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#extracting++;
  }
}

/** Shared memory of this kind is aligned to pages, as writing past the page cache needs it. */
function slotMemory(slots: number): SharedArrayBuffer {
  const pages = (slots * slotBytes) / 65_536;
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  return memory.buffer;
}
