/**
 * Owns requests to the bucket of a destination: signed, to addresses that the guard admits, and tried again
 * when the bucket is busy or silent.
 *
 * 1. What may be shown of a failure is a sentence of ours, with the status and the code of S3: never a text
 *    that the other side wrote.
 * 2. An answer that is no object is read up to a bound of bytes, and ten times as long as silence may be.
 * 3. Silence ends a try: before the answer begins, and between the chunks of its body.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { ServiceError } from '../../../lib/errors.ts';
import { FetchRefused, type GuardedFetch, SilenceError } from '../../../lib/guarded-fetch.ts';
import type { S3Place } from '../destination.ts';
import { BucketRefusal, codeIn } from './refusal.ts';

export interface BucketTiming {
  /** Without a byte. */
  silenceMs: number;
  tries: number;
  /** Before the second try; doubled before each further one. */
  backoffMs: number;
  /** To remove what was ended before it was whole. */
  cleanUpMs: number;
}

export const bucketTiming: BucketTiming = {
  silenceMs: 60_000,
  tries: 5,
  backoffMs: 500,
  cleanUpMs: 60_000,
};

export interface BucketRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Of an object, with its prefix; '' for the bucket. */
  key: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array;
  signal: AbortSignal;
}

export interface BucketAnswer {
  headers: IncomingHttpHeaders;
  text: string;
}

const backoffMaxMs = 10_000;
const answerMaxBytes = 2 ** 20;
/** A store that puts many parts together sends spaces for minutes. */
const silencesMax = 10;

class EndlessAnswer extends Error {
  override name = 'EndlessAnswer';
}

export class Bucket {
  readonly #place: S3Place;
  readonly #fetch: GuardedFetch;
  readonly timing: BucketTiming;
  readonly #keys = new Map<string, ArrayBuffer>();

  constructor(place: S3Place, fetch: GuardedFetch, timing: BucketTiming = bucketTiming) {
    this.#place = place;
    this.#fetch = fetch;
    this.timing = timing;
  }

  /** The whole answer. Rejects with a ServiceError, or with the reason of the signal. */
  ask(request: BucketRequest): Promise<BucketAnswer> {
    return this.retried(request.signal, async () => {
      const response = await this.send(request);
      const text = await this.#text(response, request.signal);
      // An upload is completed with status 200 before it is known whether it can be.
      const code = codeIn(text);
      if (code !== null) throw new BucketRefusal(response.statusCode ?? 0, code);
      return { headers: response.headers, text };
    });
  }

  /** The chunks of a body that began; silence rejects. */
  async *chunks(response: IncomingMessage): AsyncGenerator<Uint8Array> {
    const { silenceMs } = this.timing;
    const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    try {
      for (;;) {
        const timer = setTimeout(() => response.destroy(new SilenceError(silenceMs)), silenceMs);
        const next = await chunks.next().finally(() => clearTimeout(timer));
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      response.destroy();
    }
  }

  /** Tries again after what may pass. Rejects with what may be told. */
  async retried<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const { tries, backoffMs } = this.timing;
    for (let failed = 1; ; failed++) {
      try {
        signal.throwIfAborted();
        return await attempt();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (failed === tries || !mayPass(error)) throw told(error);
      }
      const waitMs = Math.min(backoffMs * 2 ** (failed - 1), backoffMaxMs);
      // Not all at the same moment.
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
    }
  }

  /** One try; the answer as it begins. */
  async send(request: BucketRequest): Promise<IncomingMessage> {
    const { method, body, signal } = request;
    const { url, headers } = await this.#signed(request);
    const { silenceMs } = this.timing;
    const options = { method, headers, signal, silenceMs, ...(body && { body }) };
    const response = await this.#fetch.send(url, options);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    throw new BucketRefusal(status, codeIn(await this.#text(response, signal)));
  }

  async #text(response: IncomingMessage, signal: AbortSignal): Promise<string> {
    const { silenceMs } = this.timing;
    const lateMs = performance.now() + silencesMax * silenceMs;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of this.chunks(response)) {
      signal.throwIfAborted();
      bytes += chunk.length;
      if (bytes > answerMaxBytes) throw new EndlessAnswer('Cannot read an answer: it is too long.');
      if (performance.now() > lateMs) throw new SilenceError(silenceMs);
      parts.push(chunk);
    }
    return Buffer.concat(parts).toString();
  }

  async #signed({ method, key, query = {}, headers = {}, body }: BucketRequest) {
    const { region, accessKey, secretKey } = this.#place;
    const url = new URL(`${baseOf(this.#place)}${key === '' ? '' : `/${key}`}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const digest = body && createHash('md5').update(body).digest('base64');
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, ...(digest !== undefined && { 'content-md5': digest }) },
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: 's3',
      region,
      cache: this.#keys,
    });
    const signed = await signer.sign();
    return { url: signed.url.href, headers: Object.fromEntries(signed.headers) };
  }
}

/**
 * The address of the bucket, without a slash at its end. The bucket stands in the path, except where the
 * endpoint has it in its host, and at AWS.
 */
export function baseOf({ endpoint, bucket }: Pick<S3Place, 'endpoint' | 'bucket'>): string {
  const url = new URL(endpoint);
  const base = url.href.replace(/\/$/, '');
  if (url.hostname.startsWith(`${bucket}.`)) return base;
  const isHostLabel = /^[a-z0-9-]+$/.test(bucket);
  if (isHostLabel && /(^|\.)amazonaws\.com(\.cn)?$/.test(url.hostname)) {
    return base.replace('://', `://${bucket}.`);
  }
  return `${base}/${bucket}`;
}

// prettier-ignore
const passingCodes: ReadonlySet<unknown> = new Set([
  'ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH',
]);

function mayPass(error: unknown): boolean {
  if (error instanceof BucketRefusal) return error.mayPass;
  if (error instanceof SilenceError) return true;
  return passingCodes.has((error as NodeJS.ErrnoException).code);
}

function told(error: unknown): unknown {
  if (error instanceof BucketRefusal) return error.told();
  const sentence = sentenceOf(error);
  if (sentence === null) return error;
  return new ServiceError('DESTINATION_FAILED', sentence, { cause: error });
}

/** Null for what says itself what it is, and for our own faults. */
function sentenceOf(error: unknown): string | null {
  if (error instanceof ServiceError) return null;
  if (error instanceof SilenceError) return 'The bucket does not answer.';
  if (error instanceof EndlessAnswer) return 'The bucket answers with more than was asked for.';
  if (error instanceof FetchRefused) return `The endpoint cannot be used: ${error.message}`;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? `The bucket cannot be reached (${code}).` : null;
}
