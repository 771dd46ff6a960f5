/**
 * Owns reading heads that a client has compressed by HPACK (RFC 7541).
 *
 * 1. What can be no head is `undefined`: the tables of both sides differ from then on.
 * 2. A head that is larger than its bound is read to its end, for the table's sake, but its fields are not kept: a few
 *    bytes that name large entries again and again cost no more than these bytes.
 */
import { decodeHuffman } from './huffman.ts';
import { DynamicTable, type Field, sizeOf, staticTable, tableBytes } from './hpack-table.ts';

export interface HpackBounds {
  /** Of the names and values of a head, with 32 bytes for each field. */
  headBytesMax: number;
  fieldsMax: number;
}

export interface DecodedHead {
  fields: Field[];
  /** It is larger than its bound. */
  isTooLarge: boolean;
}

const integerBitsMax = 28;
/** Of a compressed head: so that one that is somewhat too large can still be answered. */
export const blockBytesMax = 64 * 1024;
/** All texts are decoded here, one after the other. The shortest code has five bits. */
const memory = Buffer.allocUnsafeSlow((blockBytesMax * 8) / 5 + 1);

export class HpackDecoder {
  readonly #bounds: HpackBounds;
  readonly #table = new DynamicTable(tableBytes);
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #isMalformed = false;

  constructor(bounds: HpackBounds) {
    this.#bounds = bounds;
  }

  /** `from` to `to`: a whole block, of up to `blockBytesMax`. */
  decode(bytes: Buffer, from: number, to: number): DecodedHead | undefined {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
    this.#isMalformed = false;
    const { headBytesMax, fieldsMax } = this.#bounds;
    const fields: Field[] = [];
    let [size, isTooLarge, mayResize] = [0, false, true];
    while (this.#at < this.#end) {
      const first = bytes[this.#at] ?? 0;
      if ((first & 0xe0) === 0x20) {
        if (!mayResize || !this.#resize()) return undefined;
        continue;
      }
      mayResize = false;
      const field = this.#field(first);
      if (field === undefined) return undefined;
      size += sizeOf(field);
      isTooLarge ||= size > headBytesMax || fields.length === fieldsMax;
      if (!isTooLarge) fields.push(field);
    }
    return { fields, isTooLarge };
  }

  #field(first: number): Field | undefined {
    if (first & 0x80) return this.#entry(this.#integer(7));
    const isKept = (first & 0x40) !== 0;
    const index = this.#integer(isKept ? 6 : 4);
    const name = index === 0 ? this.#text() : this.#entry(index)?.name;
    if (name === undefined) return undefined;
    const field = { name, value: this.#text() };
    if (this.#isMalformed) return undefined;
    if (isKept) this.#table.add(field);
    return field;
  }

  #entry(index: number): Field | undefined {
    if (index <= staticTable.length) return staticTable[index - 1];
    return this.#table.at(index - staticTable.length - 1);
  }

  #resize(): boolean {
    const max = this.#integer(5);
    if (this.#isMalformed || max > this.#table.sizeMax) return false;
    this.#table.resize(max);
    return true;
  }

  /** RFC 7541, 5.1: in the last `bits` of a byte, and in those behind it where that is not enough. */
  #integer(bits: number): number {
    const most = (1 << bits) - 1;
    let value = (this.#bytes[this.#at++] ?? 0) & most;
    if (value < most) return value;
    for (let shift = 0; shift < integerBitsMax && this.#at < this.#end; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    this.#isMalformed = true;
    return 0;
  }

  #text(): string {
    const bytes = this.#bytes;
    const isCoded = ((bytes[this.#at] ?? 0) & 0x80) !== 0;
    const hasLength = this.#at < this.#end;
    const length = this.#integer(7);
    const from = this.#at;
    this.#at += length;
    if (!hasLength || this.#isMalformed || this.#at > this.#end) return this.#malformed();
    if (!isCoded) return bytes.toString('latin1', from, this.#at);
    return decodeHuffman(bytes, from, this.#at, memory) ?? this.#malformed();
  }

  #malformed(): string {
    this.#isMalformed = true;
    return '';
  }
}
