/**
 * Owns how an object gets into a bucket: a small one by one request, a larger one in parts.
 *
 * 1. Two parts are in memory at most: one that is sent, and one that is filled meanwhile.
 * 2. All parts but the last have the same size, which some stores ask for.
 * 3. The object is there as a whole, and has the length that was written, or it is removed again.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../../../lib/errors.ts';
import type { ObjectWriter } from '../destination.ts';
import type { Bucket, BucketRequest } from './bucket.ts';
import { fieldIn } from './refusal.ts';
import { unfinishedUploads } from './unfinished-uploads.ts';

export const partBytes = 16 * 2 ** 20;
const partsMax = 10_000;
const uploadIdPattern = /^[\x21-\x7e]{1,2048}$/;
const etagPattern = /^[\x21-\x7e]{1,200}$/;

interface UploadParts {
  bucket: Bucket;
  /** With its prefix. */
  key: string;
  signal: AbortSignal;
  partBytes: number;
}

type Phase = 'writing' | 'finished' | 'aborted';

export class PartUpload implements ObjectWriter {
  readonly #parts: UploadParts;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #filling: Buffer;
  #spare: Buffer | null = null;
  #filled = 0;
  #bytes = 0;
  /** Whether an upload in parts was begun, of which no answer may have come. */
  #isInParts = false;
  #uploadId: string | null = null;
  readonly #etags: string[] = [];
  /** Whether the object may be there, whatever was answered. */
  #mayBeThere = false;
  /** The part that is on its way; never rejects. */
  #sending: Promise<void> = Promise.resolve();
  #failure: { error: unknown } | null = null;
  #phase: Phase = 'writing';

  constructor(parts: UploadParts) {
    this.#parts = parts;
    this.#signal = AbortSignal.any([parts.signal, this.#stop.signal]);
    this.#filling = Buffer.allocUnsafeSlow(parts.partBytes);
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      this.#mustGoOn();
      // A full part waits for what follows it: the last one is sent by `finish`.
      if (this.#filled === this.#filling.length) await this.#sendFilled();
      const taken = chunk.subarray(at, at + this.#filling.length - this.#filled);
      this.#filling.set(taken, this.#filled);
      this.#filled += taken.length;
      at += taken.length;
    }
    this.#bytes += chunk.length;
  }

  async finish(): Promise<void> {
    try {
      this.#mustGoOn();
      if (this.#isInParts) await this.#finishParts();
      else await this.#putWhole();
      await this.#mustBeWhole();
    } catch (error) {
      await this.abort().catch(() => undefined);
      throw error;
    }
    this.#phase = 'finished';
  }

  async abort(): Promise<void> {
    if (this.#phase !== 'writing') return;
    this.#stop.abort(new Error('The upload was ended.'));
    // A part that arrives behind the end would stay.
    await this.#sending;
    const { bucket, key } = this.#parts;
    const signal = AbortSignal.timeout(bucket.timing.cleanUpMs);
    if (this.#uploadId !== null) await endUpload(bucket, key, this.#uploadId, signal);
    if (this.#isInParts) await endUploadsOf(bucket, key, signal);
    if (this.#mayBeThere) await removed(bucket, { key }, signal);
    this.#phase = 'aborted';
  }

  async #putWhole(): Promise<void> {
    this.#mayBeThere = true;
    await this.#put(this.#filling.subarray(0, this.#filled), {});
  }

  async #finishParts(): Promise<void> {
    await this.#sendFilled();
    await this.#sending;
    this.#mustGoOn();
    this.#mayBeThere = true;
    await this.#complete();
  }

  async #sendFilled(): Promise<void> {
    await this.#sending;
    this.#mustGoOn();
    this.#isInParts = true;
    const full = this.#filling;
    this.#sending = this.#sendPart(full.subarray(0, this.#filled)).catch((error: unknown) => {
      this.#failure = { error };
    });
    this.#filling = this.#spare ?? Buffer.allocUnsafeSlow(this.#parts.partBytes);
    this.#spare = full;
    this.#filled = 0;
  }

  async #sendPart(part: Buffer): Promise<void> {
    const number = this.#etags.length + 1;
    if (number > partsMax) {
      const gibibytes = Math.floor((partsMax * this.#parts.partBytes) / 2 ** 30);
      throw failed(`A backup in a bucket has ${String(gibibytes)} GiB at most.`);
    }
    this.#uploadId ??= await this.#begin();
    const query = { partNumber: String(number), uploadId: this.#uploadId };
    const { etag = '' } = await this.#put(part, query);
    if (!etagPattern.test(etag)) throw failed('The bucket does not say what it stored.');
    this.#etags.push(etag);
  }

  async #begin(): Promise<string> {
    const { bucket, key } = this.#parts;
    const query = { uploads: '' };
    const { text } = await bucket.ask({ method: 'POST', key, query, signal: this.#signal });
    const uploadId = fieldIn(text, 'UploadId', uploadIdPattern);
    if (uploadId === null) throw failed('The bucket does not take uploads in parts.');
    return uploadId;
  }

  async #put(body: Buffer, query: Record<string, string>): Promise<IncomingHttpHeaders> {
    const { bucket, key } = this.#parts;
    const headers = { 'content-type': 'application/octet-stream' };
    const asked = { method: 'PUT', key, query, headers, body, signal: this.#signal } as const;
    return (await bucket.ask(asked)).headers;
  }

  async #complete(): Promise<void> {
    const { bucket, key } = this.#parts;
    const parts = this.#etags.map(
      (etag, i) =>
        `<Part><PartNumber>${String(i + 1)}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const asked = { method: 'POST', key, query: { uploadId: this.#uploadId ?? '' } } as const;
    const completing = bucket.ask({ ...asked, body: Buffer.from(xml), signal: this.#signal });
    await completing.catch(async (error: unknown) => {
      // The answer of a first try may have been lost: then the upload is gone, and the object is there.
      this.#signal.throwIfAborted();
      if ((await this.#length().catch(() => null)) !== this.#bytes) throw error;
    });
  }

  async #mustBeWhole(): Promise<void> {
    const stored = await this.#length();
    if (stored === this.#bytes) return;
    throw failed(
      `The bucket holds ${String(stored)} bytes of the ${String(this.#bytes)} that were written.`,
    );
  }

  async #length(): Promise<number> {
    return await lengthOf(this.#parts.bucket, this.#parts.key, this.#signal);
  }

  #mustGoOn(): void {
    this.#signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure.error;
  }
}

/** Of an object. */
export async function lengthOf(bucket: Bucket, key: string, signal: AbortSignal): Promise<number> {
  const { headers } = await bucket.ask({ method: 'HEAD', key, signal });
  const length = headers['content-length'] ?? '';
  if (!/^\d{1,15}$/.test(length)) throw failed('The bucket does not say how long the object is.');
  return Number(length);
}

/** Removes the parts of an upload; one that is gone is fine. */
export function endUpload(
  bucket: Bucket,
  key: string,
  uploadId: string,
  signal: AbortSignal,
): Promise<void> {
  return removed(bucket, { key, query: { uploadId } }, signal);
}

/** Also those that were begun without an answer. */
async function endUploadsOf(bucket: Bucket, key: string, signal: AbortSignal): Promise<void> {
  for await (const upload of unfinishedUploads(bucket, key, signal)) {
    if (upload.key === key) await endUpload(bucket, key, upload.uploadId, signal);
  }
}

/** Removes an object or an upload; one that is gone is fine. */
export async function removed(
  bucket: Bucket,
  what: Pick<BucketRequest, 'key' | 'query'>,
  signal: AbortSignal,
): Promise<void> {
  await bucket.ask({ ...what, method: 'DELETE', signal }).catch((error: unknown) => {
    if (!(error instanceof ServiceError && error.code === 'ARTIFACT_GONE')) throw error;
  });
}

export function failed(detail: string): ServiceError {
  return new ServiceError('DESTINATION_FAILED', detail);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
