/**
 * Owns packing files into one archive (tar.gz) in the browser.
 *
 * 1. The page stays smooth: it works in slices of a few milliseconds, and gives way between them.
 * 2. What has been packed is handed to the browser as it comes, which keeps it on disk where that is much.
 * 3. An archive that gets too large is given up at once.
 */
import { Gzip } from 'fflate';
import { archiveBytesMax, PackingError, type Plan, type PlannedFile, unreadable } from './plan.ts';
import { Pauses } from './pauses.ts';
import { endOfArchive, headerOf, paddingOf } from './tar.ts';

const sliceBytes = 64 * 1024;
const handOverBytes = 8 * 1024 * 1024;
const level = 6;

interface PackOptions {
  /** Told how many bytes of the files are packed. */
  onProgress?: (bytes: number) => void;
  signal?: AbortSignal;
  bytesMax?: number;
}

export async function pack(
  { files }: Pick<Plan, 'files'>,
  options: PackOptions = {},
): Promise<Blob> {
  const archive = new Archive(options);
  for (const file of files) await archive.add(file);
  return archive.end();
}

class Archive {
  readonly #options: PackOptions;
  readonly #gzip: Gzip;
  #parts: Uint8Array<ArrayBuffer>[] = [];
  #partBytes = 0;
  #packed = new Blob([]);
  #bytes = 0;
  readonly #pauses = new Pauses();

  constructor(options: PackOptions) {
    this.#options = options;
    this.#gzip = new Gzip({ level }, (chunk) => {
      // A copy, since its memory is used again.
      this.#parts.push(chunk.slice());
      this.#partBytes += chunk.length;
    });
  }

  async add({ path, file }: PlannedFile): Promise<void> {
    const { size, lastModified: changedAtMs } = file;
    const small = size <= sliceBytes ? await bytesOf(path, file) : null;
    const start = small ?? (await bytesOf(path, file.slice(0, 2)));
    const isProgram = start[0] === 0x23 && start[1] === 0x21;
    await this.#push(headerOf({ path, size: small?.length ?? size, changedAtMs, isProgram }));
    if (small !== null) await this.#count(small);
    else await this.#addLarge(path, file);
    await this.#push(paddingOf(small?.length ?? size));
  }

  async #addLarge(path: string, file: File): Promise<void> {
    for (let at = 0; at < file.size; at += sliceBytes) {
      const wanted = Math.min(sliceBytes, file.size - at);
      const slice = await bytesOf(path, file.slice(at, at + wanted));
      if (slice.length !== wanted) throw new PackingError(`${path} changed while it was packed.`);
      await this.#count(slice);
    }
  }

  end(): Blob {
    this.#gzip.push(endOfArchive(), true);
    this.#handOver();
    return this.#packed;
  }

  async #count(bytes: Uint8Array): Promise<void> {
    await this.#push(bytes);
    this.#bytes += bytes.length;
    this.#options.onProgress?.(this.#bytes);
  }

  async #push(bytes: Uint8Array): Promise<void> {
    const { signal, bytesMax = archiveBytesMax } = this.#options;
    signal?.throwIfAborted();
    this.#gzip.push(bytes);
    if (this.#partBytes >= handOverBytes) this.#handOver();
    if (this.#packed.size + this.#partBytes > bytesMax) throw new PackingError(tooLarge(bytesMax));
    await this.#pauses.take();
  }

  #handOver(): void {
    this.#packed = new Blob([this.#packed, ...this.#parts], { type: 'application/gzip' });
    this.#parts = [];
    this.#partBytes = 0;
  }
}

export function tooLarge(bytesMax = archiveBytesMax): string {
  return `Packed, it is larger than ${String(bytesMax / 1024 / 1024)} MiB, which is the most that can be sent. Leave out what the build does not need, for example by a .gitignore.`;
}

async function bytesOf(path: string, part: Blob): Promise<Uint8Array> {
  return new Uint8Array(
    await part.arrayBuffer().catch((cause: unknown) => unreadable(path, cause)),
  );
}
