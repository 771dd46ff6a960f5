/** Owns the 512-byte header of a tar entry: V7, ustar, GNU and pax. */
import { decodeName, latin1 } from './names.ts';
import { corrupt } from './refusals.ts';

export const blockBytes = 512;

export interface TarHeader {
  name: string;
  linkName: string;
  type: string;
  size: number;
  executable: boolean;
}

/** Whether the block is all zeros, which is how an archive ends. */
export function isZeroBlock(block: Uint8Array): boolean {
  for (let i = 0; i < blockBytes; i++) if (block[i] !== 0) return false;
  return true;
}

/** Whether the checksum is right, counted unsigned or, as some old programs did, signed. */
export function hasTarChecksum(block: Uint8Array): boolean {
  const stored = octal(block, 148, 8);
  if (stored === null) return false;
  let unsigned = 8 * 0x20;
  let high = 0;
  for (let i = 0; i < blockBytes; i++) {
    if (i >= 148 && i < 156) continue;
    const byte = block[i] ?? 0;
    unsigned += byte;
    if (byte >= 0x80) high++;
  }
  return stored === unsigned || stored === unsigned - high * 256;
}

/** Whether the block holds the word `ustar`, right or wrong in everything else. */
export function hasTarMagic(block: Uint8Array): boolean {
  return text(block, 257, 5) === 'ustar';
}

/** Reads a header whose checksum is right. Throws ARCHIVE_CORRUPT. */
export function readTarHeader(block: Uint8Array): TarHeader {
  const size = tarNumber(block, 124, 12);
  if (size === null) throw corrupt('the size of an entry is malformed');
  const mode = tarNumber(block, 100, 8) ?? 0o644;
  let name = text(block, 0, 100);
  // GNU tar stores other fields where POSIX has the first part of a long name.
  if (hasTarMagic(block) && block[262] === 0 && block[345] !== 0) {
    const starTimes = text(block, 508, 4) === 'tar';
    name = `${text(block, 345, starTimes ? 131 : 155)}/${name}`;
  }
  return {
    name,
    linkName: text(block, 157, 100),
    type: block[156] === 0 ? '0' : String.fromCharCode(block[156] ?? 0),
    size,
    executable: (mode & 0o111) !== 0,
  };
}

/** A field's text, up to its first NUL. */
function text(block: Uint8Array, start: number, length: number): string {
  let end = start;
  while (end < start + length && block[end] !== 0) end++;
  return decodeName(block.subarray(start, end), latin1);
}

/** A number in octal, or in base 256 as GNU and star write large ones; null when malformed. */
export function tarNumber(block: Uint8Array, start: number, length: number): number | null {
  const first = block[start] ?? 0;
  if (first < 0x80) return octal(block, start, length);
  if (first !== 0x80) return null;
  let value = 0;
  for (let i = start + 1; i < start + length; i++) value = value * 256 + (block[i] ?? 0);
  return Number.isSafeInteger(value) ? value : null;
}

function octal(block: Uint8Array, start: number, length: number): number | null {
  let at = start;
  const end = start + length;
  while (at < end && block[at] === 0x20) at++;
  let value = 0;
  for (; at < end; at++) {
    const digit = (block[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 7) break;
    value = value * 8 + digit;
  }
  for (; at < end; at++) if (block[at] !== 0 && block[at] !== 0x20) return null;
  return value;
}
