/**
 * Owns one file on its way from the network into its place.
 *
 * 1. Every byte is written, hashed and read as an archive while the next ones arrive.
 * 2. The file appears under its final name only when it is whole, checked and on disk.
 * 3. If it ends otherwise, nothing of it is left when `run` has returned.
 */
import { createHash, type Hash } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { noVisitor } from '../formats/entry.ts';
import { inspectArchive } from '../formats/inspect.ts';
import type { ReceivedFile, ReceiveRequest } from '../bulk-messages.ts';
import { ChunkQueue } from './chunk-queue.ts';
import { FileWriter } from './file-writer.ts';

export interface ReceiverOptions extends Pick<
  Extract<ReceiveRequest, { type: 'begin' }>,
  'format' | 'limits' | 'temporary' | 'final'
> {
  /** The receiver no longer needs these bytes; `slot` is where they lay, null for bytes in the file. */
  credit(bytes: number, slot: number | null): void;
}

/** The result of a transfer that the sender canceled. */
export const calledOff = Symbol('called off');

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #queue: ChunkQueue;
  readonly #hash: Hash = createHash('sha256');
  readonly #file: FileWriter;
  #sizeBytes = 0;
  #calledOff = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#file = new FileWriter({
      path: options.temporary,
      onFailure: () => this.#queue.stop(),
    });
    this.#queue = new ChunkQueue({
      hash: this.#hash,
      read: (at, into) => this.#file.read(at, into),
      onRead: (bytes) => options.credit(bytes, null),
    });
  }

  /** Uses the bytes in place until it gives credit for their slot. */
  chunk(bytes: Uint8Array, slot: number): void {
    const at = this.#sizeBytes;
    this.#sizeBytes += bytes.length;
    const free = (): void => this.#options.credit(bytes.length, slot);
    const written = this.#queue.push({ kind: 'memory', bytes, free });
    void this.#file.write(bytes, at).then(written);
  }

  /** These further bytes are in the file already. */
  spilled(bytes: number): void {
    this.#sizeBytes += bytes;
    this.#queue.push({ kind: 'file', bytes });
  }

  end(): void {
    this.#queue.end();
  }

  callOff(): void {
    this.#calledOff = true;
    this.#file.stop();
    this.#queue.stop();
  }

  async run(): Promise<ReceivedFile | typeof calledOff> {
    try {
      const entries = await this.#inspect();
      // The archive may end before the last byte; the hash takes the rest as well.
      while ((await this.#queue.next()) !== null);
      await this.#file.sync();
      if (!this.#calledOff) await this.#place();
      // The transfer may have been canceled meanwhile.
      if (!this.#calledOff) {
        return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex'), entries };
      }
    } catch (error) {
      this.#queue.stop();
      const broken = this.#file.failure;
      await this.#remove();
      // The archive of a canceled transfer looks broken, but that is no refusal.
      if (this.#calledOff) return calledOff;
      throw broken === null ? error : broken.error;
    }
    await this.#remove();
    return calledOff;
  }

  /** The number of its entries. */
  async #inspect(): Promise<number> {
    const { format, limits } = this.#options;
    if (format === 'bytes') return 0;
    const { entries } = await inspectArchive({
      format,
      limits,
      source: this.#queue,
      file: { read: (offset, length) => this.#read(offset, length) },
      visitor: noVisitor,
    });
    return entries;
  }

  async #read(offset: number, length: number): Promise<Uint8Array> {
    await this.#file.settled();
    const into = new Uint8Array(length);
    return into.subarray(0, await this.#file.read(offset, into));
  }

  async #place(): Promise<void> {
    const { temporary, final } = this.#options;
    await this.#file.close();
    await rename(temporary, final);
    const folder = await open(dirname(final), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async #remove(): Promise<void> {
    this.#file.stop();
    this.#queue.stop();
    await this.#file.close();
    for (const name of [this.#options.temporary, this.#options.final]) {
      await rm(name, { force: true });
    }
  }
}
