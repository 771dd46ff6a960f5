/** Owns the actor of domains in memory, with a DNS that says what it is told to, for tests. */
import type { TestContext } from 'node:test';
import { domainsDefinition, type DomainsParts } from '../../src/actors/domains/actor.ts';
import type { DnsQuestion, DnsSeen } from '../../src/actors/domains/dns-looks.ts';
import { certificatesKind } from '../../src/actors/certificates/protocol.ts';
import { domainsActor } from '../../src/actors/domains/protocol.ts';
import { actorKind } from '../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import type { AppRecord, DomainRecord } from '../../src/store/records/records.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { appRecord } from './graphql-fixture.ts';
import { ManualClock } from './manual-clock.ts';
import { MemoryStore } from './memory-store.ts';
import { recordingLogger } from './silent-logger.ts';

/** Answers what it was told of a host, when it is let go. */
class FakeDns {
  readonly answers = new Map<string, Partial<DnsSeen>>();
  asked: DnsQuestion[] = [];
  /** Looks that wait. */
  held: (() => void)[] | null = null;

  async look(question: DnsQuestion): Promise<DnsSeen> {
    this.asked.push(question);
    if (this.held !== null) await new Promise<void>((go) => this.held?.push(go));
    return { ...nothing, ...this.answers.get(question.host) };
  }
}

/** The address of the edge. */
export const own = '203.0.113.7';
const nothing: DnsSeen = { own: [own], addresses: [], aliases: [], texts: [] };

export function domainsOf(t: TestContext) {
  const store = new MemoryStore();
  const clock = new ManualClock();
  const logger = recordingLogger();
  const runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
  const app = (id: string, teamId: string, more: Partial<AppRecord> = {}): void => {
    store.write([put(tables.apps, appRecord(id, teamId, more))]);
  };
  app('app_one', 'team_a');
  app('app_two', 'team_a');
  app('app_other', 'team_b');
  const dns = new FakeDns();
  const told: string[] = [];
  const panel = { host: 'panel.test' };
  const parts: DomainsParts = {
    ...{ reader: store, clock, logger, dns, hostOf: (slug) => `${slug}.apps.test` },
    ownHosts: () => ({ panel: panel.host, appsDomain: 'apps.test' }),
    secrets: { seal: (plain) => Buffer.from(plain) },
    verifiedStatus: () => 'active',
  };
  runtime.register(domainsDefinition(parts));
  runtime.register({
    kind: actorKind<{ domains: { in: object; out: boolean } }>('app'),
    activate: ({ ref }) => ({ domains: () => told.push(ref.id) > 0 }),
  });
  const ordered: string[] = [];
  runtime.register({
    kind: certificatesKind,
    activate: () => ({
      sweep: () => null,
      order: ({ domainId }) => (ordered.push(domainId), null),
    }),
  });
  runtime.start();
  t.after(() => runtime.close());
  const add = (appId: string, host: string, redirectTo: string | null = null) =>
    runtime.ask(domainsActor, { type: 'add', appId, host, redirectTo, own: [own] });
  const remove = (domainId: string) => runtime.ask(domainsActor, { type: 'remove', domainId });
  const see = (domain: DomainRecord, seen: Partial<DnsSeen>): Promise<DomainRecord> =>
    runtime.ask(domainsActor, {
      ...{ type: 'verify', domainId: domain.id, seen: { ...nothing, ...seen } },
    });
  const verify = (domain: DomainRecord): Promise<DomainRecord> =>
    see(domain, { addresses: [own], texts: [domain.proof] });
  const stored = (domain: DomainRecord) => store.get(tables.domains, domain.id);
  return {
    ...{ store, clock, runtime, parts, panel, dns, told, ordered, app },
    ...{ add, remove, see, verify, stored },
  };
}
