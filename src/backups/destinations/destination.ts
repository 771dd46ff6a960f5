/**
 * Owns what a destination of backups is to the rest of the program: a place that keeps objects by key.
 *
 * 1. An object is written whole or not at all: until `finish` resolves, no reader sees it, and what was begun
 *    leaves nothing once `abort` has resolved.
 * 2. What a process left that died while it wrote is removed by `sweep`.
 * 3. What a caller may be told is a ServiceError: DESTINATION_FAILED, STORAGE_FULL, ARTIFACT_GONE. An aborted
 *    signal rejects with its reason.
 */

/** Called by one after the other: each promise is awaited before the next call. */
export interface ObjectWriter {
  /** Resolves when there is room for more. The chunk may be used again then. */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the object, on stable storage. When it rejects, nothing is left. */
  finish(): Promise<void>;
  /** Ends what is not finished, also after an error and twice. Rejects when something may be left. */
  abort(): Promise<void>;
}

/** Bytes `start` to `end`, both included and counted from 0, as in HTTP. */
export interface ByteRange {
  start: number;
  end?: number;
}

export interface StoredObject {
  /** Of the whole object. */
  bytes: number;
  /** Of the range. It opens what it needs when it is read, and rejects when fewer bytes come. */
  stream: AsyncIterable<Uint8Array>;
}

export interface Destination {
  /** Replaces an object of this key. A key is written by one writer at a time. */
  open(key: string, signal: AbortSignal): Promise<ObjectWriter>;
  /** Rejects with ARTIFACT_GONE where there is no such object. */
  read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<StoredObject>;
  /** Twice is fine. */
  remove(key: string, signal?: AbortSignal): Promise<void>;
  /** Removes what was begun and not finished, except for keys that are being written. */
  sweep(isWriting: (key: string) => boolean, signal: AbortSignal): Promise<void>;
}

/** Where a destination is; plain data, with its credentials. */
export type DestinationPlace = ServerPlace | S3Place;

export interface ServerPlace {
  kind: 'server';
  /** A folder that the operator lets backups be in. */
  root: string;
  /** Names below it. The last one is the destination's own folder. */
  path: readonly string[];
  /** Whether the folder is made again when it is missing. A disk of the operator's may not be mounted. */
  isOurs: boolean;
}

export interface S3Place {
  kind: 's3';
  /** Without the bucket in its path. */
  endpoint: string;
  bucket: string;
  region: string;
  /** What its keys begin with: names, each with `/` behind it. */
  prefix: string;
  accessKey: string;
  secretKey: string;
}

/** Names of folders, too: nothing that leads elsewhere, or is hidden. */
export const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export function checkKey(key: string): void {
  if (!namePattern.test(key)) throw new Error(`Cannot keep an object: ${key} is no key`);
}

/** The first and the last byte of a range, as far as there is something; null where there is nothing. */
export function bytesOf(
  bytes: number,
  { start, end = bytes - 1 }: ByteRange = { start: 0 },
): Required<ByteRange> | null {
  const last = Math.min(end, bytes - 1);
  return start > last ? null : { start, end: last };
}
