/**
 * Owns the writing of an archive's entries as a zip.
 *
 * 1. When an archive holds two files of one name, the later one counts, as in the folder it unpacks to.
 * 2. Symbolic links are written as links. So are hard links, which zip does not know.
 * 3. Its memory is limited: a small file, or the state of one compressor, and the names of all entries.
 */
import path from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { Zip, ZipDeflate, type ZipInputFile, ZipPassThrough } from 'fflate';
import { ServiceError } from '../../lib/errors.ts';
import { type ArchiveEntry, type ArchiveVisitor, noVisitor } from '../formats/entry.ts';

const modes = { folder: 0o40755, file: 0o100644, executable: 0o100755, link: 0o120777 };
const unix = 3;
const entriesMax = 65_535;
const bytesMax = 2 ** 32 - 1;
/** The most bytes around a file: two headers with its name, and the descriptor of its size. */
const headersMaxBytes = 128;
/** A smaller file is compressed in one call, which costs far less than a compressor of its own. */
const smallMaxBytes = 256 * 1024;
const level = 3;
const noBytes = new Uint8Array();

/** Reads an archive before the writing. */
export class ZipPlan {
  /** Which entry counts for each path. */
  readonly #last = new Map<string, number>();
  #entries = 0;
  #bytes = 0;

  counts(path: string, entry: number): boolean {
    return this.#last.get(path) === entry;
  }

  visitor(): ArchiveVisitor {
    return {
      ...noVisitor,
      entry: (entry) => this.#entry(entry),
      data: (bytes) => {
        this.#bytes += bytes.length;
        this.#check();
      },
    };
  }

  #entry(entry: ArchiveEntry): void {
    this.#last.set(entry.path, this.#entries++);
    this.#bytes += headersMaxBytes + 2 * Buffer.byteLength(entry.path) + entry.target.length;
    this.#check();
  }

  /** The library writes the original zip format, with counts of 16 and lengths of 32 bits. */
  #check(): void {
    if (this.#last.size <= entriesMax && this.#bytes <= bytesMax) return;
    throw new ServiceError(
      'SOURCE_TOO_LARGE',
      `A zip holds ${entriesMax} files and 4 GiB at most. This source has more.`,
    );
  }
}

export class ZipWriter implements ArchiveVisitor {
  readonly #plan: ZipPlan;
  readonly #modified: Date;
  readonly #zip: Zip;
  #entries = 0;
  #file: OpenFile | null = null;

  /** `write` gets bytes that are invalid after the call. */
  constructor(plan: ZipPlan, modifiedMs: number, write: (bytes: Uint8Array) => void) {
    this.#plan = plan;
    this.#modified = new Date(modifiedMs);
    this.#zip = new Zip((error, bytes) => {
      if (error !== null) throw error;
      write(bytes);
    });
  }

  entry({ path: name, kind, executable, target }: ArchiveEntry): void {
    const isLater = this.#plan.counts(name, this.#entries++);
    if (!isLater || name === '') return;
    switch (kind) {
      case 'directory':
        this.#whole(`${name}/`, modes.folder, noBytes);
        return;
      case 'file':
        this.#file = new OpenFile(name, executable ? modes.executable : modes.file);
        return;
      case 'symlink':
        this.#whole(name, modes.link, Buffer.from(target));
        return;
      case 'hardlink': {
        const from = path.posix.relative(path.posix.dirname(name), target);
        this.#whole(name, modes.link, Buffer.from(from));
      }
    }
  }

  data(bytes: Uint8Array): void {
    const file = this.#file;
    if (file === null) return;
    if (file.stream !== null) {
      file.stream.push(bytes);
      return;
    }
    file.parts.push(Buffer.from(bytes));
    file.bytes += bytes.length;
    if (file.bytes <= smallMaxBytes) return;
    file.stream = new ZipDeflate(file.name, { level });
    this.#add(file.stream, file.mode);
    for (const part of file.parts) file.stream.push(part);
    file.parts = [];
  }

  endFile(): void {
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    if (file.stream === null) this.#whole(file.name, file.mode, Buffer.concat(file.parts));
    else file.stream.push(noBytes, true);
  }

  executable(): void {
    throw new Error('Cannot write this archive as a zip: it is one');
  }

  turnIntoSymlink(): void {
    throw new Error('Cannot write this archive as a zip: it is one');
  }

  /** Writes the directory of the zip. */
  finish(): void {
    this.#zip.end();
  }

  #whole(filename: string, mode: number, bytes: Uint8Array): void {
    if (mode !== modes.file && mode !== modes.executable) {
      const stored = new ZipPassThrough(filename);
      this.#add(stored, mode);
      stored.push(bytes, true);
      return;
    }
    const packed: ZipInputFile = {
      filename,
      size: bytes.length,
      crc: crc32(bytes),
      compression: 8,
    };
    this.#add(packed, mode);
    packed.ondata?.(null, deflateRawSync(bytes, { level }), true);
  }

  #add(file: ZipInputFile, mode: number): void {
    Object.assign(file, { os: unix, attrs: (mode << 16) >>> 0, mtime: this.#modified });
    this.#zip.add(file);
  }
}

class OpenFile {
  readonly name: string;
  readonly mode: number;
  parts: Buffer[] = [];
  bytes = 0;
  stream: ZipDeflate | null = null;

  constructor(name: string, mode: number) {
    this.name = name;
    this.mode = mode;
  }
}
