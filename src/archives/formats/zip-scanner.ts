/**
 * Owns the reading of a zip file from its first byte to its last, as it arrives.
 *
 * 1. The file is entries, directory, end record, without a gap, an overlap or anything before or after. So
 *    a program that starts from the end sees the same as one that starts from the front.
 * 2. Every entry is inflated and checked against its CRC and sizes, and both its headers agree.
 * 3. Only the directory holds symlinks, devices and modes; they are checked when it comes.
 */
import { crc32 } from 'node:zlib';
import type { ByteReader } from './byte-reader.ts';
import { inflateRaw, inflateWhole } from './decompress.ts';
import { normalName } from './names.ts';
import { corrupt, encrypted, quoted } from './refusals.ts';
import { type EntryRecord, ZipDirectory, type ZipReading } from './zip-directory.ts';
import {
  applyZip64,
  asBuffer,
  decodeZipName,
  deflated,
  descriptorBytesMax,
  descriptorBytesMin,
  descriptorLength,
  type LocalHeader,
  localHeaderBytes,
  readLocalHeader,
  signatureAt,
  signatures,
} from './zip-records.ts';

// Below this size an entry is inflated in one call: setting up a stream costs more than the data.
const smallPacked = 64 * 1024;
const smallSize = 512 * 1024;
const descriptorSignature = Buffer.from([0x50, 0x4b, 0x07, 0x08]);

export class ZipScanner {
  readonly #zip: ZipReading;
  readonly #reader: ByteReader;
  readonly #records = new Map<number, EntryRecord>();

  constructor(zip: ZipReading) {
    this.#zip = zip;
    this.#reader = zip.reader;
  }

  async scan(): Promise<void> {
    while ((await signatureAt(this.#reader)) === signatures.local) await this.#entry();
    if ((await signatureAt(this.#reader)) === signatures.extraData) throw encrypted();
    await new ZipDirectory(this.#zip, this.#records).read();
  }

  async #entry(): Promise<void> {
    const { tree, visitor, meter } = this.#zip;
    const offset = this.#reader.position;
    const header = readLocalHeader(await this.#reader.take(localHeaderBytes));
    const name = Buffer.from(await this.#reader.take(header.nameBytes));
    applyZip64(header, await this.#reader.take(header.extraBytes));
    const raw = decodeZipName(name);
    meter.entry(raw);
    const path = normalName(raw);
    const directory = raw.endsWith('/');
    if (tree.has(path)) throw corrupt(`the name ${quoted(path)} occurs twice`);
    if (directory) tree.addDirectory(path);
    else tree.addFile(path);
    if (!header.described) meter.announce(header.size);
    const kind = directory ? 'directory' : 'file';
    visitor.entry({ path, kind, executable: false, target: '' });
    const data = this.#reader.position;
    const found = await this.#data(path, header, directory);
    if (!directory) visitor.endFile();
    this.#records.set(offset, {
      name: name.toString('latin1'),
      path,
      directory,
      data,
      method: header.method,
      ...found,
    });
  }

  /** Reads an entry's data and its descriptor, and compares them with the header. */
  async #data(path: string, header: LocalHeader, directory: boolean): Promise<Found> {
    const found: Found = { crc: 0, packed: 0, size: 0 };
    const before = this.#reader.position;
    const take = (bytes: Uint8Array, consumed: number): void => {
      found.crc = crc32(bytes, found.crc);
      found.size += bytes.length;
      if (directory && bytes.length > 0) throw corrupt(`the folder ${quoted(path)} has data`);
      if (!header.described && found.size > header.size) throw disagrees(path);
      this.#zip.meter.expand(bytes.length, before + consumed);
      this.#zip.visitor.data(bytes);
    };
    // A size beside a descriptor is only checked, never relied upon, because deflated data marks its own
    // end.
    const known = !header.described || (header.method !== deflated && header.packed > 0);
    if (header.method === deflated) await this.#inflate(header, known, take);
    else if (known) await this.#copy(header.packed, take);
    else await this.#search(found, take);
    found.packed = this.#reader.position - before;
    if (header.described) await this.#descriptor(path, found);
    const isSaid = (promise: number, value: number): boolean =>
      promise === value || (header.described && promise === 0);
    const { crc, packed, size } = header;
    if (!isSaid(crc, found.crc) || !isSaid(packed, found.packed) || !isSaid(size, found.size)) {
      throw disagrees(path);
    }
    return found;
  }

  async #inflate(header: LocalHeader, known: boolean, take: Take): Promise<void> {
    if (!known) {
      await inflateRaw(this.#reader, Number.POSITIVE_INFINITY, take);
      return;
    }
    if (header.packed > smallPacked || header.size > smallSize) {
      const used = await inflateRaw(this.#reader, header.packed, take);
      if (used !== header.packed) throw corrupt('its compressed data ends before its header says');
      return;
    }
    take(inflateWhole(await this.#reader.take(header.packed), header.size), header.packed);
  }

  async #copy(length: number, take: Take): Promise<void> {
    for (let left = length; left > 0;) {
      const chunk = await this.#reader.chunk();
      if (chunk === null) throw corrupt('it is cut off');
      const piece = chunk.subarray(0, left);
      left -= piece.length;
      take(piece, length - left);
      this.#reader.skip(piece.length);
    }
  }

  /**
   * Copies stored data of unknown length, up to the first data descriptor that matches everything before
   * it. The directory confirms the length later.
   */
  async #search(found: Found, take: Take): Promise<void> {
    for (let consumed = 0; ;) {
      const chunk = await this.#reader.chunk();
      if (chunk === null) throw corrupt('it is cut off');
      const at = asBuffer(chunk).indexOf(descriptorSignature);
      let data = chunk.subarray(0, at < 0 ? Math.max(chunk.length - 3, 0) : at);
      if (data.length === 0) {
        if (await this.#isAtDescriptor(found)) return;
        data = (await this.#reader.peek(1)) ?? data;
      }
      consumed += data.length;
      take(data, consumed);
      this.#reader.skip(data.length);
    }
  }

  async #isAtDescriptor({ crc, size }: Found): Promise<boolean> {
    const bytes =
      (await this.#reader.peek(descriptorBytesMax)) ??
      (await this.#reader.peek(descriptorBytesMin + descriptorSignature.length));
    if (bytes === null || asBuffer(bytes).indexOf(descriptorSignature) !== 0) return false;
    return descriptorLength(bytes, { crc, packed: size, size }) !== null;
  }

  async #descriptor(path: string, found: Found): Promise<void> {
    const bytes =
      (await this.#reader.peek(descriptorBytesMax)) ??
      (await this.#reader.peek(descriptorBytesMin));
    const length = bytes === null ? null : descriptorLength(bytes, found);
    if (length === null) throw disagrees(path);
    await this.#reader.take(length);
  }
}

type Found = Pick<EntryRecord, 'crc' | 'packed' | 'size'>;
type Take = (bytes: Uint8Array, consumed: number) => void;

function disagrees(path: string): Error {
  return corrupt(`the size or checksum of ${quoted(path)} is wrong`);
}
