/**
 * Owns the limits of the activity: days, and entries of a team. The oldest entries are dropped first, many
 * in one commit.
 *
 * 1. A team has at most `perTeamMax` entries, and a few hundred since the last check.
 * 2. No entry is older than `days`, and the day since the last check.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { ActivityRecord } from '../../store/records/records.ts';
import { put, removeAll } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { activityActor, type ActivityProtocol } from './protocol.ts';
import { readsEntry } from './reads.ts';

export interface ActivityActorOptions {
  reader: Reader;
  clock: Clock;
  days: number;
  perTeamMax: number;
}

const dayMs = 86_400_000;
const batch = 1_000;

export function activityActorDefinition(
  options: ActivityActorOptions,
): ActorDefinition<ActivityProtocol> {
  return {
    kind: activityActor,
    activate: (context) => {
      const pruning = new Pruning(options, context);
      return {
        note: () => true,
        failed: async ({ id, code }) => {
          const entry = options.reader.get(tables.activity, id);
          if (entry === undefined) return false;
          const details = { ...entry.details, failed: code };
          await context.commit([put(tables.activity, { ...entry, details })]);
          return true;
        },
        reads: async ({ reads }) => {
          const entries = reads.map((one) => readsEntry(options.reader, one));
          await context.commit(entries.map((entry) => put(tables.activity, entry)));
          return true;
        },
        prune: async () => {
          const dropped = (await pruning.old()) + (await pruning.surplus());
          const again = context.alarm('prune', options.clock.now() + dayMs, { type: 'prune' });
          await context.commit([again]);
          return dropped;
        },
        trim: ({ teamId }) => pruning.trim(teamId),
      };
    },
  };
}

class Pruning {
  readonly #options: ActivityActorOptions;
  readonly #context: ActorContext<ActivityProtocol>;

  constructor(options: ActivityActorOptions, context: ActorContext<ActivityProtocol>) {
    this.#options = options;
    this.#context = context;
  }

  /** Drops entries that are too old. Ids sort by time, so these entries come first. */
  async old(): Promise<number> {
    const { reader, clock, days } = this.#options;
    const endMs = clock.now() - days * dayMs;
    let dropped = 0;
    for (;;) {
      const old: Readonly<ActivityRecord>[] = [];
      for (const entry of reader.scan(tables.activity)) {
        if (entry.atMs >= endMs || old.length === batch) break;
        old.push(entry);
      }
      if (old.length === 0) return dropped;
      dropped += await this.#drop(old);
    }
  }

  async surplus(): Promise<number> {
    let dropped = await this.trim(null);
    for (const { id } of this.#options.reader.scan(tables.teams)) dropped += await this.trim(id);
    return dropped;
  }

  async trim(teamId: string | null): Promise<number> {
    const { reader, perTeamMax } = this.#options;
    let surplus = reader.count(tables.activity, 'team', [teamId]) - perTeamMax;
    let dropped = 0;
    while (surplus > 0) {
      const limit = Math.min(surplus, batch);
      const oldest = reader.list(tables.activity, 'team', [teamId], { limit });
      if (oldest.length === 0) break;
      dropped += await this.#drop(oldest);
      surplus -= oldest.length;
    }
    return dropped;
  }

  async #drop(entries: readonly Readonly<ActivityRecord>[]): Promise<number> {
    await this.#context.commit(removeAll(tables.activity, entries));
    return entries.length;
  }
}
