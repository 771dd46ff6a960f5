/** Owns the making of archives byte by byte, right ones and every kind of wrong one. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface TarEntry {
  name: string;
  type?: string;
  data?: Uint8Array | string;
  linkName?: string;
  mode?: number;
  /** What the header says, when it is not the data's length. */
  size?: number | 'base256';
  prefix?: string;
  magic?: 'ustar' | 'gnu' | 'v7';
  /** Added to the right checksum. */
  checksumOff?: number;
}

const block = 512;

export function tarHeader(entry: TarEntry): Buffer {
  const bytes = Buffer.alloc(block);
  const length = Buffer.from(entry.data ?? '').length;
  bytes.write(entry.name, 0, 100, 'utf8');
  bytes.write((entry.mode ?? 0o644).toString(8).padStart(7, '0'), 100);
  bytes.write('0000000', 108);
  bytes.write('0000000', 116);
  if (entry.size === 'base256') {
    bytes[124] = 0x80;
    bytes.writeUInt32BE(length, 132);
  } else bytes.write((entry.size ?? length).toString(8).padStart(11, '0'), 124);
  bytes.write('00000000000', 136);
  bytes.write(entry.type ?? '0', 156);
  bytes.write(entry.linkName ?? '', 157, 100, 'utf8');
  if (entry.magic === 'gnu') bytes.write('ustar  \0', 257, 'latin1');
  else if (entry.magic !== 'v7') bytes.write('ustar\x0000', 257, 'latin1');
  bytes.write(entry.prefix ?? '', 345, 155, 'utf8');
  bytes.fill(0x20, 148, 156);
  let sum = entry.checksumOff ?? 0;
  for (const byte of bytes) sum += byte;
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return bytes;
}

export function tarEntry(entry: TarEntry): Buffer {
  const data = Buffer.from(entry.data ?? '');
  const padding = Buffer.alloc((block - (data.length % block)) % block);
  return Buffer.concat([tarHeader(entry), data, padding]);
}

export const tarEnd = Buffer.alloc(2 * block);

/** A whole tar of these entries. */
export function tar(...entries: TarEntry[]): Buffer {
  return Buffer.concat([...entries.map(tarEntry), tarEnd]);
}

/** One pax record with its right length. */
export function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return `${length} ${key}=${value}\n`;
}

export function pax(fields: Record<string, string>, type = 'x'): TarEntry {
  const data = Object.entries(fields)
    .map(([key, value]) => paxRecord(key, value))
    .join('');
  return { name: 'PaxHeaders/0', type, data };
}

export interface ZipEntry {
  name: string | Buffer;
  data?: Uint8Array | string;
  /** Compressed data and method, when they are not to be made from `data`. */
  packed?: Uint8Array;
  method?: number;
  flags?: number;
  /** Unix mode with its type bits. */
  mode?: number;
  /** CRC and sizes behind the data: with or without its signature, in 64 bits. */
  descriptor?: 'signed' | 'bare' | 'zip64';
  /** Changes what the headers say. */
  local?: Partial<ZipSays>;
  central?: Partial<ZipSays>;
  /** zip64 extra fields in both headers. */
  zip64?: boolean;
  extra?: Buffer;
}

export interface ZipSays {
  name: string;
  crc: number;
  packed: number;
  size: number;
  method: number;
  flags: number;
  offset: number;
}

export interface ZipOptions {
  before?: Uint8Array;
  between?: Uint8Array;
  after?: Uint8Array;
  comment?: string;
  entries?: number;
  directoryOffset?: number;
  zip64?: boolean;
  /** Entries that the directory leaves out or lists twice, by index. */
  omit?: number[];
  repeat?: number[];
  reverse?: boolean;
}

/** A whole zip. */
export function zip(entries: ZipEntry[], options: ZipOptions = {}): Buffer {
  const parts: Buffer[] = [Buffer.from(options.before ?? '')];
  const central: Buffer[] = [];
  let offset = parts[0]!.length;
  entries.forEach((entry, index) => {
    const local = zipLocal(entry);
    if (!options.omit?.includes(index)) central.push(zipCentral(entry, offset));
    if (options.repeat?.includes(index)) central.push(zipCentral(entry, offset));
    const gap = Buffer.from(options.between ?? '');
    parts.push(local, gap);
    offset += local.length + gap.length;
  });
  if (options.reverse) central.reverse();
  const directory = Buffer.concat(central);
  const count = options.entries ?? central.length;
  const at = options.directoryOffset ?? offset;
  parts.push(directory, zipEnd(count, directory.length, at, offset + directory.length, options));
  return Buffer.concat([...parts, Buffer.from(options.after ?? '')]);
}

function zipPacked(entry: ZipEntry): { data: Buffer; packed: Buffer; method: number } {
  const data = Buffer.from(entry.data ?? '');
  const method = entry.method ?? (data.length > 0 ? 8 : 0);
  const packed = Buffer.from(entry.packed ?? (method === 8 ? deflateRawSync(data) : data));
  return { data, packed, method };
}

function zip64Field(size: number, packed: number, offset?: number): Buffer {
  const field = Buffer.alloc(4 + 16 + (offset === undefined ? 0 : 8));
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(field.length - 4, 2);
  field.writeBigUInt64LE(BigInt(size), 4);
  field.writeBigUInt64LE(BigInt(packed), 12);
  if (offset !== undefined) field.writeBigUInt64LE(BigInt(offset), 20);
  return field;
}

export function zipLocal(entry: ZipEntry): Buffer {
  const { data, packed, method } = zipPacked(entry);
  const described = entry.descriptor !== undefined;
  const crc = crc32(data);
  const big = entry.zip64 === true && !described;
  const says = { crc, packed: packed.length, size: data.length, ...entry.local };
  if (described) Object.assign(says, { crc: 0, packed: 0, size: 0 }, entry.local);
  const name = Buffer.from(entry.local?.name ?? entry.name);
  const extra = Buffer.concat([
    big ? zip64Field(says.size, says.packed) : Buffer.alloc(0),
    entry.extra ?? Buffer.alloc(0),
  ]);
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(big ? 45 : 20, 4);
  head.writeUInt16LE((entry.local?.flags ?? entry.flags ?? 0) | (described ? 8 : 0), 6);
  head.writeUInt16LE(entry.local?.method ?? method, 8);
  head.writeUInt32LE(says.crc, 14);
  head.writeUInt32LE(big ? 0xffffffff : says.packed, 18);
  head.writeUInt32LE(big ? 0xffffffff : says.size, 22);
  head.writeUInt16LE(name.length, 26);
  head.writeUInt16LE(extra.length, 28);
  return Buffer.concat([head, name, extra, packed, descriptor(entry, crc, packed, data)]);
}

function descriptor(entry: ZipEntry, crc: number, packed: Buffer, data: Buffer): Buffer {
  if (entry.descriptor === undefined) return Buffer.alloc(0);
  const signature = Buffer.from([0x50, 0x4b, 0x07, 0x08]);
  const wide = entry.descriptor === 'zip64';
  const body = Buffer.alloc(wide ? 20 : 12);
  body.writeUInt32LE(crc, 0);
  if (wide) {
    body.writeBigUInt64LE(BigInt(packed.length), 4);
    body.writeBigUInt64LE(BigInt(data.length), 12);
  } else {
    body.writeUInt32LE(packed.length, 4);
    body.writeUInt32LE(data.length, 8);
  }
  return entry.descriptor === 'bare' ? body : Buffer.concat([signature, body]);
}

function zipCentral(entry: ZipEntry, at: number): Buffer {
  const { data, packed, method } = zipPacked(entry);
  const says = {
    crc: crc32(data),
    packed: packed.length,
    size: data.length,
    offset: at,
    ...entry.central,
  };
  const name = Buffer.from(entry.central?.name ?? entry.name);
  const extra = entry.zip64 ? zip64Field(says.size, says.packed, says.offset) : Buffer.alloc(0);
  const described = entry.descriptor !== undefined ? 8 : 0;
  const head = Buffer.alloc(46);
  head.writeUInt32LE(0x02014b50, 0);
  head.writeUInt16LE((3 << 8) | (entry.zip64 ? 45 : 20), 4);
  head.writeUInt16LE(entry.zip64 ? 45 : 20, 6);
  head.writeUInt16LE((entry.central?.flags ?? entry.flags ?? 0) | described, 8);
  head.writeUInt16LE(entry.central?.method ?? method, 10);
  head.writeUInt32LE(says.crc, 16);
  head.writeUInt32LE(entry.zip64 ? 0xffffffff : says.packed, 20);
  head.writeUInt32LE(entry.zip64 ? 0xffffffff : says.size, 24);
  head.writeUInt16LE(name.length, 28);
  head.writeUInt16LE(extra.length, 30);
  head.writeUInt16LE(entry.mode ?? 0o100644, 40);
  head.writeUInt32LE(entry.zip64 ? 0xffffffff : says.offset, 42);
  return Buffer.concat([head, name, extra]);
}

function zipEnd(
  entries: number,
  bytes: number,
  offset: number,
  endAt: number,
  options: ZipOptions,
): Buffer {
  const comment = Buffer.from(options.comment ?? '');
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(options.zip64 ? 0xffff : entries, 8);
  end.writeUInt16LE(options.zip64 ? 0xffff : entries, 10);
  end.writeUInt32LE(options.zip64 ? 0xffffffff : bytes, 12);
  end.writeUInt32LE(options.zip64 ? 0xffffffff : offset, 16);
  end.writeUInt16LE(comment.length, 20);
  if (!options.zip64) return Buffer.concat([end, comment]);
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(45, 12);
  record.writeUInt16LE(45, 14);
  record.writeBigUInt64LE(BigInt(entries), 24);
  record.writeBigUInt64LE(BigInt(entries), 32);
  record.writeBigUInt64LE(BigInt(bytes), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(endAt), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator, end, comment]);
}
