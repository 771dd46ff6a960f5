/**
 * Owns which certificate is served for which name: the latest ones.
 *
 * 1. The exact name comes before a wildcard, which stands for one label.
 * 2. Of several for a name the one that is good for longest is taken.
 * 3. New ones apply to the next handshake. One that cannot be used costs its own names alone.
 */
import type { SecureContext } from 'node:tls';

import type { EdgeCertificate } from '../../../protocol/workload.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';

export interface CertificatesOptions {
  clock: Clock;
  logger: Logger;
}

interface Served {
  context: SecureContext;
  notAfterMs: number;
}

export class Certificates {
  readonly #options: CertificatesOptions;
  readonly #tls = process.getBuiltinModule('node:tls');
  readonly #crypto = process.getBuiltinModule('node:crypto');
  #byName: ReadonlyMap<string, Served> = new Map();
  /** By chain and key: of those that stay nothing is made anew. */
  #known: ReadonlyMap<string, Served> = new Map();

  constructor(options: CertificatesOptions) {
    this.#options = options;
  }

  /** Replaces all. */
  replace(certificates: readonly EdgeCertificate[]): void {
    const byName = new Map<string, Served>();
    const known = new Map<string, Served>();
    for (const certificate of certificates) {
      const served = this.#served(certificate);
      if (served === undefined) continue;
      known.set(keyOf(certificate), served);
      for (const name of certificate.names) {
        const other = byName.get(name);
        if (!other || other.notAfterMs < served.notAfterMs) byName.set(name, served);
      }
    }
    this.#byName = byName;
    this.#known = known;
  }

  /** Undefined for a name that has none. */
  contextOf(name: string): SecureContext | undefined {
    return this.#find(name)?.context;
  }

  /** Whether visitors of the host get a certificate that has not run out. */
  covers(host: string): boolean {
    const served = this.#find(host);
    return served !== undefined && served.notAfterMs > this.#options.clock.now();
  }

  #find(name: string): Served | undefined {
    const lower = name.toLowerCase();
    return this.#byName.get(lower) ?? this.#byName.get(lower.replace(/^[^.]+/, '*'));
  }

  #served(certificate: EdgeCertificate): Served | undefined {
    const { names, chain: cert, key } = certificate;
    const known = this.#known.get(keyOf(certificate));
    if (known !== undefined) return known;
    try {
      const context = this.#tls.createSecureContext({ cert, key });
      const { validToDate } = new this.#crypto.X509Certificate(cert);
      return { context, notAfterMs: validToDate.getTime() };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      this.#options.logger.error({ names, code }, 'edge_certificate_refused');
      return undefined;
    }
  }
}

function keyOf({ chain, key }: EdgeCertificate): string {
  return `${chain}\n${key}`;
}
