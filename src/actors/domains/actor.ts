/**
 * Owns the domains of all apps.
 *
 * 1. Claims of a host are not exclusive, so that nobody can keep it from who holds its DNS. The first team that
 *    verifies it has it, and everything below it: from then on no other team can claim or verify that.
 * 2. A team that has verified a host needs no further proof for what is below it.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { SecretBox } from '../../store/secrets.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, DnsEntry, DomainRecord } from '../../store/records/records.ts';
import { insert, put, removeAll, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { bad } from '../app/settings/validate.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { certificatesActor } from '../certificates/protocol.ts';
import { certificateKeyContext } from '../edge/edge-certificates.ts';
import { edgeActor } from '../edge/edge-actor.ts';
import { localServerId } from '../workload/deps.ts';
import { certified, uncertified } from './certifying.ts';
import { checkCertificate } from './own-certificate.ts';
import { uploadedOf, withCertificate } from './uploaded-certificates.ts';
import { baseOf, checkHost, claimsAbove, isWildcard, type OwnHosts } from './host-names.ts';
import { domainsKind, type DomainsProtocol } from './protocol.ts';

export interface DomainsParts {
  reader: Reader;
  clock: Clock;
  secrets: Pick<SecretBox, 'seal'>;
  logger: Logger;
  /** The host name that an app has from Gangway. */
  hostOf: (slug: string) => string;
  ownHosts: () => OwnHosts;
}

/** Of an app. */
const domainsMax = 100;
const proofBytes = 20;

export function domainsDefinition(parts: DomainsParts): ActorDefinition<DomainsProtocol> {
  return { kind: domainsKind, activate: (context) => new Domains(parts, context).handlers };
}

class Domains {
  readonly #parts: DomainsParts;
  readonly #context: ActorContext<DomainsProtocol>;

  constructor(parts: DomainsParts, context: ActorContext<DomainsProtocol>) {
    this.#parts = parts;
    this.#context = context;
  }

  get handlers(): Actor<DomainsProtocol> {
    return {
      add: (given) => this.#add(given),
      remove: ({ domainId }) => this.#remove(domainId),
      'upload-certificate': (given) => this.#uploadCertificate(given),
      certified: (given) => this.#certify(given),
      uncertified: (given) => this.#refuse(given),
      forget: ({ appId }) => this.#forget(appId),
    };
  }

  async #add({ appId, host: typed, redirectTo: to }: DomainsProtocol['add']['in']) {
    const { clock, ownHosts } = this.#parts;
    const app = this.#app(appId);
    const host = checkHost(typed, ownHosts());
    this.#mustBeFree(host, app.teamId);
    const domains = this.#of(appId);
    if (domains.length >= domainsMax) {
      throw new ServiceError('CONFLICT', `An app has at most ${String(domainsMax)} domains.`);
    }
    const redirectTo = to === null ? null : this.#target(domains, host, to);
    const nowMs = clock.now();
    const proof = `gangway-${randomBytes(proofBytes).toString('hex')}`;
    const domain: DomainRecord = {
      ...{ id: newId('dom', nowMs), appId, teamId: app.teamId, host, redirectTo, proof },
      isPrimary: canBePrimary({ host, redirectTo }) && !domains.some((one) => one.isPrimary),
      ...{ verifiedAtMs: null, status: 'pending_dns', error: null },
      records: this.#records(app, host, proof),
      ...{ certificateId: null, failures: 0, nextTryAtMs: nowMs, createdAtMs: nowMs },
    };
    await this.#context.commit([insert(tables.domains, domain)]);
    return domain;
  }

  async #remove(domainId: string): Promise<boolean> {
    const domain = this.#domain(domainId);
    const others = this.#of(domain.appId);
    const source = others.find((one) => one.redirectTo === domain.host);
    if (source !== undefined) {
      throw new ServiceError('CONFLICT', `${source.host} leads to this domain: remove it first.`);
    }
    const { reader } = this.#parts;
    await this.#context.commit([take(tables.domains, domainId), ...uploadedOf(reader, [domain])]);
    if (domain.certificateId !== null) this.#tellEdge();
    return true;
  }

  async #uploadCertificate({
    domainId,
    ...given
  }: DomainsProtocol['upload-certificate']['in']): Promise<DomainRecord> {
    const { reader, clock, secrets } = this.#parts;
    const domain = this.#domain(domainId);
    const id = newId('crt', clock.now());
    const checked = checkCertificate(given, domain.host, clock.now());
    const key = secrets.seal(checked.key, certificateKeyContext(id));
    const next = withCertificate(domain, id);
    await this.#context.commit([
      insert(tables.certificates, { ...checked, id, key, managed: false }),
      put(tables.domains, next),
      ...uploadedOf(reader, [domain]),
    ]);
    this.#tellEdge();
    return next;
  }

  /** Of certificates that domains have got, or lost. */
  #tellEdge(): void {
    try {
      this.#context.actors.tell(edgeActor.at(localServerId), { type: 'certificates' });
      // What no domain has any more is revoked.
      this.#context.actors.tell(certificatesActor, { type: 'sweep' });
    } catch (error) {
      // The service is stopping; they are told at the next start.
      this.#parts.logger.warn({ err: error }, 'edge_not_told');
    }
  }

  async #certify({ domainId, certificate }: DomainsProtocol['certified']['in']): Promise<boolean> {
    const { reader } = this.#parts;
    const changes = certified(reader, reader.get(tables.domains, domainId), certificate);
    if (changes === null) return false;
    await this.#context.commit(changes);
    this.#tellEdge();
    return true;
  }

  async #refuse({ domainId, error, isRefused }: DomainsProtocol['uncertified']['in']) {
    const domain = this.#parts.reader.get(tables.domains, domainId);
    const changes = uncertified(domain, error, isRefused);
    if (changes.length > 0) await this.#context.commit(changes);
    return null;
  }

  async #forget(appId: string): Promise<boolean> {
    const domains = this.#of(appId);
    const certificates = uploadedOf(this.#parts.reader, domains);
    await this.#context.commit([...removeAll(tables.domains, domains), ...certificates]);
    return true;
  }

  /** The host that another leads to: one of the same app, which answers itself. */
  #target(domains: readonly Readonly<DomainRecord>[], host: string, to: string): string {
    const target = checkHost(to, this.#parts.ownHosts());
    const found = domains.find((one) => one.host === target);
    if (found === undefined || target === host) {
      throw bad('redirectTo must be another domain of the app.');
    }
    if (!canBePrimary(found)) throw bad('redirectTo must be a domain that leads to no other.');
    return target;
  }

  /** CONFLICT where another team has verified the host, or what it is below. */
  #mustBeFree(host: string, teamId: string): void {
    const owner = this.#owner(host);
    if (owner === undefined || owner.teamId === teamId) return;
    throw new ServiceError('CONFLICT', `${host} belongs to another team.`);
  }

  /** The verified domain that the host is, or is below. */
  #owner(host: string): Readonly<DomainRecord> | undefined {
    for (const name of claimsAbove(host)) {
      const owner = this.#parts.reader.find(tables.domains, 'host', [name]);
      if (owner !== undefined) return owner;
    }
    return undefined;
  }

  #records(app: Readonly<AppRecord>, host: string, proof: string): DnsEntry[] {
    const own = this.#parts.hostOf(app.slug);
    const way: DnsEntry = { type: 'CNAME', name: host, value: own, found: false };
    if (this.#owner(host)?.teamId === app.teamId) return [way];
    const name = `_gangway.${baseOf(host)}`;
    return [{ type: 'TXT', name, value: proof, found: false }, way];
  }

  #of(appId: string): Readonly<DomainRecord>[] {
    return this.#parts.reader.list(tables.domains, 'app', [appId], { limit: Infinity });
  }

  #domain(id: string): Readonly<DomainRecord> {
    const domain = this.#parts.reader.get(tables.domains, id);
    if (!domain) throw new ServiceError('NOT_FOUND', 'No such domain.');
    return domain;
  }

  #app(appId: string): Readonly<AppRecord> {
    const app = this.#parts.reader.get(tables.apps, appId);
    if (app?.deletedAtMs !== null) throw new ServiceError('NOT_FOUND', 'No such app.');
    if (app.previewOf !== undefined) {
      throw new ServiceError('CONFLICT', 'A preview has no domains of its own.');
    }
    return app;
  }
}

/** Whether people may be sent there: a host that answers itself. */
function canBePrimary({ host, redirectTo }: Pick<DomainRecord, 'host' | 'redirectTo'>): boolean {
  return redirectTo === null && !isWildcard(host);
}
