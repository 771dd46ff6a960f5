/**
 * Owns when domains are looked at that nobody asks about: those that are due, so many at a time. It looks at the clock
 * at least once a minute, so that it holds when somebody sets the clock: a time that is further ahead than any that is given
 * counts as now.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DomainRecord, DomainStatus } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorContext } from '../runtime/actor.ts';
import type { DnsLooks, DnsSeen } from './dns-looks.ts';
import { lookAgainMs } from './ownership.ts';
import type { DomainsProtocol } from './protocol.ts';
import { questionOf } from './verdict.ts';

export interface LookTurnsOptions {
  reader: Reader;
  clock: Clock;
  context: ActorContext<DomainsProtocol>;
  dns: Pick<DnsLooks, 'look'>;
  /** Runs as a message of the actor. */
  seen: (domain: Readonly<DomainRecord>, seen: DnsSeen) => Promise<void>;
}

const atOnceMax = 8;
const lookEveryMs = 60_000;
/** In each of them one may be due. */
const statuses: readonly DomainStatus[] = ['pending_dns', 'issuing', 'active', 'failed'];

export class LookTurns {
  readonly #options: LookTurnsOptions;
  /** Ids of domains whose look is under way. */
  readonly #underWay = new Set<string>();
  #cancel: () => void = () => undefined;

  constructor(options: LookTurnsOptions) {
    this.#options = options;
    options.context.signal.addEventListener('abort', () => this.#cancel());
  }

  /** Begins what is due; what is not is waited for. */
  next(): void {
    const { reader, clock, context } = this.#options;
    this.#cancel();
    if (context.ended) return;
    const limit = atOnceMax + this.#underWay.size + 1;
    const nowMs = clock.now();
    const restOf = (domain: Readonly<DomainRecord>): number => restMs(domain, nowMs);
    const due = statuses.flatMap((status) => [
      ...reader.list(tables.domains, 'due', [status], { limit }),
      ...reader.list(tables.domains, 'due', [status], { limit, reverse: true }),
    ]);
    for (const domain of due.toSorted((a, b) => restOf(a) - restOf(b))) {
      if (this.#underWay.has(domain.id)) continue;
      // The end of a look calls this again.
      if (this.#underWay.size >= atOnceMax) return;
      const forMs = restOf(domain);
      if (forMs > 0) {
        this.#cancel = clock.after(Math.min(forMs, lookEveryMs), () => {
          void context.report(() => this.next());
        });
        return;
      }
      this.#look(domain);
    }
  }

  #look({ id, nextTryAtMs, ...domain }: Readonly<DomainRecord>): void {
    const { reader, context, dns, seen: tell } = this.#options;
    this.#underWay.add(id);
    context.work(`look:${id}`, async (signal) => {
      const seen = await dns.look(questionOf(domain), signal);
      await context.report(async () => {
        this.#underWay.delete(id);
        const now = reader.get(tables.domains, id);
        // Else it was looked at meanwhile, or is another.
        if (now?.nextTryAtMs === nextTryAtMs) await tell(now, seen);
        else this.next();
      });
    });
  }
}

/** How long from now until it is looked at; 0 or less: it is due. */
function restMs({ nextTryAtMs }: Readonly<DomainRecord>, nowMs: number): number {
  const leftMs = (nextTryAtMs ?? 0) - nowMs;
  return leftMs > lookAgainMs ? 0 : leftMs;
}
