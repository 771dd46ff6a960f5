/**
 * Owns how keys become bytes.
 *
 * 1. Bytes order as the parts do: null < false < true < numbers < strings (by UTF-8).
 * 2. Different lists of parts have different bytes. The range from a list's bytes to the same bytes
 *    with 0xff behind holds exactly the keys that begin with its parts. (Whether a key begins with
 *    them cannot be told from the bytes alone: an escaped 0x00 begins as the end of a string does.)
 *
 * A part is a type byte and its value: numbers as 8 order-keeping bytes, strings as UTF-8 with 0x00
 * escaped as 0x00 0xff and ended by 0x00 (the tuple encoding FoundationDB made known).
 */
import type { Key, KeyPart } from './table.ts';

/** The longest key LMDB takes with its default page size. */
export const keyMaxBytes = 1978;

const typeNull = 0x01;
const typeFalse = 0x02;
const typeTrue = 0x03;
const typeNumber = 0x10;
const typeString = 0x20;

/** Parts of a key. A lone string is a list of one. */
export function partsOf(key: Key): readonly KeyPart[] {
  return typeof key === 'string' ? [key] : key;
}

const noBytes = Buffer.alloc(0);

/** Encodes parts behind `head`. */
export function encodeKey(parts: readonly KeyPart[], head: Uint8Array = noBytes): Buffer {
  let size = head.length;
  for (const part of parts) size += typeof part === 'string' ? 2 + part.length * 3 : 9;
  let target = Buffer.allocUnsafe(size);
  let at = head.length;
  target.set(head, 0);
  for (const part of parts) {
    if (typeof part === 'string' && part.includes('\0')) {
      const escaped = escapeNuls(part);
      target = Buffer.concat([target.subarray(0, at), escaped, Buffer.allocUnsafe(size)]);
      at += escaped.length;
    } else {
      at = writePart(part, target, at);
    }
  }
  return target.subarray(0, at);
}

function writePart(part: KeyPart, target: Buffer, start: number): number {
  if (typeof part === 'string') {
    target[start] = typeString;
    const end = start + 1 + target.write(part, start + 1, 'utf8');
    target[end] = 0;
    return end + 1;
  }
  if (typeof part === 'number') {
    if (Number.isNaN(part)) throw new TypeError('Cannot order a key: NaN is no place.');
    target[start] = typeNumber;
    // -0 and 0 are one key. The bits of a negative number are inverted, so that bytes order as
    // numbers do.
    target.writeDoubleBE(part === 0 ? 0 : part, start + 1);
    if (part < 0) for (let i = 1; i <= 8; i++) target[start + i] = ~(target[start + i] ?? 0) & 0xff;
    else target[start + 1] = (target[start + 1] ?? 0) | 0x80;
    return start + 9;
  }
  if (part !== null && typeof part !== 'boolean') {
    throw new TypeError(`Cannot order a key: a part is ${typeof part}.`);
  }
  target[start] = part === null ? typeNull : part ? typeTrue : typeFalse;
  return start + 1;
}

function escapeNuls(part: string): Buffer {
  const raw = Buffer.from(part, 'utf8');
  const escaped: number[] = [typeString];
  for (const byte of raw) {
    escaped.push(byte);
    if (byte === 0) escaped.push(0xff);
  }
  escaped.push(0);
  return Buffer.from(escaped);
}

/** Decodes what `encodeKey` wrote, from `start` on. Throws on anything else. */
export function decodeKey(bytes: Uint8Array, start = 0): KeyPart[] {
  const source = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
  const parts: KeyPart[] = [];
  let at = start;
  while (at < source.length) {
    const type = source[at++];
    if (type === typeNull) parts.push(null);
    else if (type === typeFalse) parts.push(false);
    else if (type === typeTrue) parts.push(true);
    else if (type === typeNumber) {
      parts.push(readNumber(source, at));
      at += 8;
    } else if (type === typeString) {
      const end = endOfString(source, at);
      parts.push(readString(source, at, end));
      at = end + 1;
    } else {
      throw new RangeError(`Cannot decode a key: type byte ${String(type)} at ${String(at - 1)}.`);
    }
  }
  return parts;
}

function readNumber(source: Buffer, at: number): number {
  const bits = Buffer.from(source.subarray(at, at + 8));
  if (bits.length < 8) throw new RangeError('Cannot decode a key: a number is cut short.');
  const first = bits[0] ?? 0;
  if (first & 0x80) bits[0] = first & 0x7f;
  else for (let i = 0; i < 8; i++) bits[i] = ~(bits[i] ?? 0) & 0xff;
  return bits.readDoubleBE(0);
}

function endOfString(source: Buffer, from: number): number {
  for (let end = source.indexOf(0, from); end !== -1; end = source.indexOf(0, end + 2)) {
    if (source[end + 1] !== 0xff) return end;
  }
  throw new RangeError('Cannot decode a key: a string is cut short.');
}

function readString(source: Buffer, from: number, end: number): string {
  const text = source.toString('utf8', from, end);
  if (!text.includes('\0')) return text;
  const raw: number[] = [];
  for (let at = from; at < end; at++) {
    const byte = source[at] ?? 0;
    raw.push(byte);
    if (byte === 0) at++;
  }
  return Buffer.from(raw).toString('utf8');
}

/** A key as text, for look-ups in caches: as distinct as its bytes, and cheaper to make. */
export function keyText(key: Key): string {
  if (typeof key === 'string') {
    return key.charCodeAt(0) < 0x20 || key === '' ? `\u0001s${key}` : key;
  }
  if (key.length === 1 && typeof key[0] === 'string') return keyText(key[0]);
  let text = '\u0001';
  for (const part of key) {
    if (typeof part === 'string') text += `s${String(part.length)}:${part}`;
    else if (typeof part === 'number') text += `n${String(part)};`;
    else text += part === null ? '-' : part ? 't' : 'f';
  }
  return text;
}
