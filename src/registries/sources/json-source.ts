/**
 * Owns requests to a public registry, and what of its answers is believed.
 *
 * 1. The sources that the operator names may be anywhere. Whatever they lead to, and every other registry, is an
 *    address that a caller named: public, by https, or it is not asked.
 * 2. A redirect is followed three times. Another origin never gets the login of the first.
 * 3. An answer is JSON of at most 4 MiB, nests 32 levels and has 100,000 members, or it is a failure.
 * 4. A login is asked for once, as the registry says (`WWW-Authenticate: Bearer`), and is anonymous.
 * 5. What the registry says of its limits is kept for whoever asks next.
 */
import type { IncomingMessage } from 'node:http';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import { excessIn } from '../../protocol/json-structure.ts';
import { challengeOf, holdMsOf, nextLink, retryAfterMs } from './answer-headers.ts';

export interface JsonSourceOptions {
  /** The way to addresses that somebody names. */
  guarded: Pick<GuardedFetch, 'send'>;
  /** The way to the operator's own sources. */
  trusted: Pick<GuardedFetch, 'send'>;
  /** The origins of these. */
  trustedOrigins: ReadonlySet<string>;
  /** Ends all of it. */
  signal: AbortSignal;
}

export interface JsonAnswer {
  value: unknown;
  /** The address of the next page, as the `Link` says. */
  next: string | null;
}

interface Asked {
  address: string;
  accept: string;
  /** Whether the operator named the source that this is asked for. */
  own: boolean;
}

/** Why a source has no answer. */
export class SourceFailure extends Error {
  override name = 'SourceFailure';
  readonly kind: 'none' | 'refused' | 'failed';
  readonly holdMs: number;

  constructor(kind: SourceFailure['kind'], why: string, holdMs = 0) {
    super(why);
    this.kind = kind;
    this.holdMs = holdMs;
  }
}

const bodyMaxBytes = 4 * 2 ** 20;
const redirectsMax = 3;
const bounds = { depthMax: 32, membersMax: 100_000 };
const agent = 'gangway';

export class JsonSource {
  readonly #options: JsonSourceOptions;
  /** Logins by origin and scope. */
  readonly #tokens = new Map<string, string>();
  #holdMs = 0;

  constructor(options: JsonSourceOptions) {
    this.#options = options;
  }

  /** How long the sources want to be left alone. */
  get holdMs(): number {
    return this.#holdMs;
  }

  /** Throws SourceFailure, or the reason of the signal. */
  async get(address: string, accept = 'application/json'): Promise<JsonAnswer> {
    const { origin } = new URL(address);
    const own = this.#options.trustedOrigins.has(origin);
    let response = await this.#follow({ address, accept, own }, this.#tokens.get(origin));
    if (response.statusCode === 401) {
      const token = await this.#login(response, own);
      this.#tokens.set(origin, token);
      response = await this.#follow({ address, accept, own }, token);
    }
    return this.#read(response, address);
  }

  async #follow({ address, accept, own }: Asked, token?: string): Promise<IncomingMessage> {
    const { origin } = new URL(address);
    const about = { accept, 'user-agent': agent };
    let at = address;
    for (let hops = 0; ; hops++) {
      const isSame = new URL(at).origin === origin;
      const login = isSame && token !== undefined && { authorization: `Bearer ${token}` };
      const response = await this.#send(at, own, { ...about, ...login });
      const { statusCode = 0, headers } = response;
      if (![301, 302, 303, 307, 308].includes(statusCode)) return response;
      response.destroy();
      const { location = '' } = headers;
      if (hops >= redirectsMax || !URL.canParse(location, at)) {
        throw new SourceFailure('failed', 'It leads on without an end.');
      }
      at = new URL(location, at).href;
    }
  }

  #send(address: string, own: boolean, headers: Record<string, string>): Promise<IncomingMessage> {
    const { trusted, guarded, trustedOrigins, signal } = this.#options;
    const way = own && trustedOrigins.has(new URL(address).origin) ? trusted : guarded;
    return way.send(address, { method: 'GET', headers, signal });
  }

  async #login(refused: IncomingMessage, own: boolean): Promise<string> {
    const challenge = challengeOf(refused.headers['www-authenticate'] ?? '');
    refused.destroy();
    if (challenge === null) throw new SourceFailure('refused', 'It wants a login.');
    const response = await this.#follow({ address: challenge, accept: 'application/json', own });
    const { value } = await this.#read(response, challenge);
    const { token, access_token: other } = (value ?? {}) as Record<string, unknown>;
    const given = typeof token === 'string' ? token : other;
    if (typeof given !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(given)) {
      throw new SourceFailure('failed', 'Its login is none.');
    }
    return given;
  }

  async #read(response: IncomingMessage, address: string): Promise<JsonAnswer> {
    const { statusCode = 0, headers } = response;
    this.#holdMs = Math.max(this.#holdMs, holdMsOf(headers));
    if (statusCode !== 200) {
      response.destroy();
      throw failureOf(statusCode, Math.max(this.#holdMs, retryAfterMs(headers)));
    }
    const bytes = await gather(response);
    if (excessIn(bytes, bounds) !== null) throw new SourceFailure('failed', 'It says too much.');
    return { value: parsed(bytes), next: nextLink(String(headers['link'] ?? ''), address) };
  }
}

function failureOf(status: number, holdMs: number): SourceFailure {
  if (status === 404) return new SourceFailure('none', 'It has no such thing.');
  if (status === 401 || status === 403) return new SourceFailure('refused', 'It wants a login.');
  if (status === 429) return new SourceFailure('failed', 'It is asked too often.', holdMs);
  return new SourceFailure('failed', `It answers with status ${String(status)}.`, holdMs);
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // Whatever it is, it is nothing to go on with.
    throw new SourceFailure('failed', 'It does not answer with JSON.');
  }
}

async function gather(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyMaxBytes) throw new SourceFailure('failed', 'It says too much.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
