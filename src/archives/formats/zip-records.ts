/** Owns the records of a zip file (APPNOTE 6.3): their layout, and which of them we accept. */
import type { ByteReader } from './byte-reader.ts';
import { decodeName } from './names.ts';
import { corrupt, encrypted } from './refusals.ts';

export const signatures = {
  local: 0x04034b50,
  descriptor: 0x08074b50,
  central: 0x02014b50,
  zip64End: 0x06064b50,
  zip64Locator: 0x07064b50,
  end: 0x06054b50,
  extraData: 0x08064b50,
} as const;

export const stored = 0;
export const deflated = 8;

const encryptedFlags = 0x0001 | 0x0040 | 0x2000;
const descriptorFlag = 0x0008;
const patchFlag = 0x0020;
const aesMethod = 99;
const zip64Extra = 0x0001;
const unknown32 = 0xffffffff;

/** The fields that both headers of an entry have. Sizes in bytes. */
export interface ZipFields {
  method: number;
  crc: number;
  packed: number;
  size: number;
}

export interface LocalHeader extends ZipFields {
  nameBytes: number;
  extraBytes: number;
  /** CRC and sizes follow the data; in the header they are 0, or values that must come true. */
  described: boolean;
}

export interface CentralHeader extends ZipFields {
  nameBytes: number;
  extraBytes: number;
  commentBytes: number;
  /** Where the local header begins. */
  offset: number;
  /** The Unix mode, 0 when there is none. */
  mode: number;
}

export interface EndRecord {
  entries: number;
  directoryBytes: number;
  directoryOffset: number;
  commentBytes: number;
}

export const localHeaderBytes = 30;
export const centralHeaderBytes = 46;
export const endRecordBytes = 22;

/** The signature of the next record. Throws ARCHIVE_CORRUPT at the end. */
export async function signatureAt(reader: ByteReader): Promise<number> {
  const bytes = await reader.peek(4);
  if (bytes === null) throw corrupt('it is cut off');
  return asBuffer(bytes).readUInt32LE(0);
}

export function readLocalHeader(bytes: Uint8Array): LocalHeader {
  const view = asBuffer(bytes);
  const flags = view.readUInt16LE(6);
  const method = view.readUInt16LE(8);
  acceptOnly(flags, method);
  return {
    method,
    crc: view.readUInt32LE(14),
    packed: view.readUInt32LE(18),
    size: view.readUInt32LE(22),
    nameBytes: view.readUInt16LE(26),
    extraBytes: view.readUInt16LE(28),
    described: (flags & descriptorFlag) !== 0,
  };
}

export function readCentralHeader(bytes: Uint8Array): CentralHeader {
  const view = asBuffer(bytes);
  const method = view.readUInt16LE(10);
  acceptOnly(view.readUInt16LE(8), method);
  const disk = view.readUInt16LE(34);
  if (disk !== 0 && disk !== 0xffff) throw corrupt('it is one part of several');
  return {
    method,
    crc: view.readUInt32LE(16),
    packed: view.readUInt32LE(20),
    size: view.readUInt32LE(24),
    nameBytes: view.readUInt16LE(28),
    extraBytes: view.readUInt16LE(30),
    commentBytes: view.readUInt16LE(32),
    offset: view.readUInt32LE(42),
    mode: view.readUInt16LE(40),
  };
}

export function readEndRecord(bytes: Uint8Array): EndRecord {
  const view = asBuffer(bytes);
  const disks = view.readUInt16LE(4) | view.readUInt16LE(6);
  const entries = view.readUInt16LE(10);
  const here = view.readUInt16LE(8) === entries;
  if ((disks !== 0 && disks !== 0xffff) || !here) throw corrupt('it is one part of several');
  return {
    entries,
    directoryBytes: view.readUInt32LE(12),
    directoryOffset: view.readUInt32LE(16),
    commentBytes: view.readUInt16LE(20),
  };
}

/**
 * Reads the sizes (and the offset) that are too large for 32 bits from the zip64 extra field. They stand in
 * the order of the format, and only those whose own field is full.
 */
export function applyZip64(header: ZipFields & { offset?: number }, extra: Uint8Array): void {
  const wanted = [header.size, header.packed, header.offset ?? 0];
  if (!wanted.includes(unknown32)) return;
  const field = findExtra(asBuffer(extra), zip64Extra);
  let at = 0;
  const next = (value: number): number => {
    if (value !== unknown32) return value;
    if (field === null || field.length < at + 8) throw corrupt('a zip64 field is missing');
    const big = Number(field.readBigUInt64LE(at));
    if (!Number.isSafeInteger(big)) throw corrupt('a size is beyond all bounds');
    at += 8;
    return big;
  };
  header.size = next(header.size);
  header.packed = next(header.packed);
  if (header.offset !== undefined) header.offset = next(header.offset);
}

function findExtra(extra: Buffer, id: number): Buffer | null {
  for (let at = 0; at + 4 <= extra.length;) {
    const size = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === id) return extra.subarray(at + 4, at + 4 + size);
    at += 4 + size;
  }
  return null;
}

/**
 * The length of the data descriptor at the start of `bytes`, in whichever of its four forms matches what
 * was found; null when none does.
 */
export function descriptorLength(
  bytes: Uint8Array,
  found: Omit<ZipFields, 'method'>,
): number | null {
  const view = asBuffer(bytes);
  const signed = view.length >= 4 && view.readUInt32LE(0) === signatures.descriptor;
  for (const start of signed ? [4, 0] : [0]) {
    if (view.length >= start + 12 && view.readUInt32LE(start) === found.crc) {
      const packed = view.readUInt32LE(start + 4);
      if (packed === found.packed && view.readUInt32LE(start + 8) === found.size) return start + 12;
      if (
        view.length >= start + 20 &&
        view.readBigUInt64LE(start + 4) === BigInt(found.packed) &&
        view.readBigUInt64LE(start + 12) === BigInt(found.size)
      ) {
        return start + 20;
      }
    }
  }
  return null;
}

export const descriptorBytesMax = 24;
export const descriptorBytesMin = 12;

function acceptOnly(flags: number, method: number): void {
  if ((flags & encryptedFlags) !== 0 || method === aesMethod) throw encrypted();
  if ((flags & patchFlag) !== 0) throw corrupt('it holds patches instead of files');
  if (method !== stored && method !== deflated) {
    throw corrupt(`compression method ${method} is not supported, only stored and deflated`);
  }
}

// The meaning of bytes above ASCII in a name that is not UTF-8: the code page of the first PCs.
const codePage437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

export function decodeZipName(bytes: Uint8Array): string {
  return decodeName(bytes, (byte) => codePage437.charAt(byte - 0x80));
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
