/**
 * Owns plain data as bytes of CBOR, from and for another machine, which may mean harm.
 *
 * 1. Only null, booleans, numbers, strings, bytes, arrays and records are taken: none of the tags that make errors,
 *    expressions, sets or references of what is read.
 * 2. What nests deeper, or has more members, than is allowed is refused before anything is made of it.
 */
import { Decoder, Encoder } from 'cbor-x';

import { FrameError } from './message-frames.ts';

const encoder = new Encoder({ useRecords: false, mapsAsObjects: true });
const decoder = new Decoder({ useRecords: false, mapsAsObjects: true });

export interface PlainBounds {
  depthMax: number;
  membersMax: number;
}

const bounds: PlainBounds = { depthMax: 32, membersMax: 200_000 };

/** A view of bytes in an array (RFC 8746): what the encoder makes of a Uint8Array. */
const bytesTag = 64;
const [unsignedType, negativeType, bytesType, textType, arrayType, mapType, tagType] = [
  0, 1, 2, 3, 4, 5, 6,
];

export function encodePlain(value: unknown): Uint8Array {
  return encoder.encode(value);
}

/** Throws FrameError. Bytes in what is read are views of these. */
export function decodePlain(bytes: Uint8Array): unknown {
  const flaw = flawIn(bytes);
  if (flaw !== null) throw new FrameError(flaw);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new FrameError('not CBOR', error);
  }
}

/** Why these are not the bytes of one plain value; null: they are, as far as its structure goes. */
export function flawIn(bytes: Uint8Array, { depthMax, membersMax } = bounds): string | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Of each array and record that is open: how many values are to come. */
  const open: number[] = [1];
  let members = 0;
  for (let at = 0; ;) {
    while (open.at(-1) === 0) open.pop();
    if (open.length === 0) return at === bytes.length ? null : 'more than one value';
    open[open.length - 1] = (open.at(-1) ?? 0) - 1;
    const head = headAt(view, at);
    if (typeof head === 'string') return head;
    const { type, count } = head;
    at = head.next;
    if (type === bytesType || type === textType) {
      at += count;
      if (at > bytes.length) return 'cut off';
    } else if (type === arrayType || type === mapType) {
      const values = type === mapType ? 2 * count : count;
      members += values;
      if (members > membersMax) return `more than ${String(membersMax)} members`;
      // The first level is the value itself.
      if (open.length > depthMax) return `deeper than ${String(depthMax)} levels`;
      open.push(values);
    } else if (type === tagType) {
      if (count !== bytesTag || (bytes[at] ?? 0) >> 5 !== bytesType) return 'not plain data';
      open[open.length - 1] = (open.at(-1) ?? 0) + 1;
    }
  }
}

interface Head {
  type: number;
  /** Its number: a length, for those that have one. */
  count: number;
  next: number;
}

function headAt(view: DataView, at: number): Head | string {
  if (at >= view.byteLength) return 'cut off';
  const first = view.getUint8(at);
  const [type, short] = [first >> 5, first & 0x1f];
  if (short < 24) return { type, count: short, next: at + 1 };
  if (short > 27) return 'of unknown length';
  const size = 1 << (short - 24);
  if (at + 1 + size > view.byteLength) return 'cut off';
  const next = at + 1 + size;
  // Numbers may have any size; lengths of 4 GB and more are refused as cut off or too many.
  if (size === 8) {
    const isNumber = type === unsignedType || type === negativeType;
    const high = view.getUint32(at + 1) * 2 ** 32;
    return { type, count: isNumber ? 0 : high + view.getUint32(at + 5), next };
  }
  const count =
    size === 1
      ? view.getUint8(at + 1)
      : size === 2
        ? view.getUint16(at + 1)
        : view.getUint32(at + 1);
  return { type, count, next };
}
