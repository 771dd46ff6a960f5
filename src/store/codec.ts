/**
 * Owns how records become bytes: msgpack, self-describing (no shared structures, which an aborted
 * transaction would leave unknown to some threads), decoded into deeply frozen values.
 */
import { Packr } from 'msgpackr';

const packr = new Packr({ useRecords: false, copyBuffers: true });

/** Bytes of a plain value. Throws a TypeError when it is none. */
export function encodeValue(value: unknown): Uint8Array {
  return packr.pack(value);
}

/** The value, deeply frozen, with no part of `bytes` in it. */
export function decodeValue(bytes: Uint8Array): unknown {
  return freeze(packr.unpack(bytes));
}

function freeze(value: unknown): unknown {
  // Typed arrays cannot be frozen; whoever writes into one breaks the reader's contract.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) for (const item of value) freeze(item);
  else for (const key in value) freeze((value as Record<string, unknown>)[key]);
  return Object.freeze(value);
}
