/**
 * Owns the way of a delivery to the apps of its repository.
 *
 * 1. A delivery is journaled for each app before its sender gets an answer, and handed on to the app's actor
 *    until that has looked at it: also after a crash.
 * 2. Of one ref a delivery counts once; its id is known for 72 hours.
 * 3. Apps get their deliveries in the order in which they came.
 * 4. So many deliveries of a connection are kept; the oldest go first.
 */
import { isSameRepository } from '../../git/deliveries/same-repository.ts';
import { touches } from '../../git/deliveries/watched.ts';
import type { PushDelivery } from '../../git/providers/provider.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { shownText } from '../../lib/names.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { GitConnectionRecord, GitDeliveryRecord } from '../../store/records/records.ts';
import { type Change, put, removeAll } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import type { ActorContext, Cause } from '../runtime/actor.ts';
import type { GitProtocol } from './protocol.ts';

export interface DeliveriesParts {
  reader: Reader;
  clock: Clock;
  logger: Logger;
  /** Deliveries that a connection keeps; default 10,000. */
  keptMax?: number;
}

type Connection = Readonly<GitConnectionRecord>;
type Delivery = Readonly<GitDeliveryRecord>;

const rememberedMs = 72 * 3_600_000;
const keptMaxDefault = 10_000;
const batchMax = 100;
const retryMinMs = 1_000;
const retryMaxMs = 60_000;
const shownMax = 200;

export class Deliveries {
  readonly #parts: DeliveriesParts;
  readonly #context: ActorContext<GitProtocol>;
  /** Those that are not in the store yet. */
  readonly #arriving = new Set<string>();
  #kept: number | null = null;
  #lastMs = 0;
  #handing = false;

  constructor(parts: DeliveriesParts, context: ActorContext<GitProtocol>) {
    this.#parts = parts;
    this.#context = context;
  }

  take(connection: Connection, pushes: readonly PushDelivery[]): void {
    const fresh = pushes.filter((push) => !this.#isKnown(connection, push));
    const records = fresh.flatMap((push) => this.#recordsOf(connection, push));
    if (records.length === 0) return;
    const keys = records.flatMap((record) => keyOf(record.deliveryId, record) ?? []);
    for (const key of keys) this.#arriving.add(key);
    const puts = records.map((record) => put(tables.gitDeliveries, record));
    void this.#context.commit([...puts, ...this.#outdated(connection, records.length)]);
    this.#context.afterCommit(() => {
      for (const key of keys) this.#arriving.delete(key);
      this.handOn();
    });
  }

  /** Hands on everything that no app has looked at. */
  handOn(): void {
    if (this.#handing) return;
    this.#handing = true;
    this.#context.work('hand-on', (signal) => this.#handAllOn(signal));
  }

  #isKnown({ id }: Connection, { deliveryId, ref }: PushDelivery): boolean {
    if (deliveryId === null) return false;
    const place = { refKind: ref.kind, refName: ref.name };
    if (this.#arriving.has(keyOf(deliveryId, place) ?? '')) return true;
    const { reader, clock } = this.#parts;
    const [last] = reader.list(tables.gitDeliveries, 'seen', [id, deliveryId, ref.kind, ref.name], {
      reverse: true,
      limit: 1,
    });
    return last !== undefined && last.receivedAtMs > clock.now() - rememberedMs;
  }

  #recordsOf({ id, teamId }: Connection, push: PushDelivery): GitDeliveryRecord[] {
    const { reader, clock } = this.#parts;
    const receivedAtMs = clock.now();
    const apps = reader.list(tables.apps, 'connection', [id], { limit: Infinity });
    const built = apps.filter(
      (app) => app.teamId === teamId && app.git && isSameRepository(app.git.repository, push),
    );
    return built.map((app) => ({
      id: newId('dlv', this.#nextMs(receivedAtMs)),
      ...{ connectionId: id, teamId, appId: app.id },
      ...{ event: push.event, deliveryId: push.deliveryId },
      ...{ refKind: push.ref.kind, refName: push.ref.name },
      ...{ before: push.before, commitSha: push.after },
      commitMessage: push.commit?.message ?? null,
      committedAtMs: push.commit?.atMs ?? null,
      pusher: push.pusher,
      ...(!touches(push.files, app.git?.watchPaths ?? []) && { isUnwatched: true as const }),
      outcome: 'received',
      receivedAtMs,
      deploymentId: null,
    }));
  }

  /** Ids sort by their time: no two deliveries have the same. */
  #nextMs(nowMs: number): number {
    this.#lastMs = Math.max(nowMs, this.#lastMs + 1);
    return this.#lastMs;
  }

  /** The changes by which old deliveries make room for new ones. */
  #outdated({ id }: Connection, added: number): Change[] {
    const { reader, clock, keptMax = keptMaxDefault } = this.#parts;
    this.#kept = (this.#kept ?? reader.count(tables.gitDeliveries, 'connection', [id])) + added;
    const endedMs = clock.now() - rememberedMs;
    const tooMany = Math.max(0, this.#kept - keptMax);
    const oldest = reader.list(tables.gitDeliveries, 'connection', [id], {
      limit: tooMany + 2 * added,
    });
    const gone = oldest.filter(
      ({ outcome, receivedAtMs }, place) =>
        outcome !== 'received' && (place < tooMany || receivedAtMs < endedMs),
    );
    this.#kept -= gone.length;
    return removeAll(tables.gitDeliveries, gone);
  }

  async #handAllOn(signal: AbortSignal): Promise<void> {
    const { reader, clock } = this.#parts;
    const { id } = this.#context.ref;
    let waitMs = retryMinMs;
    for (;;) {
      const open = reader.list(tables.gitDeliveries, 'open', [id], { limit: batchMax });
      if (open.length === 0 || signal.aborted) break;
      const byApp = Map.groupBy(open, ({ appId }) => appId);
      const all = await Promise.all([...byApp.values()].map((some) => this.#handAppOn(some)));
      if (all.every((done) => done)) {
        waitMs = retryMinMs;
        continue;
      }
      await pause(clock, waitMs, signal);
      waitMs = Math.min(2 * waitMs, retryMaxMs);
    }
    this.#handing = false;
  }

  /** False where the app has to be asked again. */
  async #handAppOn(deliveries: readonly Delivery[]): Promise<boolean> {
    for (const delivery of deliveries) {
      const judged = await this.#judged(delivery);
      if (judged === null) return false;
      // The app stores what it deploys, together with the deployment.
      if (judged.outcome === 'deployed') continue;
      await this.#context.report(() => this.#context.commit([put(tables.gitDeliveries, judged)]));
    }
    return true;
  }

  async #judged(delivery: Delivery): Promise<Delivery | null> {
    const { appId } = delivery;
    const message = { type: 'git-push', delivery, byHand: false } as const;
    const cause = this.#causeOf(delivery);
    try {
      return await this.#context.actors.ask(appActor.at(appId), message, { cause });
    } catch (error) {
      const isFinal = error instanceof ServiceError && error.status < 500;
      this.#parts.logger.warn({ app: appId, delivery: delivery.id, err: error }, 'push_not_taken');
      return isFinal ? { ...delivery, outcome: 'failed' } : null;
    }
  }

  /** What the activity says of a deployment that a push began. */
  #causeOf({ teamId, appId, commitSha, refName, pusher }: Delivery): Cause {
    const atMs = this.#parts.clock.now();
    const shown = (text: string | null): string => shownText(text ?? '', shownMax);
    const input = { branch: shown(refName), commit: commitSha, pusher: shown(pusher) };
    return {
      ...{ id: newId('act', atMs), atMs, action: 'git_push', userId: null, tokenId: null, teamId },
      ...{ address: '', userAgent: '', via: 'http', targetId: appId, input },
      ...{ always: false, again: false },
    };
  }
}

function keyOf(
  deliveryId: string | null,
  { refKind, refName }: Pick<GitDeliveryRecord, 'refKind' | 'refName'>,
): string | null {
  return deliveryId === null ? null : `${deliveryId} ${refKind} ${refName}`;
}
