/**
 * Owns the domains of all apps: they are few, and a host is unique over all teams.
 *
 * 1. It waits for no resolver: looks at the DNS are work beside it, few at a time, each of a domain of its own.
 * 2. A domain whose records are not there is looked at again, ever more rarely, until it has failed.
 * 3. A domain that is verified is looked at each day (`ownership.ts`).
 * 4. Apps are told of changes once these are durable, and again at start.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { SecretBox } from '../../store/secrets.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, DomainRecord, DomainStatus } from '../../store/records/records.ts';
import { type Change, insert, put, removeAll, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import { bad } from '../app/settings/validate.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { certificatesActor } from '../certificates/protocol.ts';
import { certificateKeyContext } from '../edge/edge-certificates.ts';
import { allEdges } from '../edge/edges.ts';
import { certified, uncertified } from './certifying.ts';
import { checkCertificate } from './own-certificate.ts';
import { toldOfEnd, uploadedOf, withCertificate } from './uploaded-certificates.ts';
import { hostsOf, isSecure } from './app-hosts.ts';
import { mustBeFree, needsProof, takenBy } from './claims.ts';
import type { DnsLooks, DnsSeen } from './dns-looks.ts';
import { checkHost, isWildcard, type OwnHosts, ownsHost } from './host-names.ts';
import { LookTurns } from './look-turns.ts';
import { lookAgainMs, lookedAtAgain } from './ownership.ts';
import { domainsKind, type DomainsProtocol } from './protocol.ts';
import { type Claim, recordsToSet, verdictOf } from './verdict.ts';

export interface DomainsParts {
  reader: Reader;
  clock: Clock;
  logger: Logger;
  secrets: Pick<SecretBox, 'seal'>;
  dns: Pick<DnsLooks, 'look'>;
  /** The host name that an app has from Gangway. */
  hostOf: (slug: string) => string;
  ownHosts: () => OwnHosts;
  /** Of a domain that was just verified: whether a certificate is issued before it is active. */
  verifiedStatus: () => Extract<DomainStatus, 'issuing' | 'active'>;
}

/** Of an app. */
const domainsMax = 100;
const proofBytes = 20;
/** A domain is looked at after this; after so many tries after twice the time before, up to the most. */
const [againMs, promptTries, againMaxMs] = [30_000, 20, 60 * 60_000];
/** Together a week. */
const triesMax = 190;
const walkStep = 200;

export function domainsDefinition(parts: DomainsParts): ActorDefinition<DomainsProtocol> {
  return {
    kind: domainsKind,
    // It looks at domains by itself.
    idleMs: Infinity,
    activate: (context) => new Domains(parts, context).handlers,
  };
}

class Domains {
  readonly #parts: DomainsParts;
  readonly #context: ActorContext<DomainsProtocol>;
  readonly #looks: LookTurns;

  constructor(parts: DomainsParts, context: ActorContext<DomainsProtocol>) {
    this.#parts = parts;
    this.#context = context;
    this.#looks = new LookTurns({
      ...{ reader: parts.reader, clock: parts.clock, context, dns: parts.dns },
      seen: (domain, seen) => this.#seen(domain, seen),
    });
    this.#looks.next();
  }

  get handlers(): Actor<DomainsProtocol> {
    return {
      add: (given) => this.#add(given),
      verify: ({ domainId, seen }) => this.#verify(this.#domain(domainId), seen),
      'set-primary': ({ domainId }) => this.#setPrimary(this.#domain(domainId)),
      remove: ({ domainId }) => this.#remove(this.#domain(domainId)),
      'upload-certificate': (given) => this.#uploadCertificate(given),
      certified: (given) => this.#certify(given),
      uncertified: (given) => this.#refuse(given),
      forget: ({ appId }) => this.#forget(appId),
      wake: async () => {
        await this.#lookAtFormer();
        this.#context.work('tell-apps', () => this.#tellApps());
        return true;
      },
    };
  }

  async #add({ appId, own, ...given }: DomainsProtocol['add']['in']): Promise<DomainRecord> {
    const { reader, clock, ownHosts } = this.#parts;
    const { teamId } = this.#app(appId);
    const host = checkHost(given.host, ownHosts());
    mustBeFree(reader, { host, teamId });
    const domains = this.#of(appId);
    if (domains.length >= domainsMax) {
      throw new ServiceError('CONFLICT', `An app has at most ${String(domainsMax)} domains.`);
    }
    const { redirectTo: to } = given;
    const redirectTo = to === null ? null : this.#target(domains, host, to);
    const nowMs = clock.now();
    const proof = `gangway-${randomBytes(proofBytes).toString('hex')}`;
    const claim = { id: newId('dom', nowMs), appId, teamId, host, proof };
    const domain: DomainRecord = {
      ...claim,
      redirectTo,
      isPrimary: canBePrimary({ host, redirectTo }) && !domains.some((one) => one.isPrimary),
      ...{ verifiedAtMs: null, status: 'pending_dns', error: null },
      records: recordsToSet(this.#claim(claim), own),
      ...{ certificateId: null, failures: 0, nextTryAtMs: nowMs, createdAtMs: nowMs },
    };
    await this.#commit([insert(tables.domains, domain)]);
    return domain;
  }

  /** A look that a person asks for counts as no try. Where the tries are over, it begins anew. */
  async #verify(domain: Readonly<DomainRecord>, seen: DnsSeen): Promise<DomainRecord> {
    const judged = this.#judged(domain, seen);
    const next = judged.status === 'failed' ? this.#again(judged) : judged;
    await this.#commit([put(tables.domains, next)], next);
    // Of one that is active a renewal may have been refused.
    if (next.verifiedAtMs !== null) this.#order(next.id);
    return next;
  }

  #again(domain: DomainRecord): DomainRecord {
    const { clock, verifiedStatus } = this.#parts;
    if (this.#whyTaken(domain) !== undefined) return domain;
    const nowMs = clock.now();
    return domain.verifiedAtMs === null
      ? { ...domain, status: 'pending_dns', failures: 0, nextTryAtMs: nowMs + againMs }
      : { ...domain, status: verifiedStatus(), failures: 0 };
  }

  /** A look that nobody asked for. */
  async #seen(domain: Readonly<DomainRecord>, seen: DnsSeen): Promise<void> {
    const next = this.#judged(domain, seen);
    const { reader, clock } = this.#parts;
    if (next.status === 'pending_dns') {
      next.failures = domain.failures + 1;
      next.nextTryAtMs = clock.now() + pauseOf(next.failures);
      if (next.failures >= triesMax) {
        next.status = 'failed';
        next.error ??= 'Its records were not found for a week.';
        next.nextTryAtMs = null;
      }
    }
    // The app reads of a certificate that has run out when it is told.
    const hasRunOut = next.certificateId !== null && !isSecure(reader, next, clock.now());
    const isAsBefore = next.verifiedAtMs !== null && domain.verifiedAtMs !== null && !hasRunOut;
    await this.#commit([put(tables.domains, next)], isAsBefore ? undefined : next);
  }

  /** Whether nobody else has it by now: undefined; else why. The panel may have got another host since it was added. */
  #whyTaken(domain: Readonly<DomainRecord>): string | undefined {
    const { reader, ownHosts } = this.#parts;
    return takenBy(reader, domain) ?? ownsHost(ownHosts(), domain.host);
  }

  /** What the domain is, now that this was seen. */
  #judged(domain: Readonly<DomainRecord>, seen: DnsSeen): DomainRecord {
    const { reader, clock, verifiedStatus } = this.#parts;
    const { isRight, error, ...verdict } = verdictOf(this.#claim(domain), seen);
    // What is to be set is not known where nobody has said what the addresses of the edge are.
    const records = seen.own === null && !isRight ? domain.records : verdict.records;
    const nowMs = clock.now();
    if (domain.verifiedAtMs !== null) {
      const again = lookedAtAgain(reader, domain, { seen, records, nowMs });
      return again.verifiedAtMs === null ? again : toldOfEnd(reader, again, nowMs);
    }
    const taken = this.#whyTaken(domain);
    if (taken !== undefined) {
      return { ...domain, records, status: 'failed', error: taken, nextTryAtMs: null };
    }
    if (!isRight) return { ...domain, records, error };
    const status = domain.certificateId === null ? verifiedStatus() : 'active';
    const verified = { verifiedAtMs: nowMs, status, nextTryAtMs: nowMs + lookAgainMs };
    return { ...domain, records, ...verified, error: null, failures: 0 };
  }

  /** Those that were verified when nobody looked again. */
  async #lookAtFormer(): Promise<void> {
    const nextTryAtMs = this.#parts.clock.now();
    const former = [...this.#parts.reader.scan(tables.domains)].filter(
      (domain) => domain.verifiedAtMs !== null && domain.nextTryAtMs === null,
    );
    if (former.length === 0) return;
    await this.#commit(former.map((domain) => put(tables.domains, { ...domain, nextTryAtMs })));
  }

  async #setPrimary(domain: Readonly<DomainRecord>): Promise<DomainRecord> {
    if (!canBePrimary(domain)) {
      throw new ServiceError('CONFLICT', 'A wildcard, or a domain that redirects, is not primary.');
    }
    const others = this.#of(domain.appId).filter((one) => one.isPrimary && one.id !== domain.id);
    const primary = { ...domain, isPrimary: true };
    const former = others.map((one) => put(tables.domains, { ...one, isPrimary: false }));
    await this.#commit([...former, put(tables.domains, primary)], primary);
    return primary;
  }

  async #remove(domain: Readonly<DomainRecord>): Promise<boolean> {
    const others = this.#of(domain.appId).filter((one) => one.id !== domain.id);
    const source = others.find((one) => one.redirectTo === domain.host);
    if (source !== undefined) {
      throw new ServiceError('CONFLICT', `${source.host} leads to this domain: remove it first.`);
    }
    const heir = domain.isPrimary ? others.find((one) => canBePrimary(one)) : undefined;
    const inherit = heir ? [put(tables.domains, { ...heir, isPrimary: true })] : [];
    const { reader } = this.#parts;
    const certificates = uploadedOf(reader, [domain]);
    await this.#commit([take(tables.domains, domain.id), ...certificates, ...inherit], domain);
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
    await this.#commit(
      [
        insert(tables.certificates, { ...checked, id, key, managed: false }),
        put(tables.domains, next),
        ...uploadedOf(reader, [domain]),
      ],
      next,
    );
    return next;
  }

  /** Of certificates that domains have got, or lost. */
  #tellEdge(): void {
    try {
      const { actors } = this.#context;
      for (const edge of allEdges(this.#parts.reader)) actors.tell(edge, { type: 'certificates' });
      // What no domain has any more is revoked.
      actors.tell(certificatesActor, { type: 'sweep' });
    } catch (error) {
      // The service is stopping; they are told at the next start.
      this.#parts.logger.warn({ err: error }, 'edge_not_told');
    }
  }

  async #certify({ domainId, certificate }: DomainsProtocol['certified']['in']): Promise<boolean> {
    const { reader } = this.#parts;
    const domain = reader.get(tables.domains, domainId);
    const changes = certified(reader, domain, certificate);
    if (changes === null || domain === undefined) return false;
    await this.#commit(changes);
    this.#tellEdge();
    this.#tell(domain.appId);
    return true;
  }

  async #refuse({ domainId, error, isRefused }: DomainsProtocol['uncertified']['in']) {
    const domain = this.#parts.reader.get(tables.domains, domainId);
    const changes = uncertified(domain, error, isRefused);
    if (changes.length > 0) await this.#commit(changes);
    return null;
  }

  async #forget(appId: string): Promise<boolean> {
    const domains = this.#of(appId);
    const certificates = uploadedOf(this.#parts.reader, domains);
    await this.#commit([...removeAll(tables.domains, domains), ...certificates]);
    if (domains.some(({ certificateId }) => certificateId !== null)) this.#tellEdge();
    return true;
  }

  /** Commits; what is due may be another then, and the app may have other hosts. */
  async #commit(changes: Change[], changed?: Readonly<DomainRecord>): Promise<void> {
    await this.#context.commit(changes);
    this.#looks.next();
    if (changed === undefined) return;
    if (changed.certificateId !== null) this.#tellEdge();
    if (changed.status === 'issuing') this.#order(changed.id);
    this.#tell(changed.appId);
  }

  #order(domainId: string): void {
    try {
      this.#context.actors.tell(certificatesActor, { type: 'order', domainId });
    } catch (error) {
      // The service is stopping: it is ordered at the next start.
      this.#parts.logger.warn({ err: error }, 'certificate_not_ordered');
    }
  }

  #tell(appId: string): void {
    try {
      this.#context.actors.tell(appActor.at(appId), { type: 'domains' });
    } catch (error) {
      // Its mailbox is full, or the service is stopping; it is told at the next start.
      this.#parts.logger.warn({ app: appId, err: error }, 'app_not_told');
    }
  }

  /** Apps that an earlier process did not tell. */
  async #tellApps(): Promise<void> {
    const { reader, clock } = this.#parts;
    const withHosts = reader.list(tables.apps, 'hosts', [], { limit: Infinity });
    const apps = new Set(withHosts.map(({ id }) => id));
    for (const { appId } of reader.scan(tables.domains)) apps.add(appId);
    let walked = 0;
    for (const appId of apps) {
      if (++walked % walkStep === 0) await new Promise(setImmediate);
      if (this.#context.ended) return;
      const known = reader.get(tables.apps, appId)?.hosts ?? [];
      if (!isDeepStrictEqual(known, hostsOf(reader, appId, clock.now()))) this.#tell(appId);
    }
  }

  #claim(domain: Pick<DomainRecord, 'id' | 'appId' | 'teamId' | 'host' | 'proof'>): Claim {
    const { reader, hostOf } = this.#parts;
    const slug = reader.get(tables.apps, domain.appId)?.slug ?? '';
    return { ...domain, appHost: hostOf(slug), needsProof: needsProof(reader, domain) };
  }

  /** The host that another leads to: one of the same app, which answers itself. */
  #target(domains: readonly Readonly<DomainRecord>[], host: string, to: string): string {
    const target = checkHost(to, this.#parts.ownHosts());
    const found = domains.find((one) => one.host === target);
    if (found === undefined || target === host) {
      throw bad('redirectTo must be another domain of the app.');
    }
    if (!canBePrimary(found)) {
      throw bad('redirectTo must be no wildcard, and a domain that leads to no other.');
    }
    return target;
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

function pauseOf(failures: number): number {
  return Math.min(againMs * 2 ** Math.max(0, failures - promptTries), againMaxMs);
}

/** Whether people may be sent there: a host that answers itself. */
function canBePrimary({ host, redirectTo }: Pick<DomainRecord, 'host' | 'redirectTo'>): boolean {
  return redirectTo === null && !isWildcard(host);
}
