/**
 * Owns the talk with a certificate authority by ACME (RFC 8555), as one account.
 *
 * 1. The account is registered with the first request that needs one, and again when the authority has lost it. Its
 *    key is the same all the while, so that a registration that was cut off is found, not repeated.
 * 2. Every failure is a CaRefusal or a CaUnavailable, or the reason of the signal.
 * 3. Requests may go side by side.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import type { JWK, JWSHeaderParameters } from 'jose';
import { publicJwk } from './account-key.ts';
import type { CaAnswer, CaConnection } from './connection.ts';
import { CaRefusal, CaUnavailable } from './failures.ts';
import * as resources from './resources.ts';

/** What an authority gives out beforehand to bind accounts to its customers. */
export interface AccountBinding {
  kid: string;
  /** The HMAC key, in base64url. */
  key: string;
}

export interface AcmeClientOptions {
  connection: Pick<CaConnection, 'get' | 'post'>;
  directory: string;
  /** Of the account, on P-256. */
  key: KeyObject;
  email: string | null;
  binding: AccountBinding | null;
  /** Address of the account; null: it may not be registered. */
  account: string | null;
  /** Keeps the address. */
  onAccount: (account: string) => Promise<void>;
}

/** What was asked for, and where and when to look at it again. */
export interface Found<T> {
  url: string;
  value: T;
  retryAfterMs: number | null;
}

const nonceTries = 8;
const noncesMax = 32;
/** Why a certificate is revoked: it is used no more (RFC 5280, section 5.3.1). */
const cessationOfOperation = 5;

export class AcmeClient {
  readonly #options: AcmeClientOptions;
  readonly #nonces: string[] = [];
  #directory: resources.Directory | null = null;
  #account: string | null;
  #registering: Promise<string> | null = null;

  constructor(options: AcmeClientOptions) {
    this.#options = options;
    this.#account = options.account;
  }

  async newOrder(names: readonly string[], signal: AbortSignal): Promise<Found<resources.Order>> {
    const identifiers = names.map((value) => ({ type: 'dns', value }));
    const { newOrder } = await this.#addresses(signal);
    const answer = await this.#ask(newOrder, { identifiers }, signal);
    const url = answer.headers.location;
    if (url === undefined) throw new CaUnavailable('It does not say where its order is.');
    return found(url, resources.order, answer);
  }

  async order(url: string, signal: AbortSignal): Promise<Found<resources.Order>> {
    return found(url, resources.order, await this.#ask(url, null, signal));
  }

  async authorization(url: string, signal: AbortSignal): Promise<Found<resources.Authorization>> {
    return found(url, resources.authorization, await this.#ask(url, null, signal));
  }

  /** Says that the answer to a challenge can be fetched. */
  async ready(challenge: resources.Challenge, signal: AbortSignal): Promise<void> {
    await this.#ask(challenge.url, {}, signal);
  }

  /** `request` is a certificate request in DER. */
  async finalize(
    { url, value }: Found<resources.Order>,
    request: Buffer,
    signal: AbortSignal,
  ): Promise<Found<resources.Order>> {
    const csr = request.toString('base64url');
    return found(url, resources.order, await this.#ask(value.finalize, { csr }, signal));
  }

  /** The chain in PEM, the leaf first. */
  async certificate(url: string, signal: AbortSignal): Promise<string> {
    return (await this.#ask(url, null, signal)).body;
  }

  /** `certificate` is the leaf in DER. */
  async revoke(certificate: Buffer, signal: AbortSignal): Promise<void> {
    const { revokeCert } = await this.#addresses(signal);
    const asked = { certificate: certificate.toString('base64url'), reason: cessationOfOperation };
    try {
      await this.#ask(revokeCert, asked, signal);
    } catch (error) {
      if (!(error instanceof CaRefusal && error.type === 'alreadyRevoked')) throw error;
    }
  }

  async #addresses(signal: AbortSignal): Promise<resources.Directory> {
    if (this.#directory === null) {
      const { connection, directory } = this.#options;
      const answer = checked(await connection.get(directory, signal));
      this.#directory = resources.read(resources.directory, answer.body);
    }
    return this.#directory;
  }

  /** As the account; `payload` null only reads. */
  async #ask(url: string, payload: object | null, signal: AbortSignal): Promise<CaAnswer> {
    const account = await this.#registered(signal);
    try {
      return await this.#post(url, payload, { kid: account }, signal);
    } catch (error) {
      if (!(error instanceof CaRefusal && error.type === 'accountDoesNotExist')) throw error;
      if (this.#account === account) this.#account = null;
      return await this.#post(url, payload, { kid: await this.#registered(signal) }, signal);
    }
  }

  async #registered(signal: AbortSignal): Promise<string> {
    if (this.#account !== null) return this.#account;
    // Of several at once one registers; it goes on when the others are stopped.
    this.#registering ??= this.#register(AbortSignal.timeout(120_000)).finally(() => {
      this.#registering = null;
    });
    const account = await this.#registering;
    signal.throwIfAborted();
    return account;
  }

  async #register(signal: AbortSignal): Promise<string> {
    const { key, email, onAccount } = this.#options;
    const { newAccount } = await this.#addresses(signal);
    const jwk = publicJwk(key);
    const known = await this.#knownAccount(newAccount, signal);
    const asked = async (): Promise<CaAnswer> =>
      this.#post(
        newAccount,
        {
          termsOfServiceAgreed: true,
          ...(email !== null && { contact: [`mailto:${email}`] }),
          ...(await this.#bound(newAccount, jwk)),
        },
        { jwk },
        signal,
      );
    const account = known ?? (await asked()).headers.location;
    if (account === undefined) throw new CaUnavailable('It does not say where its account is.');
    await onAccount(account);
    this.#account = account;
    return account;
  }

  /** Where the account of this key is; a binding may be good for one registration alone. */
  async #knownAccount(newAccount: string, signal: AbortSignal): Promise<string | undefined> {
    const asked = { onlyReturnExisting: true };
    try {
      const answer = await this.#post(
        newAccount,
        asked,
        { jwk: publicJwk(this.#options.key) },
        signal,
      );
      return answer.headers.location;
    } catch (error) {
      if (error instanceof CaRefusal) return undefined; // Whatever it is, a registration says it.
      throw error;
    }
  }

  /** RFC 8555, section 7.3.4. */
  async #bound(url: string, jwk: JWK): Promise<object> {
    const { binding } = this.#options;
    if (binding === null) return {};
    const key = createSecretKey(Buffer.from(binding.key, 'base64url'));
    const header = { alg: 'HS256', kid: binding.kid, url };
    return { externalAccountBinding: await signed(JSON.stringify(jwk), header, key) };
  }

  async #post(
    url: string,
    payload: object | null,
    who: { kid: string } | { jwk: JWK },
    signal: AbortSignal,
  ): Promise<CaAnswer> {
    const text = payload === null ? '' : JSON.stringify(payload);
    const { connection, key } = this.#options;
    for (let tries = 1; ; tries++) {
      const header = { alg: 'ES256', nonce: await this.#nonce(signal), url, ...who };
      const body = JSON.stringify(await signed(text, header, key));
      const answer = await connection.post(url, body, signal);
      this.#keepNonce(answer);
      try {
        return checked(answer);
      } catch (error) {
        const isStale = error instanceof CaRefusal && error.type === 'badNonce';
        if (!isStale || tries === nonceTries) throw error;
      }
    }
  }

  async #nonce(signal: AbortSignal): Promise<string> {
    const kept = this.#nonces.pop();
    if (kept !== undefined) return kept;
    const { newNonce } = await this.#addresses(signal);
    const answer = checked(await this.#options.connection.get(newNonce, signal));
    const nonce = nonceOf(answer);
    if (nonce === undefined) throw new CaUnavailable('It gives no nonce.');
    return nonce;
  }

  #keepNonce(answer: CaAnswer): void {
    const nonce = nonceOf(answer);
    if (nonce !== undefined && this.#nonces.length < noncesMax) this.#nonces.push(nonce);
  }
}

/** A JWS in the flattened form (RFC 7515, section 7.2.2). */
async function signed(text: string, header: JWSHeaderParameters, key: KeyObject): Promise<object> {
  // Most instances never need it.
  const { FlattenedSign } = await import('jose/jws/flattened/sign');
  return await new FlattenedSign(Buffer.from(text)).setProtectedHeader(header).sign(key);
}

function found<S extends Parameters<typeof resources.read>[0]>(
  url: string,
  shape: S,
  answer: CaAnswer,
): Found<ReturnType<typeof resources.read<S>>> {
  return { url, value: resources.read(shape, answer.body), retryAfterMs: retryAfterOf(answer) };
}

/** Throws what an answer says that is no success. */
function checked(answer: CaAnswer): CaAnswer {
  const { status, body } = answer;
  if (status >= 200 && status < 300) return answer;
  const retryAfterMs = retryAfterOf(answer);
  const said = problemIn(body);
  if (status >= 500 || said === null) {
    const why = said?.detail ?? `It answers with status ${String(status)}.`;
    if (status === 429) throw new CaRefusal('rateLimited', why, retryAfterMs);
    throw new CaUnavailable(why, { retryAfterMs });
  }
  throw refusal(said, retryAfterMs);
}

/** With what it says of each name, where it does. */
export function refusal(said: resources.Problem, retryAfterMs: number | null = null): CaRefusal {
  const type = said.type.split(':').at(-1) ?? said.type;
  const words = [said.detail, ...said.subproblems.map(({ detail }) => detail)];
  return new CaRefusal(type, words.filter((one) => one !== '').join(' '), retryAfterMs);
}

function problemIn(body: string): resources.Problem | null {
  try {
    return resources.problem.parse(JSON.parse(body));
  } catch {
    return null; // Not all that answers for an authority speaks ACME: a proxy, for one.
  }
}

function nonceOf({ headers }: CaAnswer): string | undefined {
  const nonce = headers['replay-nonce'];
  return typeof nonce === 'string' && /^[\w-]+$/.test(nonce) ? nonce : undefined;
}

/** Seconds, or a date (RFC 9110, section 10.2.3), which is read by the clock of the authority. */
function retryAfterOf({ headers }: CaAnswer): number | null {
  const said = headers['retry-after'];
  if (said === undefined) return null;
  if (/^\d{1,9}$/.test(said)) return Number(said) * 1000;
  const atMs = Date.parse(said);
  const nowMs = Date.parse(headers.date ?? '');
  return Number.isNaN(atMs - nowMs) ? null : Math.max(0, atMs - nowMs);
}
