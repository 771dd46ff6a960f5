/**
 * Owns certificates by ACME: one for each verified domain that has none of its own, one for the names that apps have
 * from Gangway, and one for the panel at the edge, each in time for the old one's end.
 *
 * 1. What is on its way is stored: after a crash an order goes on where it stood.
 * 2. A refusal keeps its host waiting, ever longer; an outage of the authority keeps all of them waiting. What the
 *    authority asks for is kept to.
 * 3. A domain gets its certificate, and loses the order, in one commit of the `domains` actor; those of the instance
 *    are no domain's, and committed here. A certificate that nobody has any more is revoked, as far as the authority can be
 *    reached, and removed; an order that is for nobody any more is dropped.
 * 4. A clock that is set does no harm: no time is waited for blindly, and a renewal is never followed by another at once.
 */
import { DnsCommandFailed } from '../../acme/dns-command.ts';
import { CaRefusal, CaUnavailable } from '../../acme/failures.ts';
import type { IssuedChain } from '../../acme/issued-chain.ts';
import { hasPassed } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import type { CertificateOrderRecord, CertificateRecord } from '../../store/records/records.ts';
import { insert, put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import { domainsActor } from '../domains/protocol.ts';
import { appsCertificateId, panelCertificateId } from '../edge/apps-certificate.ts';
import { certificateKeyContext } from '../edge/edge-certificates.ts';
import { allEdges } from '../edge/edges.ts';
import { edgeActor } from '../edge/edge-actor.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { localServerId } from '../../places/local-place.ts';
import { type AcmeSettings, Authority, type AuthorityParts } from './authority.ts';
import { certificatesKind, type CertificatesProtocol } from './protocol.ts';
import { dueInMs, grantedMs, outageMs, refusedMs, renewAtMs, restMs } from './timing.ts';
import { Turns } from './turns.ts';

export interface CertificatesParts extends AuthorityParts {
  /** Null: no certificates are ordered. */
  acme: AcmeSettings | null;
  /** What a certificate is ordered for that serves the names of apps; null: none is. */
  appsWildcard: string | null;
  /** The host of the panel where the edge serves that; absent or null: it does not. */
  panelHost?: () => string | null;
}

type Work = (signal: AbortSignal) => Promise<void>;

const ordersAtOnce = 8;
const sweepMaxMs = 10 * 60_000;
const sweepMinMs = 1000;
/** After so many records the walk over them lets other work run. */
const walkStep = 200;
/** Of an order that the authority does not understand itself any more: then it is placed anew. */
const triesMax = 3;

export function certificatesDefinition(
  parts: CertificatesParts,
): ActorDefinition<CertificatesProtocol> {
  return {
    kind: certificatesKind,
    // It waits for its times itself, by the clock as it is.
    idleMs: Infinity,
    activate: (context) => {
      if (parts.acme === null) return { sweep: () => null, order: () => null };
      return new Certificates(parts, parts.acme, context).handlers;
    },
  };
}

class Certificates {
  readonly #parts: CertificatesParts;
  readonly #context: ActorContext<CertificatesProtocol>;
  readonly #authority: Authority;
  readonly #turns: Turns;
  /** Those that were certified lately, and what ends that. */
  readonly #resting = new Map<string, () => void>();
  /** Requests in a row that found no authority. */
  #outages = 0;
  #opening: Promise<void> | null = null;
  #cancelSweep: () => void = () => undefined;

  constructor(
    parts: CertificatesParts,
    acme: AcmeSettings,
    context: ActorContext<CertificatesProtocol>,
  ) {
    this.#parts = parts;
    this.#context = context;
    this.#turns = new Turns(parts.clock, ordersAtOnce);
    this.#authority = new Authority(parts, acme, (changes) =>
      context.report(() => context.commit(changes)),
    );
    context.signal.addEventListener('abort', () => this.#close(), { once: true });
    this.#sweepIn(0);
  }

  get handlers(): Actor<CertificatesProtocol> {
    return {
      sweep: () => this.#sweep(),
      order: ({ domainId }) => this.#orderNow(domainId),
    };
  }

  /** What certificates of the instance itself are for, by the ids of their orders. */
  #ownHosts(): ReadonlyMap<string, string> {
    const { appsWildcard, panelHost } = this.#parts;
    const panel = panelHost?.() ?? null;
    const own = new Map<string, string>();
    if (appsWildcard !== null) own.set(appsCertificateId(appsWildcard), appsWildcard);
    if (panel !== null) own.set(panelCertificateId(panel), panel);
    return own;
  }

  #close(): void {
    this.#cancelSweep();
    this.#turns.close();
    for (const cancel of this.#resting.values()) cancel();
    this.#authority.close();
  }

  #sweepIn(delayMs: number): void {
    this.#cancelSweep();
    this.#cancelSweep = this.#parts.clock.after(delayMs, () => {
      void this.#context.report(() => this.#sweep());
    });
  }

  async #sweep(): Promise<null> {
    const { reader } = this.#parts;
    let nextMs = sweepMaxMs;
    for await (const id of this.#walk(this.#holders())) {
      const inMs = this.#dueInMs(id);
      if (inMs === 0) this.#take(id, (signal) => this.#certify(id, signal));
      else nextMs = Math.min(nextMs, inMs);
    }
    for await (const { id, managed } of this.#walk(reader.scan(tables.certificates))) {
      if (managed && !this.#isHad(id)) this.#take(id, (signal) => this.#revoke(id, signal));
    }
    for await (const { id } of this.#walk(reader.scan(tables.certificateOrders))) {
      if (!this.#hasHolder(id)) await this.#context.commit([remove(tables.certificateOrders, id)]);
    }
    this.#sweepIn(Math.max(nextMs, sweepMinMs));
    return null;
  }

  /** The ids of all that may want a certificate. */
  *#holders(): Iterable<string> {
    yield* this.#ownHosts().keys();
    for (const { id } of this.#parts.reader.scan(tables.domains)) yield id;
  }

  #hasHolder(id: string): boolean {
    return this.#ownHosts().has(id) || this.#parts.reader.get(tables.domains, id) !== undefined;
  }

  async *#walk<R>(records: Iterable<R>): AsyncIterable<R> {
    let walked = 0;
    for (const record of records) {
      yield record;
      if (++walked % walkStep === 0) await new Promise(setImmediate);
      if (this.#context.ended) return;
    }
  }

  #orderNow(domainId: string): null {
    const { reader, clock } = this.#parts;
    const held = reader.get(tables.certificateOrders, domainId)?.held ?? null;
    const isHeld = held !== null && !hasPassed(clock, held.sinceMs, held.forMs);
    if (isHeld || this.#resting.has(domainId) || this.#wantsInMs(domainId) > 0) return null;
    this.#take(domainId, (signal) => this.#certify(domainId, signal));
    this.#turns.hurry();
    return null;
  }

  /** How long until a certificate is tried for; Infinity: never. */
  #dueInMs(id: string): number {
    if (this.#resting.has(id)) return Infinity;
    const order = this.#parts.reader.get(tables.certificateOrders, id);
    const tryInMs = order === undefined ? 0 : dueInMs(order, this.#parts.clock.now());
    return Math.max(tryInMs, this.#wantsInMs(id));
  }

  /** How long until a certificate is wanted; Infinity: never. */
  #wantsInMs(id: string): number {
    if (this.#hostOf(id) === null) return Infinity;
    const had = this.#hadBy(id);
    if (had === undefined) return 0;
    return had.managed ? Math.max(0, renewAtMs(had) - this.#parts.clock.now()) : Infinity;
  }

  /** What a certificate is for; null: the domain is gone, or was not verified. */
  #hostOf(id: string): string | null {
    const own = this.#ownHosts().get(id);
    if (own !== undefined) return own;
    const domain = this.#parts.reader.get(tables.domains, id);
    return domain === undefined || domain.verifiedAtMs === null ? null : domain.host;
  }

  #hadBy(id: string): Readonly<CertificateRecord> | undefined {
    const { reader } = this.#parts;
    const certificateId = this.#ownHosts().has(id)
      ? id
      : (reader.get(tables.domains, id)?.certificateId ?? null);
    return certificateId === null ? undefined : reader.get(tables.certificates, certificateId);
  }

  #isHad(certificateId: string): boolean {
    if (this.#ownHosts().has(certificateId)) return true;
    return this.#parts.reader.count(tables.domains, 'certificate', [certificateId]) > 0;
  }

  #take(id: string, work: Work): void {
    this.#turns.take(id, () => {
      this.#context.work(`certificate:${id}`, async (signal) => {
        try {
          await work(signal);
        } finally {
          this.#turns.end(id);
        }
      });
    });
  }

  async #certify(id: string, signal: AbortSignal): Promise<void> {
    if (this.#wantsInMs(id) > 0) return;
    await this.#openAccount();
    const order = await this.#context.report(() => this.#opened(id));
    if (order === null) return;
    await this.#leadHere(id);
    let issued: IssuedChain;
    try {
      issued = await this.#authority.obtain(order, signal);
    } catch (error) {
      signal.throwIfAborted();
      await this.#failed(order, error);
      return;
    }
    this.#outages = 0;
    await this.#handOver(order, issued, signal);
  }

  /** Before the first order of all: its key has to be stored, and the edge has to know what it answers. */
  #openAccount(): Promise<void> {
    const context = this.#context;
    const open = async (): Promise<void> => {
      if (this.#authority.account !== undefined) return;
      const account = this.#authority.newAccount();
      await context.report(() => context.commit([insert(tables.acmeAccounts, account)]));
      await this.#syncEdges();
    };
    return (this.#opening ??= open().finally(() => {
      this.#opening = null;
    }));
  }

  /** A host that is new may not have come to the edge yet, where the authority is going to look. */
  async #leadHere(id: string): Promise<void> {
    if (this.#hadBy(id) !== undefined) return;
    const domain = this.#parts.reader.get(tables.domains, id);
    const { actors } = this.#context;
    if (domain) await actors.ask(appActor.at(domain.appId), { type: 'domains' });
    await this.#syncEdges();
  }

  /** One that is away is told when it comes back. */
  async #syncEdges(): Promise<void> {
    const { actors } = this.#context;
    const edges = allEdges(this.#parts.reader);
    await Promise.all(edges.map((edge) => actors.ask(edge, { type: 'sync' })));
  }

  /** The order that is left from before, or a new one; null: the domain is gone. */
  async #opened(id: string): Promise<Readonly<CertificateOrderRecord> | null> {
    const host = this.#hostOf(id);
    if (host === null) return null;
    const left = this.#parts.reader.get(tables.certificateOrders, id);
    const { directory } = this.#authority;
    if (left?.host === host && left.directory === directory) return left;
    const order = this.#authority.newOrder({ id, host });
    await this.#context.commit([put(tables.certificateOrders, order)]);
    return order;
  }

  async #handOver(
    order: Readonly<CertificateOrderRecord>,
    { chain, issuer, notBeforeMs, notAfterMs }: IssuedChain,
    signal: AbortSignal,
  ): Promise<void> {
    const { secrets, clock, logger } = this.#parts;
    const id = this.#ownHosts().has(order.id) ? order.id : newId('crt', clock.now());
    const key = secrets.seal(this.#authority.keyOf(order), certificateKeyContext(id));
    const certificate: CertificateRecord = {
      ...{ id, names: [order.host], chain, key, issuer, notBeforeMs, notAfterMs, managed: true },
    };
    const isTaken = await this.#give(order, certificate);
    logger.info({ host: order.host, orderId: order.id, isTaken }, 'certificate_issued');
    if (isTaken) this.#rest(order.id, restMs(certificate));
    // The domain was removed meanwhile, or has a certificate of its own.
    else
      await this.#authority.revoke(chain, signal).catch((error: unknown) => {
        logger.warn({ err: error, host: order.host }, 'certificate_not_revoked');
      });
  }

  /** Whether it is of use. */
  async #give(
    { id }: Readonly<CertificateOrderRecord>,
    certificate: CertificateRecord,
  ): Promise<boolean> {
    const { actors } = this.#context;
    if (!this.#ownHosts().has(id)) {
      return await actors.ask(domainsActor, { type: 'certified', domainId: id, certificate });
    }
    const changes = [put(tables.certificates, certificate), remove(tables.certificateOrders, id)];
    await this.#context.report(() => this.#context.commit(changes));
    await actors.ask(edgeActor.at(localServerId), { type: 'certificates' });
    return true;
  }

  #rest(id: string, forMs: number): void {
    const cancel = this.#parts.clock.after(forMs, () => {
      this.#resting.delete(id);
      // Sweeps meanwhile did not see when it is to be renewed.
      this.#sweepIn(0);
    });
    this.#resting.set(id, cancel);
  }

  /** Keeps when the order is tried again, and shows why. */
  async #failed(order: Readonly<CertificateOrderRecord>, error: unknown): Promise<void> {
    const { reader, clock, logger } = this.#parts;
    const left = reader.get(tables.certificateOrders, order.id) ?? order;
    const isOutage = error instanceof CaUnavailable;
    const failures = left.failures + (isOutage ? 0 : 1);
    const outages = isOutage ? (left.outages ?? 0) + 1 : 0;
    const askedMs = isOutage || error instanceof CaRefusal ? error.retryAfterMs : null;
    const heldMs = grantedMs(askedMs);
    const waitMs = Math.max(isOutage ? outageMs(outages) : refusedMs(failures), heldMs);
    const isOver = isOutage ? outages >= triesMax : !isRateLimit(error);
    const known = isOutage || error instanceof CaRefusal || error instanceof DnsCommandFailed;
    const words = known ? error.message : 'The certificate could not be made.';
    logger[known ? 'warn' : 'error'](
      { err: error, host: order.host, waitMs },
      'certificate_not_issued',
    );
    if (isOutage) this.#leaveAlone(heldMs);
    else if (error instanceof CaRefusal) this.#outages = 0;
    const nowMs = clock.now();
    const next: CertificateOrderRecord = {
      ...left,
      ...{ failures, outages, nextTryAtMs: nowMs + waitMs },
      held: heldMs > 0 ? { sinceMs: nowMs, forMs: heldMs } : null,
      error: words,
      url: isOver ? null : left.url,
    };
    await this.#context.report(() => this.#context.commit([put(tables.certificateOrders, next)]));
    // Which also finds out what else is due, and that may be earlier.
    this.#sweepIn(0);
    // Whose apps it is for reads the log.
    if (this.#ownHosts().has(order.id)) return;
    await this.#context.actors.ask(domainsActor, {
      type: 'uncertified',
      domainId: order.id,
      error: words,
      isRefused: !isOutage,
    });
  }

  /**
   * Nobody goes to an authority that is away. Who asks may end that, but not the time that it asks for itself. Of what was
   * under way together only the first counts: it is one outage.
   */
  #leaveAlone(heldMs: number): void {
    if (!this.#turns.isPaused) this.#turns.pause(outageMs(++this.#outages), false);
    if (heldMs > 0) this.#turns.pause(heldMs, true);
  }

  /** A certificate that nobody has; one that has ended anyway is only removed. */
  async #revoke(id: string, signal: AbortSignal): Promise<void> {
    const { reader, clock, logger } = this.#parts;
    const certificate = reader.get(tables.certificates, id);
    if (certificate === undefined || this.#isHad(id)) return;
    try {
      if (certificate.notAfterMs > clock.now() && this.#authority.account !== undefined) {
        await this.#authority.revoke(certificate.chain, signal);
      }
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error, names: certificate.names }, 'certificate_not_revoked');
      if (error instanceof CaUnavailable) {
        this.#leaveAlone(grantedMs(error.retryAfterMs));
        return; // The next sweep tries again.
      }
    }
    await this.#context.report(() => this.#context.commit([remove(tables.certificates, id)]));
  }
}

function isRateLimit(error: unknown): boolean {
  return error instanceof CaRefusal && error.type === 'rateLimited';
}
