/**
 * Owns how records become bytes: msgpack, decoded into deeply frozen values.
 *
 * 1. A record of a known shape is stored as the number of the shape and its values, and is read
 *    eight times as fast as one with the names of its fields, as any other is stored. The first
 *    byte tells which of the two it is.
 * 2. Shapes are not learned at run time: `shapes.ts` lists them all. So no aborted transaction
 *    leaves a shape that some threads do not know.
 */
import { Packr } from 'msgpackr';
import { shapes, shapesOfTables } from './shapes.ts';

const named = new Packr({ useRecords: false, copyBuffers: true });
const shaped = new Packr({
  useRecords: isShaped,
  mapsAsObjects: true,
  copyBuffers: true,
  structures: shapes.map((shape) => [...shape]),
  maxSharedStructures: shapes.length,
});

/** First bytes that name a shape. To `named` they are plain numbers, and no record is a number. */
const firstShape = 0x40;
const lastShape = 0x7f;

/** Bytes of a plain value. Throws a TypeError when it is none. */
export function encodeValue(value: unknown): Uint8Array {
  return named.pack(value);
}

/** Bytes of a record of this table. Throws a TypeError when it is no plain value. */
export function encodeRecord(table: string, record: unknown): Uint8Array {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return named.pack(record);
  }
  const ordered = inOrder(record as Record<string, unknown>, shapesOfTables[table]);
  return ordered === undefined ? named.pack(record) : shaped.pack(ordered);
}

/** The value, deeply frozen, with no part of `bytes` in it. */
export function decodeValue(bytes: Uint8Array): unknown {
  const first = bytes[0] ?? 0;
  const packr = first >= firstShape && first <= lastShape ? shaped : named;
  return freeze(packr.unpack(bytes));
}

interface Step {
  readonly next: Map<string, Step>;
  isEnd: boolean;
}

/** Whether the fields are those of a shape, in its order. */
function isShaped(value: object): boolean {
  let step: Step | undefined = steps;
  for (const key in value) {
    step = step.next.get(key);
    if (step === undefined) return false;
  }
  return step.isEnd;
}

/** The shapes as a tree of their fields. */
const steps = treeOf(shapes);

function treeOf(all: readonly (readonly string[])[]): Step {
  const root: Step = { next: new Map(), isEnd: false };
  for (const shape of all) {
    let step = root;
    for (const key of shape) {
      const next: Step = step.next.get(key) ?? { next: new Map(), isEnd: false };
      step.next.set(key, next);
      step = next;
    }
    step.isEnd = true;
  }
  return root;
}

/** The record with its fields in the order of the shape; undefined when it has others. */
function inOrder(
  record: Record<string, unknown>,
  shape: readonly string[] | undefined,
): object | undefined {
  if (shape === undefined) return undefined;
  let at = 0;
  let isInOrder = true;
  for (const key in record) {
    if (key !== shape[at]) isInOrder = false;
    at += 1;
  }
  if (at !== shape.length) return undefined;
  if (isInOrder) return record;
  const ordered: Record<string, unknown> = {};
  for (const key of shape) {
    if (!Object.hasOwn(record, key)) return undefined;
    ordered[key] = record[key];
  }
  return ordered;
}

function freeze(value: unknown): unknown {
  // Typed arrays cannot be frozen; whoever writes into one breaks the reader's contract.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) for (const item of value) freeze(item);
  else for (const key in value) freeze((value as Record<string, unknown>)[key]);
  return Object.freeze(value);
}
