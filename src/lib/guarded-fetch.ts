/**
 * Owns requests that the service makes to addresses a caller names.
 *
 * 1. The name is resolved once. Every address it has must be admitted, and the connection goes to one
 *    of them.
 * 2. Only https is used; plain http only where all addresses are in networks that the operator admits.
 * 3. No redirect is followed: the caller gets it as the answer.
 * 4. Size and time of `get` and `post` are bounded; who uses `send` bounds the body of the answer.
 */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { AddressPolicy, AddressRules } from './address-policy.ts';

export interface GuardedFetchOptions {
  policy: Pick<AddressPolicy, 'admit' | 'rules'>;
  /** All addresses of a name; default the system's resolver. */
  resolve?: (host: string) => Promise<LookupAddress[]>;
}

export interface GuardedRequest {
  maxBytes: number;
  timeoutMs: number;
  headers?: Readonly<Record<string, string>>;
}

export interface GuardedSend {
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array;
  /** Ends the whole exchange. */
  signal: AbortSignal;
  /** How long nothing may go or come until the answer begins; default as long as the signal lets it. */
  silenceMs?: number;
}

export interface GuardedAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** Why nothing was fetched. The message may be shown to whoever named the address. */
export class FetchRefused extends Error {
  override name = 'FetchRefused';
}

/** Nothing went or came for so long. */
export class SilenceError extends Error {
  override name = 'SilenceError';

  constructor(silenceMs: number) {
    super(`Cannot wait on: nothing came for ${String(silenceMs)} ms.`);
  }
}

export class GuardedFetch {
  readonly #policy: Pick<AddressPolicy, 'admit' | 'rules'>;
  readonly #resolve: (host: string) => Promise<LookupAddress[]>;

  constructor({ policy, resolve }: GuardedFetchOptions) {
    this.#policy = policy;
    this.#resolve = resolve ?? ((host) => lookup(host, { all: true, order: 'verbatim' }));
  }

  get rules(): AddressRules {
    return this.#policy.rules;
  }

  /** Rejects with FetchRefused, whatever went wrong. */
  get(address: string, options: GuardedRequest): Promise<GuardedAnswer> {
    return this.#bounded(address, options, { method: 'GET' });
  }

  /** Rejects with FetchRefused, whatever went wrong. */
  post(address: string, body: Uint8Array, options: GuardedRequest): Promise<GuardedAnswer> {
    return this.#bounded(address, options, { method: 'POST', body });
  }

  async #bounded(
    address: string,
    { timeoutMs, maxBytes, headers = {} }: GuardedRequest,
    request: Pick<GuardedSend, 'method' | 'body'>,
  ): Promise<GuardedAnswer> {
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const response = await this.send(address, { ...request, headers, signal: late });
      const body = await gather(response, maxBytes);
      return { status: response.statusCode ?? 0, headers: response.headers, body };
    } catch (error) {
      if (error instanceof FetchRefused) throw error;
      const detail = late.aborted ? 'It took too long to answer.' : 'It cannot be reached.';
      throw new FetchRefused(detail, { cause: error });
    }
  }

  /**
   * Sends a request, and answers with the response as it begins; its stream must be read or destroyed.
   * Rejects with FetchRefused for an address that is not admitted, with SilenceError, with the reason of the
   * signal, or with the error of the connection.
   */
  async send(address: string, request: GuardedSend): Promise<IncomingMessage> {
    const url = this.checked(address);
    const to = await raced(this.#addressOf(url), request);
    return await exchange(url, to, request);
  }

  /** The address as far as it can be judged without asking anybody. Throws FetchRefused. */
  checked(address: string): URL {
    if (!URL.canParse(address)) throw new FetchRefused('It is no URL.');
    const url = new URL(address);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      throw new FetchRefused('Only https is fetched.');
    }
    if (url.username !== '' || url.password !== '') {
      throw new FetchRefused('A user name has no place in it.');
    }
    const host = hostOf(url);
    if (isIP(host) !== 0) this.#mustAdmit(url, [host]);
    return url;
  }

  async #addressOf(url: URL): Promise<LookupAddress> {
    const host = hostOf(url);
    const family = isIP(host);
    const found = family !== 0 ? [{ address: host, family }] : await this.#resolve(host);
    const [first] = found;
    if (first === undefined) throw new FetchRefused('Its name has no address.');
    this.#mustAdmit(
      url,
      found.map((one) => one.address),
    );
    return first;
  }

  #mustAdmit(url: URL, addresses: readonly string[]): void {
    const admissions = addresses.map((address) => this.#policy.admit(address, portOf(url)));
    if (admissions.includes('refused')) throw new FetchRefused('Its address is not public.');
    if (url.protocol === 'http:' && admissions.includes('public')) {
      throw new FetchRefused('Only https is fetched.');
    }
  }
}

function exchange(
  url: URL,
  to: LookupAddress,
  { method, headers, body, signal, silenceMs = 0 }: GuardedSend,
): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const options: RequestOptions = {
    method,
    agent: false,
    headers: { ...headers, 'accept-encoding': 'identity' },
    signal,
    // The checked address, without a second look-up: the name may have another address by now.
    lookup: (_host, wanted, done) => {
      if (wanted.all === true) done(null, [to]);
      else done(null, to.address, to.family);
    },
  };
  return new Promise((resolve, reject) => {
    const request = send(url, options, (response) => {
      request.setTimeout(0);
      resolve(response);
    });
    // The socket counts as idle while none of what waits in it gets away.
    request.setTimeout(silenceMs, () => request.destroy(new SilenceError(silenceMs)));
    request.on('error', reject);
    request.end(body);
  });
}

function gather(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else response.destroy(new FetchRefused(`It is larger than ${String(maxBytes)} bytes.`));
    });
    response.on('end', () => resolve(Buffer.concat(chunks)));
    response.on('error', reject);
  });
}

/** A look-up cannot be ended, only left behind. */
function raced<T>(
  work: Promise<T>,
  { signal, silenceMs }: Pick<GuardedSend, 'signal' | 'silenceMs'>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    const late = (): void => reject(new SilenceError(silenceMs ?? 0));
    const timer = silenceMs === undefined ? undefined : setTimeout(late, silenceMs);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const settled = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };
    work.finally(settled).then(resolve, reject);
  });
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}
