import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import { certificatesDefinition } from '../../../../src/actors/certificates/actor.ts';
import type { AcmeSettings } from '../../../../src/actors/certificates/authority.ts';
import { certificatesActor } from '../../../../src/actors/certificates/protocol.ts';
import {
  appsCertificateId,
  panelCertificateId,
} from '../../../../src/actors/edge/apps-certificate.ts';
import { certificateKeyContext } from '../../../../src/actors/edge/edge-certificates.ts';
import { appActor, type AppProtocol } from '../../../../src/actors/app/protocol.ts';
import { certified, uncertified } from '../../../../src/actors/domains/certifying.ts';
import { domainsActor, type DomainsProtocol } from '../../../../src/actors/domains/protocol.ts';
import { edgeActor, type EdgeProtocol } from '../../../../src/actors/edge/edge-actor.ts';
import {
  type Actor,
  type ActorContext,
  actorKind,
  type Protocol,
} from '../../../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { localServerId } from '../../../../src/places/local-place.ts';
import { AddressPolicy } from '../../../../src/lib/address-policy.ts';
import type { Clock } from '../../../../src/lib/clock.ts';
import { GuardedFetch } from '../../../../src/lib/guarded-fetch.ts';
import type { CertificateRecord, DomainRecord } from '../../../../src/store/records/records.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { cleanups } from '../../../support/cleanups.ts';
import { openDnsCommand } from '../../../support/dns-command.ts';
import { DnsServer } from '../../../support/dns-server.ts';
import { eventually, found } from '../../../support/eventually.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { Pebble, type PebbleOptions } from '../../../support/pebble.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { needs } from '../../../support/programs.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const prefix = '/.well-known/acme-challenge/';
const dayMs = 24 * 3_600_000;

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

describe('The certificates actor at Pebble', { skip: needs('pebble', 'openssl', 'curl') }, () => {
  const cleanup = cleanups();
  const fetch = new GuardedFetch({ policy: new AddressPolicy({ privateNetworks: [] }) });
  let dns: DnsServer;
  let web: Server;
  let pebble: Pebble;
  let dnsCommand: string;
  /** What stands for the edge: hosts by which a challenge is answered, by the store that says with what. */
  const answering = new Map<string, MemoryStore>();

  function answerTo({ headers, url = '' }: IncomingMessage): string | undefined {
    const store = answering.get(headers.host?.split(':')[0] ?? '');
    const [account] = store?.scan(tables.acmeAccounts) ?? [];
    if (account === undefined || !url.startsWith(prefix)) return undefined;
    return `${url.slice(prefix.length)}.${account.thumbprint}`;
  }

  before(async () => {
    dns = await DnsServer.open();
    cleanup(() => dns.close());
    const command = await openDnsCommand(dns);
    cleanup(() => command.close());
    dnsCommand = command.path;
    web = createServer((request, response) => {
      const answer = answerTo(request);
      response.writeHead(answer === undefined ? 404 : 200).end(answer);
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    cleanup(() => web.close());
    pebble = await opened({ blocked: ['blocked.example'] });
  });

  async function opened(options: Partial<PebbleOptions> = {}): Promise<Pebble> {
    const { port } = web.address() as AddressInfo;
    const one = await Pebble.open({ dns: dns.address, httpPort: port, ...options });
    cleanup(() => one.close());
    return one;
  }

  class World {
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

    constructor(at: Pebble = pebble, acme: Partial<AcmeSettings> = {}) {
      const { directory, ca } = at;
      const bare = { email: null, binding: null, dnsCommand: null };
      this.#acme = { directory, ca, ...bare, ...acme };
      cleanup(() => this.stop());
    }

    start(): void {
      const { store, clock, logger, appsWildcard } = this;
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
      dns.set('A', host.replace('*.', ''), '127.0.0.1');
      if (answers) answering.set(host, this.store);
      return id;
    }

    domain(id: string): Readonly<DomainRecord> {
      const domain = this.store.get(tables.domains, id);
      assert.ok(domain);
      return domain;
    }

    certificate(id: string): Readonly<CertificateRecord> | undefined {
      const { certificateId } = this.domain(id);
      return certificateId === null
        ? undefined
        : this.store.get(tables.certificates, certificateId);
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

  it('gets many domains their certificates, as one account, and keeps the keys sealed', async () => {
    const world = new World();
    const ids = Array.from({ length: 50 }, (_, i) => world.add(`shop-${String(i)}.example`));
    world.start();
    for (const id of ids) {
      const { chain, key, names } = await world.certified(id);
      const { host, status, error } = world.domain(id);
      assert.deepEqual([names, status, error], [[host], 'active', null]);
      const certificateId = world.domain(id).certificateId ?? '';
      const pem = plainSecrets.open(key, certificateKeyContext(certificateId));
      assert.ok(Buffer.from(key).toString().startsWith(certificateKeyContext(certificateId)));
      assert.ok(new X509Certificate(chain).checkPrivateKey(createPrivateKey(pem)));
    }
    const [account, ...others] = world.store.scan(tables.acmeAccounts);
    assert.ok(account?.url !== null);
    assert.deepEqual([others, [...world.store.scan(tables.certificateOrders)]], [[], []]);
  });

  it('renews at two thirds of the life, once, however far ahead the clock is set', async () => {
    const world = new World(await opened({ validitySeconds: (90 * dayMs) / 1000 }));
    const id = world.add('renewed.example');
    world.start();
    const first = await world.certified(id);
    world.clock.aheadMs = 55 * dayMs;
    world.sweep();
    await eventually('the end of rest', () => world.domain(id).certificateId === first.id);
    await world.stop();
    world.start();
    await new Promise(setImmediate);
    assert.equal(world.domain(id).certificateId, first.id, 'too early');
    world.clock.aheadMs = 400 * dayMs;
    world.sweep();
    const second = await found('another', () => {
      const certificate = world.certificate(id);
      return certificate?.id !== first.id && certificate;
    });
    // By this clock the new one has ended, too.
    world.sweep();
    world.sweep();
    const other = world.add('other.example');
    world.sweep();
    await world.certified(other);
    assert.equal(world.domain(id).certificateId, second.id);
    assert.equal(world.store.get(tables.certificates, first.id), undefined);
  });

  it('says why one is refused, keeps it waiting, and tries at once when somebody asks', async () => {
    const world = new World();
    const mute = world.add('mute.example', false);
    const blocked = world.add('a.blocked.example');
    world.start();
    await eventually('both to fail', () =>
      [mute, blocked].every((id) => world.domain(id).status === 'failed'),
    );
    assert.match(world.domain(mute).error ?? '', /refused \(unauthorized\): .*mute\.example/);
    assert.match(world.domain(blocked).error ?? '', /refused \(rejectedIdentifier\): .*blocked/);
    const order = world.store.get(tables.certificateOrders, mute);
    assert.equal(order?.failures, 1);
    assert.ok(order.nextTryAtMs > world.clock.now() + 4 * 60_000);
    answering.set('mute.example', world.store);
    world.sweep();
    world.order(mute);
    await world.certified(mute);
    assert.deepEqual([world.domain(mute).status, world.domain(mute).error], ['active', null]);
  });

  it('waits while the authority is away, and goes on when it is back', async () => {
    const other = await opened();
    const world = new World(other);
    world.clock.speed = 100;
    world.start();
    const before = world.add('before.example');
    world.order(before);
    await world.certified(before);
    await other.stop();
    const ids = [world.add('away-1.example'), world.add('away-2.example')];
    for (const id of ids) world.order(id);
    await eventually('the reason', () =>
      ids.some((id) => world.domain(id).error?.includes('ECONNREFUSED')),
    );
    assert.ok(ids.every((id) => world.domain(id).status === 'issuing'));
    await other.start();
    for (const id of ids) await world.certified(id);
  });

  it('goes on with the same order and account behind a crash', async () => {
    const world = new World();
    const id = world.add('crashed.example');
    world.start();
    const url = await found('the order', () => {
      return world.store.get(tables.certificateOrders, id)?.url ?? undefined;
    });
    await world.stop();
    const accounts = [...world.store.scan(tables.acmeAccounts)];
    assert.equal(world.store.get(tables.certificateOrders, id)?.url, url);
    world.start();
    await world.certified(id);
    assert.deepEqual([...world.store.scan(tables.acmeAccounts)], accounts);
  });

  it('revokes the certificate of a domain that is gone', async () => {
    const world = new World();
    const id = world.add('gone.example');
    world.start();
    const certificate = await world.certified(id);
    world.store.write([remove(tables.domains, id)]);
    world.sweep();
    await eventually('no certificate', () => {
      return world.store.get(tables.certificates, certificate.id) === undefined;
    });
    const { serialNumber } = new X509Certificate(certificate.chain);
    assert.equal(await pebble.statusOf(serialNumber), 'Revoked');
  });

  it('proves a wildcard by the program that sets records, and takes them back', async () => {
    const world = new World(pebble, { dnsCommand });
    const id = world.add('*.wild.example');
    world.start();
    const { names } = await world.certified(id);
    assert.deepEqual(names, ['*.wild.example']);
    await eventually('no record', () => !dns.records.has('TXT _acme-challenge.wild.example'));
    const without = new World();
    const other = without.add('*.tame.example');
    without.start();
    await eventually('a refusal', () => without.domain(other).status === 'failed');
    assert.match(without.domain(other).error ?? '', /acme\.dnsCommand/);
  });

  it('gets the names of apps one certificate, renews it, and revokes it for other names', async () => {
    const world = new World(pebble, { dnsCommand });
    const id = appsCertificateId('*.apps.example');
    const had = () => world.store.get(tables.certificates, id);
    world.appsWildcard = '*.apps.example';
    world.start();
    const first = await found('a certificate', had);
    assert.deepEqual([first.names, first.managed], [['*.apps.example'], true]);
    const pem = plainSecrets.open(first.key, certificateKeyContext(id));
    assert.ok(new X509Certificate(first.chain).checkPrivateKey(createPrivateKey(pem)));
    await eventually('word to the edge', () => world.tellings === 1);
    assert.deepEqual([...world.store.scan(tables.certificateOrders)], []);
    assert.deepEqual([...world.store.scan(tables.domains)], []);
    const beside = world.add('beside.example');
    world.sweep();
    await world.certified(beside);
    assert.equal(had()?.chain, first.chain, 'no domain has it, and yet it is left alone');
    await world.stop();
    world.clock.aheadMs = 4 * 365 * dayMs;
    world.start();
    await eventually('another', () => had()?.chain !== first.chain);
    await eventually('word of it', () => world.tellings === 2);
    const { serialNumber } = new X509Certificate(had()?.chain ?? '');
    await world.stop();
    world.clock.aheadMs = 0;
    world.appsWildcard = '*.b.example';
    world.start();
    await found('the next', () =>
      world.store.get(tables.certificates, appsCertificateId('*.b.example')),
    );
    await eventually('the end of the one before', () => had() === undefined);
    assert.equal(await pebble.statusOf(serialNumber), 'Revoked');
  });

  it('gets the panel a certificate, and another one when that has another host', async () => {
    const world = new World();
    const had = (host: string) => world.store.get(tables.certificates, panelCertificateId(host));
    for (const host of ['panel.example', 'console.example']) {
      dns.set('A', host, '127.0.0.1');
      answering.set(host, world.store);
    }
    world.panel = 'panel.example';
    world.start();
    const first = await found('a certificate', () => had('panel.example'));
    assert.ok(world.syncs > 0, 'the edge answers for it first');
    await eventually('word to the edge', () => world.tellings === 1);
    world.panel = 'console.example';
    world.sweep();
    await found('the next', () => had('console.example'));
    await eventually('the end of the one before', () => had('panel.example') === undefined);
    assert.equal(await pebble.statusOf(new X509Certificate(first.chain).serialNumber), 'Revoked');
  });

  it('logs the words of an authority that certifies no names of apps, and tries later', async () => {
    const world = new World(pebble, { dnsCommand });
    world.appsWildcard = '*.blocked.example';
    world.start();
    const order = await found('a refusal', () => {
      const one = world.store.get(tables.certificateOrders, appsCertificateId('*.blocked.example'));
      return one?.failures === 1 && one;
    });
    assert.ok(order.nextTryAtMs > world.clock.now() + 4 * 60_000);
    const told = world.logger.records.find(({ event }) => event === 'certificate_not_issued');
    const { err, host } = told?.fields as { err: Error; host: string };
    assert.deepEqual([told?.level, host, err.message], ['warn', '*.blocked.example', order.error]);
    assert.match(err.message, /refused \(rejectedIdentifier\): .*blocked/);
  });
});
