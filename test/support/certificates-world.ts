/** Owns the actor of certificates as it runs, with domains and a store of its own, and what an authority looks at. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { certificatesDefinition } from '../../src/actors/certificates/actor.ts';
import type { AcmeSettings } from '../../src/actors/certificates/authority.ts';
import { certificatesActor } from '../../src/actors/certificates/protocol.ts';
import { appActor, type AppProtocol } from '../../src/actors/app/protocol.ts';
import { certified, uncertified } from '../../src/actors/domains/certifying.ts';
import { domainsActor, type DomainsProtocol } from '../../src/actors/domains/protocol.ts';
import { edgeActor, type EdgeProtocol } from '../../src/actors/edge/edge-actor.ts';
import {
  type Actor,
  type ActorContext,
  actorKind,
  type Protocol,
} from '../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import { localServerId } from '../../src/places/local-place.ts';
import { AddressPolicy } from '../../src/lib/address-policy.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { GuardedFetch } from '../../src/lib/guarded-fetch.ts';
import type { CertificateRecord, DomainRecord } from '../../src/store/records/records.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { DnsServer } from './dns-server.ts';
import { found } from './eventually.ts';
import { MemoryStore } from './memory-store.ts';
import { Pebble, type PebbleOptions } from './pebble.ts';
import { plainSecrets } from './plain-secrets.ts';
import { recordingLogger } from './silent-logger.ts';

const prefix = '/.well-known/acme-challenge/';
const fetch = new GuardedFetch({ policy: new AddressPolicy({ privateNetworks: [] }) });

/** A clock that can be set, and whose waits can be cut short. */
class SetClock implements Clock {
  aheadMs = 0;
  speed = 1;

  now(): number {
    return Date.now() + this.aheadMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = setTimeout(callback, delayMs / this.speed).unref();
    return () => clearTimeout(timer);
  }
}

/** Names, and what stands for the edge: what an authority sees of them. */
export class AuthorityPlace {
  readonly dns: DnsServer;
  readonly #web = createServer((request, response) => {
    const answer = this.#answerTo(request);
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  readonly #pebbles: Pebble[] = [];
  /** Hosts by which a challenge is answered, by the store that says with what. */
  readonly #answering = new Map<string, MemoryStore>();

  private constructor(dns: DnsServer) {
    this.dns = dns;
  }

  static async open(): Promise<AuthorityPlace> {
    const place = new AuthorityPlace(await DnsServer.open());
    await new Promise<void>((resolve) => place.#web.listen(0, '127.0.0.1', resolve));
    return place;
  }

  async pebble(options: Partial<PebbleOptions> = {}): Promise<Pebble> {
    const { port } = this.#web.address() as AddressInfo;
    const one = await Pebble.open({ dns: this.dns.address, httpPort: port, ...options });
    this.#pebbles.push(one);
    return one;
  }

  /** From now on the host leads here. Without a store its challenges are not answered. */
  lead(host: string, store: MemoryStore | undefined): void {
    this.dns.set('A', host.replace('*.', ''), '127.0.0.1');
    if (store !== undefined) this.#answering.set(host, store);
  }

  async close(): Promise<void> {
    for (const pebble of this.#pebbles) await pebble.close();
    this.#web.close();
    await this.dns.close();
  }

  #answerTo({ headers, url = '' }: IncomingMessage): string | undefined {
    const store = this.#answering.get(headers.host?.split(':')[0] ?? '');
    const [account] = store?.scan(tables.acmeAccounts) ?? [];
    if (account === undefined || !url.startsWith(prefix)) return undefined;
    return `${url.slice(prefix.length)}.${account.thumbprint}`;
  }
}

export class CertificatesWorld {
  readonly store = new MemoryStore();
  readonly clock = new SetClock();
  readonly logger = recordingLogger();
  syncs = 0;
  /** How often the edge was told of certificates. */
  tellings = 0;
  appsWildcard: string | null = null;
  panel: string | null = null;
  #runtime: ActorRuntime | null = null;
  readonly #acme: AcmeSettings;

  readonly #place: AuthorityPlace;
  readonly #time: Clock;

  /** `time`: what the actor goes by in the place of `clock`. */
  constructor(
    place: AuthorityPlace,
    { directory, ca }: Pick<Pebble, 'directory' | 'ca'>,
    acme: Partial<AcmeSettings> = {},
    time?: Clock,
  ) {
    this.#time = time ?? this.clock;
    this.#place = place;
    const bare = { email: null, binding: null, dnsCommand: null };
    this.#acme = { directory, ca, ...bare, ...acme };
  }

  start(): void {
    const { store, logger, appsWildcard } = this;
    const clock = this.#time;
    const runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
    const parts = { reader: store, clock, logger, fetch, acme: this.#acme, appsWildcard };
    const panelHost = (): string | null => this.panel;
    runtime.register(certificatesDefinition({ ...parts, panelHost, secrets: plainSecrets }));
    this.#stub<EdgeProtocol>(runtime, edgeActor.at(localServerId), () => ({
      sync: () => ++this.syncs > 0,
      certificates: () => ++this.tellings > 0,
    }));
    this.#stub<AppProtocol>(runtime, appActor.at('any'), () => ({ domains: () => true }));
    this.#stub<DomainsProtocol>(runtime, domainsActor, (context) => this.#domains(context));
    this.#runtime = runtime;
    runtime.tell(certificatesActor, { type: 'sweep' });
  }

  async stop(): Promise<void> {
    await this.#runtime?.close();
    this.#runtime = null;
  }

  sweep(): void {
    this.#runtime?.tell(certificatesActor, { type: 'sweep' });
  }

  order(domainId: string): void {
    this.#runtime?.tell(certificatesActor, { type: 'order', domainId });
  }

  /** A verified domain that nobody has ordered for yet. */
  add(host: string, answers = true): string {
    const id = `dom_${host}`;
    const bare = { redirectTo: null, isPrimary: false, proof: '', error: null, records: [] };
    const times = { verifiedAtMs: 1, failures: 0, nextTryAtMs: null, createdAtMs: 1 };
    const whose = { id, appId: 'app_one', teamId: 'team_one', host };
    const domain: DomainRecord = {
      ...{ ...whose, ...bare, ...times, status: 'issuing', certificateId: null },
    };
    this.store.write([put(tables.domains, domain)]);
    this.#place.lead(host, answers ? this.store : undefined);
    return id;
  }

  domain(id: string): Readonly<DomainRecord> {
    const domain = this.store.get(tables.domains, id);
    assert.ok(domain);
    return domain;
  }

  certificate(id: string): Readonly<CertificateRecord> | undefined {
    const { certificateId } = this.domain(id);
    return certificateId === null ? undefined : this.store.get(tables.certificates, certificateId);
  }

  certified(id: string): Promise<Readonly<CertificateRecord>> {
    return found(`a certificate of ${id}`, () => this.certificate(id));
  }

  #domains(context: ActorContext<DomainsProtocol>): Partial<Actor<DomainsProtocol>> {
    const { store } = this;
    return {
      certified: async ({ domainId, certificate }) => {
        const changes = certified(store, store.get(tables.domains, domainId), certificate);
        if (changes !== null) await context.commit(changes);
        return changes !== null;
      },
      uncertified: async ({ domainId, error, isRefused }) => {
        const domain = store.get(tables.domains, domainId);
        await context.commit(uncertified(domain, error, isRefused));
        return null;
      },
    };
  }

  #stub<P extends Protocol>(
    runtime: ActorRuntime,
    { kind }: { kind: string },
    handlers: (context: ActorContext<P>) => Partial<Actor<P>>,
  ): void {
    const activate = (context: ActorContext<P>) => handlers(context) as Actor<P>;
    runtime.register({ kind: actorKind<P>(kind), activate });
  }
}
