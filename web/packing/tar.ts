/** Owns the bytes of a tar archive (POSIX ustar, with pax records where a name does not fit), without any file. */

const blockBytes = 512;
const encoder = new TextEncoder();
const nameBytesMax = 100;
/** What an octal field of eleven digits holds. */
const sizeMax = 8 ** 11 - 1;

export interface TarEntry {
  /** With slashes, as seen from the top of the archive. */
  path: string;
  size: number;
  /** Milliseconds since the epoch. */
  changedAtMs: number;
  isProgram: boolean;
}

/** What stands before the bytes of a file. */
export function headerOf(entry: TarEntry): Uint8Array {
  const { path, size } = entry;
  const fits = encoder.encode(path).length <= nameBytesMax && isAscii(path) && size <= sizeMax;
  const plain = { ...entry, type: '0' };
  if (fits) return blockOf(plain);
  const records = recordOf('path', path) + (size > sizeMax ? recordOf('size', String(size)) : '');
  const bytes = encoder.encode(records);
  const name = shortName(path);
  const size12 = Math.min(size, sizeMax);
  const pax = { ...entry, path: 'pax', size: bytes.length, isProgram: false, type: 'x' };
  return joined([
    blockOf(pax),
    bytes,
    paddingOf(bytes.length),
    blockOf({ ...plain, path: name, size: size12 }),
  ]);
}

/** What fills up the last block of a file. */
export function paddingOf(size: number): Uint8Array {
  return new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);
}

/** What ends an archive. */
export function endOfArchive(): Uint8Array {
  return new Uint8Array(2 * blockBytes);
}

/** Whether a block begins a tar archive: by its mark and its sum. */
export function isTarHeader(block: Uint8Array): boolean {
  if (block.length < blockBytes) return false;
  const sum = Number.parseInt(new TextDecoder().decode(block.subarray(148, 156)), 8);
  return sum === sumOf(block.subarray(0, blockBytes));
}

function isAscii(text: string): boolean {
  return !/[^\x20-\x7e]/.test(text);
}

function shortName(path: string): string {
  return path.replaceAll(/[^\x20-\x7e]/g, '_').slice(-nameBytesMax);
}

/** A pax record says its own length, in bytes, and that counts too. */
function recordOf(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = encoder.encode(rest).length;
  let length = bytes + String(bytes).length;
  if (String(length).length > String(bytes).length) length += 1;
  return `${String(length)}${rest}`;
}

function blockOf({ path, size, changedAtMs, isProgram, type }: TarEntry & { type: string }) {
  const block = new Uint8Array(blockBytes);
  const put = (at: number, text: string): void => block.set(encoder.encode(text), at);
  const octal = (at: number, digits: number, value: number): void =>
    put(at, value.toString(8).padStart(digits, '0'));
  put(0, path);
  octal(100, 7, isProgram ? 0o755 : 0o644);
  octal(108, 7, 0);
  octal(116, 7, 0);
  octal(124, 11, size);
  octal(136, 11, Math.max(0, Math.floor(changedAtMs / 1000)));
  put(156, type);
  put(257, 'ustar\u000000');
  octal(148, 6, sumOf(block));
  block.set([0, 0x20], 154);
  return block;
}

/** Of all bytes, its own field counting as spaces. */
function sumOf(block: Uint8Array): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
