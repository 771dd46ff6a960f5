/**
 * Owns writing heads in HPACK (RFC 7541), as text of one character a byte.
 *
 * 1. Names and statuses of the static table are told by their index. All else is told as it is, and kept in no table:
 *    that is what costs least here, and what a client is told of one answer says nothing about another.
 */
import { staticTable } from './hpack-table.ts';

/** Says that the table is of no bytes from now on. What is never filled can be that at any time. */
export const emptyTable = '\x20';

const statusName = 8;
/** Of names in any case: what a field with that name begins with. */
const namesMax = 1024;
const nameLengthMax = 64;

const indexOf = new Map<string, number>();
for (const [at, { name }] of staticTable.entries())
  if (!indexOf.has(name)) indexOf.set(name, at + 1);

const statuses = new Map<number, string>();
for (const [at, { name, value }] of staticTable.entries())
  if (name === ':status') statuses.set(Number(value), String.fromCharCode(0x80 | (at + 1)));

export class HpackEncoder {
  readonly #names = new Map<string, string>();

  status(status: number): string {
    return statuses.get(status) ?? `${String.fromCharCode(statusName)}\x03${String(status)}`;
  }

  field(name: string, value: string): string {
    return this.#nameOf(name) + textOf(value);
  }

  /** Lines of HTTP/1.1, each with its end; without the white space around values. */
  lines(lines: string): string {
    let block = '';
    let end: number;
    for (let at = 0; (end = lines.indexOf('\r\n', at)) !== -1; at = end + 2) {
      const colon = lines.indexOf(':', at);
      block += this.field(lines.slice(at, colon), trimmed(lines, colon + 1, end));
    }
    return block;
  }

  #nameOf(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const lower = name.toLowerCase();
    const index = indexOf.get(lower);
    const text = index === undefined ? `\0${textOf(lower)}` : integer(index, 4, 0);
    if (this.#names.size >= namesMax) this.#names.clear();
    if (name.length <= nameLengthMax) this.#names.set(name, text);
    return text;
  }
}

function textOf(text: string): string {
  return integer(text.length, 7, 0) + text;
}

const [tab, space] = [9, 32];

function trimmed(lines: string, start: number, end: number): string {
  let [from, to] = [start, end];
  while (from < to && isBlank(lines.charCodeAt(from))) from++;
  while (to > from && isBlank(lines.charCodeAt(to - 1))) to--;
  return lines.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

/** RFC 7541, 5.1: in the last `bits` of a byte whose first ones are `first`. */
function integer(value: number, bits: number, first: number): string {
  const most = (1 << bits) - 1;
  if (value < most) return String.fromCharCode(first | value);
  let text = String.fromCharCode(first | most);
  let rest = value - most;
  for (; rest >= 0x80; rest >>>= 7) text += String.fromCharCode(0x80 | (rest & 0x7f));
  return text + String.fromCharCode(rest);
}
