/**
 * Owns the reading of a zip's central directory and end records, and their comparison with the entries read
 * before.
 *
 * 1. Directory and entries name each other one to one, and agree in name, method, CRC and sizes.
 * 2. The end record points at the very directory that was read, and nothing follows it.
 */
import type { ByteReader } from './byte-reader.ts';
import type { ArchiveVisitor } from './entry.ts';
import type { EntryTree } from './entry-tree.ts';
import { inflateWhole } from './decompress.ts';
import type { Meter } from './limits.ts';
import { decodeName, latin1 } from './names.ts';
import { corrupt, quoted, unsafe } from './refusals.ts';
import {
  applyZip64,
  type CentralHeader,
  centralHeaderBytes,
  deflated,
  type EndRecord,
  endRecordBytes,
  readCentralHeader,
  readEndRecord,
  signatureAt,
  signatures,
  type ZipFields,
} from './zip-records.ts';

export interface RandomAccess {
  /** Bytes of the archive that were read before. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** What reading one zip needs. */
export interface ZipReading {
  reader: ByteReader;
  tree: EntryTree;
  visitor: ArchiveVisitor;
  meter: Meter;
  /** The bytes read so far, for the targets of symlinks. */
  file: RandomAccess;
}

/** An entry as it was found. */
export interface EntryRecord extends ZipFields {
  /** The name's bytes, one character each. */
  name: string;
  path: string;
  directory: boolean;
  /** Where its data begins. */
  data: number;
}

const linkTargetMax = 4_096;
const linkPackedMax = 64 * 1024;
const full16 = 0xffff;
const full32 = 0xffffffff;
const typeMask = 0o170000;
const typeOf = {
  fifo: 0o010000,
  charDevice: 0o020000,
  directory: 0o040000,
  blockDevice: 0o060000,
  symlink: 0o120000,
  socket: 0o140000,
};

export class ZipDirectory {
  readonly #reader: ByteReader;
  readonly #records: Map<number, EntryRecord>;
  readonly #zip: ZipReading;

  /** `records`: the entries by the positions of their headers. */
  constructor(zip: ZipReading, records: Map<number, EntryRecord>) {
    this.#zip = zip;
    this.#reader = zip.reader;
    this.#records = records;
  }

  async read(): Promise<void> {
    const start = this.#reader.position;
    let entries = 0;
    while ((await signatureAt(this.#reader)) === signatures.central) {
      await this.#entry();
      entries++;
    }
    if (this.#records.size > 0) throw corrupt('its directory leaves out an entry');
    const bytes = this.#reader.position - start;
    await this.#end({ entries, directoryBytes: bytes, directoryOffset: start, commentBytes: 0 });
    if ((await this.#reader.chunk()) !== null) throw corrupt('something follows its end');
  }

  async #entry(): Promise<void> {
    const header = readCentralHeader(await this.#reader.take(centralHeaderBytes));
    const name = Buffer.from(await this.#reader.take(header.nameBytes)).toString('latin1');
    applyZip64(header, await this.#reader.take(header.extraBytes));
    await this.#reader.take(header.commentBytes);
    const record = this.#records.get(header.offset);
    if (record === undefined) throw corrupt('its directory names an entry that is not there');
    this.#records.delete(header.offset);
    if (
      record.name !== name ||
      record.method !== header.method ||
      record.crc !== header.crc ||
      record.packed !== header.packed ||
      record.size !== header.size
    ) {
      throw corrupt(`its directory disagrees with the entry ${quoted(record.path)}`);
    }
    await this.#mode(record, header);
  }

  async #mode(record: EntryRecord, { mode }: CentralHeader): Promise<void> {
    const { path } = record;
    switch (mode & typeMask) {
      case typeOf.charDevice:
      case typeOf.blockDevice:
        throw unsafe(path, 'is a device');
      case typeOf.fifo:
        throw unsafe(path, 'is a FIFO');
      case typeOf.socket:
        throw unsafe(path, 'is a socket');
      case typeOf.symlink: {
        if (record.directory) throw corrupt(`${quoted(path)} is a folder and a link`);
        const target = await this.#linkTarget(record);
        this.#zip.tree.turnIntoSymlink(path, target);
        this.#zip.visitor.turnIntoSymlink(path, target);
        return;
      }
      case typeOf.directory:
        if (!record.directory) throw corrupt(`${quoted(path)} is a folder and a file`);
        return;
      default:
        if (!record.directory && (mode & 0o111) !== 0) this.#zip.visitor.executable(path);
    }
  }

  async #linkTarget(record: EntryRecord): Promise<string> {
    if (record.size > linkTargetMax || record.packed > linkPackedMax) {
      throw unsafe(record.path, 'has too long a link target');
    }
    const bytes = await this.#zip.file.read(record.data, record.packed);
    if (bytes.length !== record.packed) throw corrupt('it changed while it was read');
    const target = record.method === deflated ? inflateWhole(bytes, record.size) : bytes;
    return decodeName(target, latin1);
  }

  /** Reads the end records, which must match what was found. */
  async #end(found: EndRecord): Promise<void> {
    const endAt = this.#reader.position;
    const hasZip64 = (await signatureAt(this.#reader)) === signatures.zip64End;
    if (hasZip64) await this.#zip64End(found, endAt);
    if ((await signatureAt(this.#reader)) !== signatures.end) {
      throw corrupt('something unknown stands where an entry or its directory should');
    }
    const end = readEndRecord(await this.#reader.take(endRecordBytes));
    const says = (value: number, truth: number, full: number): boolean =>
      value === truth || (hasZip64 && value === full);
    if (
      !says(end.entries, found.entries, full16) ||
      !says(end.directoryBytes, found.directoryBytes, full32) ||
      !says(end.directoryOffset, found.directoryOffset, full32)
    ) {
      throw corrupt('its end record disagrees with its directory');
    }
    await this.#reader.take(end.commentBytes);
  }

  async #zip64End(found: EndRecord, endAt: number): Promise<void> {
    const record = Buffer.from(await this.#reader.take(56));
    const extra = Number(record.readBigUInt64LE(4)) - 44;
    if (extra < 0 || extra > 64 * 1024) throw corrupt('its zip64 end record is malformed');
    const entries = record.readBigUInt64LE(32);
    const bytes = record.readBigUInt64LE(40);
    const offset = record.readBigUInt64LE(48);
    if (
      entries !== BigInt(found.entries) ||
      bytes !== BigInt(found.directoryBytes) ||
      offset !== BigInt(found.directoryOffset)
    ) {
      throw corrupt('its end record disagrees with its directory');
    }
    await this.#reader.take(extra);
    const locator = Buffer.from(await this.#reader.take(20));
    if (
      locator.readUInt32LE(0) !== signatures.zip64Locator ||
      locator.readBigUInt64LE(8) !== BigInt(endAt)
    ) {
      throw corrupt('its zip64 end record is malformed');
    }
  }
}
