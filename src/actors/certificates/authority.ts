/**
 * Owns the instance's account at the certificate authority, and the way of an order there.
 *
 * 1. The key of the account is stored before anything is asked with it. So it is the same after a crash, and the edge
 *    knows what it answers challenges with.
 * 2. A name is shown by HTTP, where the edge answers by itself; a wildcard by a TXT record, which a program sets.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { dnsAnswer, thumbprintOf } from '../../acme/account-key.ts';
import { type AccountBinding, AcmeClient } from '../../acme/client.ts';
import { CaConnection } from '../../acme/connection.ts';
import { DnsCommand, DnsCommandFailed } from '../../acme/dns-command.ts';
import { type IssuedChain, issuedChain, leafOf } from '../../acme/issued-chain.ts';
import { obtainCertificate, type OrderOptions } from '../../acme/order.ts';
import type { Clock } from '../../lib/clock.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AcmeAccountRecord, CertificateOrderRecord } from '../../store/records/records.ts';
import { type Change, put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../workload/deps.ts';

export interface AcmeSettings {
  directory: string;
  email: string | null;
  binding: AccountBinding | null;
  ca: string | null;
  dnsCommand: string | null;
}

export interface AuthorityParts {
  reader: Reader;
  clock: Clock;
  logger: Logger;
  secrets: SecretBox;
  fetch: GuardedFetch;
}

/** Keeps changes; resolves when they are durable. */
export type Keep = (changes: Change[]) => Promise<void>;

export class Authority {
  readonly #parts: AuthorityParts;
  readonly #settings: AcmeSettings;
  readonly #keep: Keep;
  readonly #connection: CaConnection;
  #client: AcmeClient | null = null;

  constructor(parts: AuthorityParts, settings: AcmeSettings, keep: Keep) {
    this.#parts = parts;
    this.#settings = settings;
    this.#keep = keep;
    const { directory, ca } = settings;
    this.#connection = new CaConnection({ directory, ca, fetch: parts.fetch });
  }

  get directory(): string {
    return this.#settings.directory;
  }

  /** The account; undefined before the first order. */
  get account(): Readonly<AcmeAccountRecord> | undefined {
    return this.#parts.reader.get(tables.acmeAccounts, this.directory);
  }

  /** The account as it has to be stored first. */
  newAccount(): AcmeAccountRecord {
    const { secrets, clock } = this.#parts;
    const key = newKey();
    return {
      ...{ id: this.directory, url: null, thumbprint: thumbprintOf(key) },
      ...{ key: secrets.seal(pemOf(key), this.#accountContext()), createdAtMs: clock.now() },
    };
  }

  newOrder({ id, host }: Pick<CertificateOrderRecord, 'id' | 'host'>): CertificateOrderRecord {
    const { secrets, clock } = this.#parts;
    const key = secrets.seal(pemOf(newKey()), orderContext(id));
    const tries = { failures: 0, nextTryAtMs: clock.now() };
    return { id, host, directory: this.directory, url: null, key, ...tries };
  }

  /** The private key in PEM of the certificate that was ordered. */
  keyOf({ id, key }: Readonly<CertificateOrderRecord>): string {
    return this.#parts.secrets.open(key, orderContext(id));
  }

  /** Rejects with CaRefusal, CaUnavailable, DnsCommandFailed, or the reason of the signal. */
  async obtain(order: Readonly<CertificateOrderRecord>, signal: AbortSignal): Promise<IssuedChain> {
    const key = createPrivateKey(this.keyOf(order));
    const names = [order.host];
    const pem = await obtainCertificate({
      ...{ client: this.#asAccount(), clock: this.#parts.clock, names, key, signal },
      placedAt: order.url,
      onPlaced: (url) => this.#keep([put(tables.certificateOrders, { ...order, url })]),
      challengeFor: (name) => (name.startsWith('*.') ? 'dns-01' : 'http-01'),
      show: (name, challenge) => this.#show(name, challenge, signal),
    });
    return issuedChain(pem, key, names);
  }

  async revoke(chain: string, signal: AbortSignal): Promise<void> {
    await this.#asAccount().revoke(leafOf(chain), signal);
  }

  close(): void {
    this.#connection.close();
  }

  #asAccount(): AcmeClient {
    if (this.#client !== null) return this.#client;
    const { account } = this;
    if (account === undefined) throw new Error('Cannot ask the authority: there is no account yet');
    const { directory, email, binding } = this.#settings;
    const key = createPrivateKey(this.#parts.secrets.open(account.key, this.#accountContext()));
    this.#client = new AcmeClient({
      ...{ connection: this.#connection, directory, key, email, binding, account: account.url },
      onAccount: (url) => this.#keep([put(tables.acmeAccounts, { ...account, url })]),
    });
    return this.#client;
  }

  async #show(
    name: string,
    { type, token }: { type: string; token: string },
    signal: AbortSignal,
  ): ReturnType<OrderOptions['show']> {
    // The route of every domain holds what the edge answers with.
    if (type === 'http-01') return () => Promise.resolve();
    const record = `_acme-challenge.${name}`;
    const program = this.#settings.dnsCommand;
    if (program === null) {
      throw new DnsCommandFailed(`set ${record}`, 'There is none: acme.dnsCommand has to name it.');
    }
    const value = dnsAnswer(token, this.account?.thumbprint ?? '');
    const command = new DnsCommand({ program });
    const takeBack = async (): Promise<void> => {
      try {
        await command.unset(record, value, AbortSignal.timeout(unsetMs));
      } catch (error) {
        this.#parts.logger.warn({ err: error, record }, 'dns_record_not_unset');
      }
    };
    try {
      await command.set(record, value, signal);
    } catch (error) {
      await takeBack();
      throw error;
    }
    return takeBack;
  }

  #accountContext(): string {
    return `acme:${this.directory}`;
  }
}

const unsetMs = 60_000;

function orderContext(domainId: string): string {
  return `certificate-order:${domainId}`;
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
