/**
 * Owns one file on its way from the network into its place.
 *
 * 1. Every byte is written, hashed and read as an archive while the next ones arrive.
 * 2. The file appears under its final name only when it is whole, checked and on disk.
 * 3. However it ends otherwise, nothing of it is left when `run` has returned.
 */
import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { noVisitor } from '../../protocol/archive/entry.ts';
import type { ArchiveFormat } from '../../protocol/archive/format.ts';
import { inspectArchive } from '../../protocol/archive/inspect.ts';
import type { ArchiveLimits } from '../../protocol/archive/limits.ts';
import { ChunkQueue, type Credit } from './chunk-queue.ts';

export interface ReceiverOptions {
  format: ArchiveFormat;
  limits: ArchiveLimits;
  temporary: string;
  final: string;
  credit: Credit;
}

export interface ReceivedBytes {
  sizeBytes: number;
  sha256: string;
  entries: number;
}

/** The outcome of a transfer that was called off. */
export const calledOff = Symbol('called off');

// Writing back begins while the rest still arrives, so that the last sync has little left to do.
const syncEveryBytes = 64 * 1024 * 1024;

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #queue: ChunkQueue;
  readonly #hash: Hash = createHash('sha256');
  readonly #file: Promise<FileHandle>;
  #sizeBytes = 0;
  #syncedBytes = 0;
  /** All writes so far, one after the other. */
  #written: Promise<void>;
  #syncing: Promise<void> = Promise.resolve();
  #writeFailure: { error: unknown } | null = null;
  #calledOff = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#queue = new ChunkQueue(options.credit);
    // Exclusive, so that a link put there by anyone is not written through.
    this.#file = open(options.temporary, 'wx+', 0o600);
    this.#written = this.#file.then(
      () => undefined,
      (error: unknown) => {
        this.#failWriting(error);
      },
    );
  }

  chunk(buffer: ArrayBuffer): void {
    const bytes = new Uint8Array(buffer);
    const at = this.#sizeBytes;
    this.#sizeBytes += bytes.length;
    const wanted = this.#writeFailure === null && !this.#calledOff;
    const written = this.#queue.push(buffer);
    if (!wanted) {
      written();
      return;
    }
    this.#written = this.#written.then(async () => {
      try {
        if (this.#writeFailure === null && !this.#calledOff) await this.#write(bytes, at);
      } catch (error) {
        this.#failWriting(error);
      } finally {
        written();
      }
    });
    this.#hash.update(bytes);
  }

  end(): void {
    this.#queue.end();
  }

  callOff(): void {
    this.#calledOff = true;
    this.#queue.stop();
  }

  async run(): Promise<ReceivedBytes | typeof calledOff> {
    try {
      const { entries } = await inspectArchive({
        format: this.#options.format,
        limits: this.#options.limits,
        source: this.#queue,
        file: { read: (offset, length) => this.#read(offset, length) },
        visitor: noVisitor,
      });
      await this.#written;
      if (this.#writeFailure === null && !this.#calledOff) {
        await this.#place();
      }
      // It may have been called off meanwhile.
      if (this.#writeFailure === null && !this.#calledOff) {
        return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex'), entries };
      }
    } catch (error) {
      // What the reader saw of a transfer that was broken off is not the client's fault.
      if (this.#writeFailure === null && !this.#calledOff) {
        await this.#remove();
        throw error;
      }
    }
    await this.#remove();
    if (this.#calledOff) return calledOff;
    throw this.#writeFailure?.error;
  }

  async #write(bytes: Uint8Array, at: number): Promise<void> {
    const file = await this.#file;
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
      done += bytesWritten;
    }
    if (at + bytes.length - this.#syncedBytes < syncEveryBytes) return;
    this.#syncedBytes = at + bytes.length;
    this.#syncing = this.#syncing
      .then(() => file.datasync())
      .catch((error: unknown) => {
        this.#failWriting(error);
      });
  }

  #failWriting(error: unknown): void {
    this.#writeFailure ??= { error };
    this.#queue.stop();
  }

  async #read(offset: number, length: number): Promise<Uint8Array> {
    await this.#written;
    const file = await this.#file;
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  }

  async #place(): Promise<void> {
    const { temporary, final } = this.#options;
    const file = await this.#file;
    await this.#syncing;
    await file.sync();
    await file.close();
    await rename(temporary, final);
    const folder = await open(dirname(final), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async #remove(): Promise<void> {
    this.#queue.stop();
    await this.#written;
    await this.#syncing;
    const file = await this.#file.catch(() => null);
    if (file === null) return;
    // Closing fails when #place did it before; the name may have changed by then.
    await file.close().catch(() => undefined);
    for (const name of [this.#options.temporary, this.#options.final]) {
      await unlink(name).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      });
    }
  }
}
