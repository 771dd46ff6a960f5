/**
 * Owns looks at the DNS for domains.
 *
 * 1. A look ends in time, whatever resolvers do, and never fails: what nobody answers is null.
 * 2. What is asked is asked at the resolvers that the operator names, else at the system's.
 */
import { Resolver } from 'node:dns/promises';
import { isIP, isIPv4 } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';

export interface DnsLooksOptions {
  clock: Clock;
  /** Addresses with or without port; none: those of the system. */
  resolvers: readonly string[];
  /** The addresses of the edge; none: those of `host`. */
  addresses: readonly string[];
  /** Of the panel's address. */
  host: () => string;
}

export interface DnsQuestion {
  /** Where visitors come to. */
  host: string;
  /** Where the proof stands. */
  proofAt: string;
}

/** What was seen; null: nobody answered. */
export interface DnsSeen {
  /** Of the edge. */
  own: string[] | null;
  /** Where the host leads, behind all aliases. */
  addresses: string[] | null;
  /** What the host is an alias of. */
  aliases: string[] | null;
  /** At the proof's place. */
  texts: string[] | null;
}

/** One try at a resolver; together with the next ones it takes no longer than a look may. */
const [tryMs, tries, lookMs] = [1500, 2, 8000];
/** Looks that people wait for. */
const waitedForMax = 64;
/** Nobody needs more records of one name and type. */
const recordsMax = 100;
const nothingThere: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND']);

export class DnsLooks {
  readonly #options: DnsLooksOptions;
  #waitedFor = 0;

  constructor(options: DnsLooksOptions) {
    this.#options = options;
  }

  look({ host, proofAt }: DnsQuestion, stop?: AbortSignal): Promise<DnsSeen> {
    return this.#within(async (resolver) => {
      const [own, addresses, aliases, texts] = await Promise.all([
        this.#own(resolver),
        addressesOf(resolver, host),
        listed(resolver.resolveCname(host)),
        listed(resolver.resolveTxt(proofAt).then((all) => all.map((parts) => parts.join('')))),
      ]);
      return { own, addresses, aliases, texts };
    }, stop);
  }

  /** A look that somebody waits for. OVERLOADED when too many do. */
  async lookNow(question: DnsQuestion): Promise<DnsSeen> {
    return await this.#bounded(() => this.look(question));
  }

  /** The addresses of the edge; null: nobody answered. OVERLOADED as above. */
  async own(): Promise<string[] | null> {
    return await this.#bounded(() => this.#within((resolver) => this.#own(resolver)));
  }

  async #bounded<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#waitedFor >= waitedForMax) {
      throw new ServiceError('OVERLOADED', 'Too many domains are being looked up at this moment.');
    }
    this.#waitedFor += 1;
    try {
      return await ask();
    } finally {
      this.#waitedFor -= 1;
    }
  }

  async #within<T>(ask: (resolver: Resolver) => Promise<T>, stop?: AbortSignal): Promise<T> {
    const { resolvers, clock } = this.#options;
    const resolver = new Resolver({ timeout: tryMs, tries });
    if (resolvers.length > 0) resolver.setServers(resolvers);
    const cancel = (): void => resolver.cancel();
    const inTime = clock.after(lookMs, cancel);
    stop?.addEventListener('abort', cancel);
    try {
      return await ask(resolver);
    } finally {
      inTime();
      stop?.removeEventListener('abort', cancel);
    }
  }

  async #own(resolver: Resolver): Promise<string[] | null> {
    const { addresses } = this.#options;
    if (addresses.length > 0) return addresses.map((address) => canonical(address));
    const host = this.#options.host().replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0) return [canonical(host)];
    if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    return await addressesOf(resolver, host);
  }
}

async function addressesOf(resolver: Resolver, name: string): Promise<string[] | null> {
  const [four, six] = await Promise.all([
    listed(resolver.resolve4(name)),
    listed(resolver.resolve6(name)),
  ]);
  return four === null || six === null ? null : [...four, ...six].map((one) => canonical(one));
}

async function listed(asked: Promise<string[]>): Promise<string[] | null> {
  try {
    return (await asked).slice(0, recordsMax);
  } catch (error) {
    return nothingThere.has((error as NodeJS.ErrnoException).code) ? [] : null;
  }
}

/** An IP address in the one form that is compared. */
function canonical(address: string): string {
  if (isIPv4(address)) return address;
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
