/**
 * Owns the reading of pax extended headers (POSIX.1-2001): records `<length> <key>=<value>\n`. They are
 * read strictly, because a lenient reader can be made to see another archive.
 */
import { decodeName, latin1 } from './names.ts';
import { corrupt, unsafe } from './refusals.ts';

/** The fields of a header that change the next entry; the rest (times, owners, attributes) is skipped. */
export interface PaxOverrides {
  path?: string;
  linkpath?: string;
  size?: number;
}

const space = 0x20;
const newline = 0x0a;

export function readPax(bytes: Uint8Array, scope: 'entry' | 'global'): PaxOverrides {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const overrides: PaxOverrides = {};
  let at = 0;
  while (at < text.length) {
    const gap = text.indexOf(space, at);
    const digits = gap < 0 ? '' : text.toString('latin1', at, gap);
    if (!/^[1-9][0-9]{0,7}$/.test(digits)) throw malformed();
    const end = at + Number(digits);
    if (end > text.length || end <= gap + 1 || text[end - 1] !== newline) throw malformed();
    const equals = text.indexOf('=', gap + 1);
    if (equals < 0 || equals >= end - 1) throw malformed();
    const key = text.toString('utf8', gap + 1, equals);
    apply(overrides, key, decodeName(text.subarray(equals + 1, end - 1), latin1), scope);
    at = end;
  }
  return overrides;
}

function apply(
  overrides: PaxOverrides,
  key: string,
  value: string,
  scope: 'entry' | 'global',
): void {
  if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize') {
    throw corrupt('sparse files are not supported; pack them without --sparse');
  }
  if (key !== 'path' && key !== 'linkpath' && key !== 'size') return;
  if (scope === 'global') throw unsafe(value, 'is set for all entries at once');
  if (key === 'size') {
    if (!/^[0-9]{1,15}$/.test(value)) throw malformed();
    overrides.size = Number(value);
  } else {
    if (value === '') throw malformed();
    overrides[key] = value;
  }
}

function malformed(): Error {
  return corrupt('an extended header is malformed');
}
