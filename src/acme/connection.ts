/**
 * Owns the way to a certificate authority.
 *
 * 1. Its own address is the operator's word: it may be anywhere, and be shown by authorities of the operator's.
 *    Another address that it names is treated as what any caller names.
 * 2. An answer is bounded in size and time. No redirect is followed.
 * 3. Whatever goes wrong is a CaUnavailable.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { rootCertificates } from 'node:tls';
import type { GuardedFetch } from '../lib/guarded-fetch.ts';
import { CaUnavailable } from './failures.ts';

export interface CaConnectionOptions {
  /** Address of the directory. */
  directory: string;
  /** Authorities, in PEM, that its own address may be shown by besides the public ones; null: none. */
  ca: string | null;
  /** The way to what else it names. */
  fetch: Pick<GuardedFetch, 'get' | 'post'>;
  /** For one exchange; default 30 s. */
  timeoutMs?: number;
}

export interface CaAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

const answerMaxBytes = 256 * 1024;
const timeoutMsDefault = 30_000;
const keptSockets = 4;

export class CaConnection {
  readonly #options: CaConnectionOptions;
  readonly #origin: string;
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  constructor(options: CaConnectionOptions) {
    this.#options = options;
    this.#origin = new URL(options.directory).origin;
    this.#timeoutMs = options.timeoutMs ?? timeoutMsDefault;
    const ca = options.ca === null ? {} : { ca: [...rootCertificates, options.ca] };
    this.#agent = new Agent({ keepAlive: true, maxSockets: keptSockets, timeout: 10_000, ...ca });
  }

  get(address: string, signal: AbortSignal): Promise<CaAnswer> {
    return this.#send(address, null, signal);
  }

  /** `body` is a JWS in JSON. */
  post(address: string, body: string, signal: AbortSignal): Promise<CaAnswer> {
    return this.#send(address, body, signal);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(address: string, body: string | null, signal: AbortSignal): Promise<CaAnswer> {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url?.protocol !== 'https:') throw new CaUnavailable('It names an address without https.');
    const late = AbortSignal.timeout(this.#timeoutMs);
    try {
      if (url.origin !== this.#origin) return await this.#elsewhere(address, body);
      return await this.#exchange(url, body, AbortSignal.any([signal, late]));
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof CaUnavailable) throw cause;
      const why = late.aborted ? 'It took too long to answer.' : (cause as Error).message;
      throw new CaUnavailable(why, { cause });
    }
  }

  async #elsewhere(address: string, body: string | null): Promise<CaAnswer> {
    const { fetch } = this.#options;
    const options = {
      maxBytes: answerMaxBytes,
      timeoutMs: this.#timeoutMs,
      headers: headersOf(body),
    };
    const answer = await (body === null
      ? fetch.get(address, options)
      : fetch.post(address, Buffer.from(body), options));
    return { ...answer, body: answer.body.toString('utf8') };
  }

  #exchange(url: URL, body: string | null, signal: AbortSignal): Promise<CaAnswer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        {
          method: body === null ? 'GET' : 'POST',
          agent: this.#agent,
          headers: headersOf(body),
          signal,
        },
        (answer) => {
          gather(answer).then(resolve, reject);
        },
      );
      sent.on('error', reject);
      sent.end(body ?? undefined);
    });
  }
}

function headersOf(body: string | null): Record<string, string> {
  const about = { 'user-agent': 'gangway', 'accept-language': 'en' };
  if (body === null) return about;
  const length = String(Buffer.byteLength(body));
  return { ...about, 'content-type': 'application/jose+json', 'content-length': length };
}

async function gather(answer: IncomingMessage): Promise<CaAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerMaxBytes) throw new CaUnavailable('It says too much.');
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString('utf8');
  return { status: answer.statusCode ?? 0, headers: answer.headers, body };
}
