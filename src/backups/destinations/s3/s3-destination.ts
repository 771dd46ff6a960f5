/**
 * Owns backups in a bucket of any store that speaks S3.
 *
 * 1. All keys begin with the prefix of the destination; nothing else in the bucket is touched.
 * 2. A read that breaks off goes on where it was. What comes is what was asked for, or the read fails.
 */
import type { IncomingMessage } from 'node:http';
import type { GuardedFetch } from '../../../lib/guarded-fetch.ts';
import {
  type ByteRange,
  bytesOf,
  checkKey,
  type Destination,
  type ObjectWriter,
  type S3Place,
  type StoredObject,
} from '../destination.ts';
import { Bucket, type BucketTiming } from './bucket.ts';
import { endUpload, failed, lengthOf, partBytes, PartUpload, removed } from './part-upload.ts';
import { unfinishedUploads } from './unfinished-uploads.ts';

/** A read that gets so far may break off once more. */
const progressBytes = 2 ** 20;

export interface S3Options {
  fetch: GuardedFetch;
  timing?: BucketTiming;
  partBytes?: number;
}

export class S3Destination implements Destination {
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #partBytes: number;

  constructor(place: S3Place, options: S3Options) {
    this.#bucket = new Bucket(place, options.fetch, options.timing);
    this.#prefix = place.prefix;
    this.#partBytes = options.partBytes ?? partBytes;
  }

  open(key: string, signal: AbortSignal): Promise<ObjectWriter> {
    checkKey(key);
    signal.throwIfAborted();
    const parts = { bucket: this.#bucket, key: this.#prefix + key, partBytes: this.#partBytes };
    return Promise.resolve(new PartUpload({ ...parts, signal }));
  }

  async read(key: string, range?: ByteRange, given?: AbortSignal): Promise<StoredObject> {
    checkKey(key);
    const signal = given ?? new AbortController().signal;
    const bytes = await lengthOf(this.#bucket, this.#prefix + key, signal);
    const wanted = bytesOf(bytes, range);
    return { bytes, stream: this.#bytes({ key, bytes, signal }, wanted) };
  }

  async remove(key: string, signal = new AbortController().signal): Promise<void> {
    checkKey(key);
    await removed(this.#bucket, { key: this.#prefix + key }, signal);
  }

  async sweep(isWriting: (key: string) => boolean, signal: AbortSignal): Promise<void> {
    const prefix = this.#prefix;
    for await (const { key, uploadId } of unfinishedUploads(this.#bucket, prefix, signal)) {
      if (isWriting(key.slice(prefix.length))) continue;
      await endUpload(this.#bucket, key, uploadId, signal);
    }
  }

  async *#bytes(object: Reading, wanted: Required<ByteRange> | null): AsyncGenerator<Uint8Array> {
    if (wanted === null) return;
    const { signal } = object;
    const { end } = wanted;
    const { tries } = this.#bucket.timing;
    for (let at = wanted.start, failures = 0; at <= end;) {
      const from = at;
      for await (const chunk of this.#piece(object, { start: at, end })) {
        at += chunk.length;
        if (at > end + 1) throw failed('The bucket sends more than it said.');
        yield chunk;
      }
      signal.throwIfAborted();
      failures = at - from < progressBytes ? failures + 1 : 0;
      if (at <= end && failures >= tries) {
        throw failed('The bucket breaks off while the backup is read.');
      }
    }
  }

  /** The bytes of one answer, as far as they come. */
  async *#piece(object: Reading, range: Required<ByteRange>): AsyncGenerator<Uint8Array> {
    const { signal } = object;
    const response = await this.#bucket.retried(signal, () => this.#from(object, range));
    try {
      yield* this.#bucket.chunks(response);
    } catch {
      // It is asked again from there on.
    }
  }

  /** The answer that begins at this byte, once it is known that it does. */
  async #from(object: Reading, { start, end }: Required<ByteRange>): Promise<IncomingMessage> {
    const { key, bytes, signal } = object;
    const range = `bytes=${String(start)}-${String(end)}`;
    const asked = { method: 'GET', key: this.#prefix + key, headers: { range }, signal } as const;
    const response = await this.#bucket.send(asked);
    const isWhole = start === 0 && end === bytes - 1 && response.statusCode === 200;
    const said = `bytes ${String(start)}-${String(end)}/${String(bytes)}`;
    if (isWhole || response.headers['content-range'] === said) return response;
    response.destroy();
    throw failed('The bucket does not send the part of the backup that was asked for.');
  }
}

interface Reading {
  key: string;
  /** Of the whole object. */
  bytes: number;
  signal: AbortSignal;
}
