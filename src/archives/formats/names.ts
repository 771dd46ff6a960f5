/**
 * Owns which names an archive may hold.
 *
 * 1. A normal name is relative, has no `.`, `..` or empty segment and no backslash, and fits a file system.
 *    A name that would leave the archive's folder is refused, never changed.
 * 2. The root folder itself (`./`) is the empty name.
 */
import { isUtf8 } from 'node:buffer';
import { unsafe } from './refusals.ts';

const segmentBytesMax = 255;
// PATH_MAX is 4,096, including the folder that the archive is unpacked into.
const pathBytesMax = 3_072;

/** Decodes a name: valid UTF-8 as such, else with `fallback` for every byte above ASCII. */
export function decodeName(bytes: Uint8Array, fallback: (byte: number) => string): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  let text = '';
  for (const byte of buffer) text += byte < 0x80 ? String.fromCharCode(byte) : fallback(byte);
  return text;
}

export function latin1(byte: number): string {
  return String.fromCharCode(byte);
}

/** The normal form of an entry's name. Throws ARCHIVE_UNSAFE_ENTRY. */
export function normalName(raw: string): string {
  refuseUnsafeText(raw);
  if (raw.startsWith('/')) throw unsafe(raw, 'has an absolute path');
  // The common case needs no work: nothing to drop, nothing to refuse.
  const parts = raw.split('/');
  let clean = true;
  for (const part of parts) {
    if (part === '..') throw unsafe(raw, 'leaves the archive with ".."');
    if (part === '' || part === '.') clean = false;
    else if (part.length * 3 > segmentBytesMax && Buffer.byteLength(part) > segmentBytesMax) {
      throw unsafe(raw, `has a name of more than ${segmentBytesMax} bytes`);
    }
  }
  if (raw.length * 3 > pathBytesMax && Buffer.byteLength(raw) > pathBytesMax) {
    throw unsafe(raw, `has a path of more than ${pathBytesMax} bytes`);
  }
  return clean ? raw : parts.filter((part) => part !== '' && part !== '.').join('/');
}

/** Refuses a link's target that leaves the archive by its text alone. */
export function checkLinkTarget(path: string, target: string): void {
  if (target === '') throw unsafe(path, 'is a link to nothing');
  refuseUnsafeText(target, path);
  if (target.startsWith('/')) throw unsafe(path, 'is a link to an absolute path');
  if (Buffer.byteLength(target) > pathBytesMax) throw unsafe(path, 'has too long a link target');
  let depth = path.split('/').length - 1;
  for (const part of target.split('/')) {
    if (part === '..') depth--;
    else if (part !== '' && part !== '.') depth++;
    if (depth < 0) throw unsafe(path, 'is a link that leaves the archive');
  }
}

/** The folder that a normal name lies in; '' for the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function refuseUnsafeText(text: string, entry = text): void {
  if (text.includes('\0')) throw unsafe(entry, 'has a NUL in its name');
  if (text.includes('\\')) throw unsafe(entry, 'has a backslash in its name');
  if (/^[A-Za-z]:/.test(text)) throw unsafe(entry, 'begins with a drive letter');
}
