/**
 * Owns the writing of one arriving file: one write after the other, each at its offset.
 *
 * 1. The beginning is written through the page cache, where the build finds it. The rest is written past
 *    the cache, because an archive of hundreds of megabytes would push out other files. On a virtual
 *    machine, fresh pages of the cache also cost more than the write: an upload of random bytes through the
 *    cache takes 1.4 times the CPU. If the file system cannot write past the cache, everything goes through
 *    it.
 * 2. After a failed write nothing more is written, and `sync` throws the error of that write.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { slotBytes } from '../bulk-messages.ts';

const cachedBytes = 16 * 1024 * 1024;

export interface FileWriterOptions {
  path: string;
  /** Called once, when a write has failed. */
  onFailure(): void;
}

export class FileWriter {
  readonly #options: FileWriterOptions;
  readonly #file: Promise<FileHandle>;
  #direct: Promise<FileHandle | null> | null = null;
  /** All writes so far. */
  #written: Promise<void>;
  #failure: { error: unknown } | null = null;
  #stopped = false;

  constructor(options: FileWriterOptions) {
    this.#options = options;
    // The file exists. Nothing is written through a link in its place.
    this.#file = open(options.path, constants.O_RDWR | constants.O_NOFOLLOW);
    this.#written = this.#file.then(
      () => undefined,
      (error: unknown) => this.#fail(error),
    );
  }

  /** The error of the first write that failed. */
  get failure(): { error: unknown } | null {
    return this.#failure;
  }

  /** Resolves when the bytes are no longer needed; until then they must not change. Never rejects. */
  write(bytes: Uint8Array, at: number): Promise<void> {
    this.#written = this.#written.then(async () => {
      try {
        if (this.#failure === null && !this.#stopped) await this.#write(bytes, at);
      } catch (error) {
        this.#fail(error);
      }
    });
    return this.#written;
  }

  /** Reads what has been written. */
  async read(at: number, into: Uint8Array): Promise<number> {
    const file = await this.#file;
    return (await file.read(into, 0, into.length, at)).bytesRead;
  }

  /** Resolves when all writes are over, whether they succeeded or not. */
  settled(): Promise<void> {
    return this.#written;
  }

  /** Drops what is not written yet. */
  stop(): void {
    this.#stopped = true;
  }

  /** Resolves once everything is on disk. */
  async sync(): Promise<void> {
    await this.#written;
    if (this.#failure !== null) throw this.#failure.error;
    await (await this.#file).sync();
  }

  /** May be called twice, and after a failure. */
  async close(): Promise<void> {
    await this.#written;
    for (const opening of [this.#file, this.#direct]) {
      const file = await Promise.resolve(opening).catch(() => null);
      // Closing a second time fails.
      await file?.close().catch(() => undefined);
    }
  }

  async #write(bytes: Uint8Array, at: number): Promise<void> {
    const aligned = at % slotBytes === 0 && bytes.length === slotBytes;
    if (aligned && at >= cachedBytes && (await this.#writeDirect(bytes, at))) return;
    const file = await this.#file;
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
      done += bytesWritten;
    }
  }

  /** Returns false when the file system cannot do it; then it is not tried again. */
  async #writeDirect(bytes: Uint8Array, at: number): Promise<boolean> {
    this.#direct ??= openDirect(this.#options.path);
    const file = await this.#direct;
    if (file === null) return false;
    try {
      const { bytesWritten } = await file.write(bytes, 0, bytes.length, at);
      return bytesWritten === bytes.length;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
      this.#direct = file.close().then(() => null);
      return false;
    }
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error };
    this.#options.onFailure();
  }
}

function openDirect(path: string): Promise<FileHandle | null> {
  const { O_DIRECT, O_NOFOLLOW, O_WRONLY } = constants as Partial<typeof constants>;
  if (O_DIRECT === undefined) return Promise.resolve(null);
  // Some file systems refuse it.
  return open(path, (O_WRONLY ?? 1) | O_DIRECT | (O_NOFOLLOW ?? 0)).catch(() => null);
}
