/**
 * Owns what subscriptions follow: one listener of the journal and one timer for all of them.
 *
 * 1. No timer runs while nobody watches. What changed in a team is kept while somebody follows it; without that only
 *    the position of the last change is.
 * 2. Every watcher is woken at least every `checkMs`, so that rights that were lost, or that ran
 *    out, end a subscription within a second.
 */
import type { LogStreams } from '../../logs/live/log-streams.ts';
import type { Authenticator } from '../../auth/callers/authenticator.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { type Clock, every } from '../../lib/clock.ts';
import type { Journal, JournalEntry, Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { LiveSource, TeamView } from '../context.ts';
import { QueueWatch } from './queue-watch.ts';
import { TeamFeed } from './team-feed.ts';
import { kindOf, readThing } from './team-things.ts';

export interface LiveHubOptions {
  journal: Pick<Journal, 'subscribe'>;
  reader: Reader;
  streams: Pick<LogStreams, 'attach'>;
  authenticator: Pick<Authenticator, 'stillValid'>;
  clock: Clock;
  /** Milliseconds between two looks at every watcher's rights; default 500. */
  checkMs?: number;
}

type Wake = (changed: boolean) => void;

export class LiveHub implements LiveSource {
  readonly streams: Pick<LogStreams, 'attach'>;
  readonly #options: LiveHubOptions;
  readonly #watchers = new Map<string, Set<Wake>>();
  readonly #feeds = new Map<string, TeamFeed>();
  #queue: QueueWatch | null = null;
  #rightsVersion = 0;
  /** Of the last entry that changed a thing of a team, or what somebody sees of it. */
  #changedAt: number;
  readonly #unsubscribe: () => void;
  #stopChecks: (() => void) | null = null;

  constructor(options: LiveHubOptions) {
    this.#options = options;
    this.streams = options.streams;
    this.#changedAt = options.reader.position;
    this.#unsubscribe = options.journal.subscribe((entry) => this.#tell(entry));
  }

  stillValid(principal: Principal): boolean {
    return this.#options.authenticator.stillValid(principal);
  }

  watch(id: string, wake: Wake): () => void {
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers);
    // Its own function, so that the same `wake` may be given twice.
    const own: Wake = (changed) => wake(changed);
    watchers.add(own);
    this.#stopChecks ??= this.#check();
    return () => {
      watchers.delete(own);
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) {
        this.#watchers.delete(id);
      }
      if (this.#watchers.size === 0) this.#rest();
    };
  }

  followTeam(teamId: string, wake: Wake): TeamView {
    const { reader } = this.#options;
    const unwatch = this.watch(teamId, wake);
    const feed = this.#feeds.get(teamId) ?? new TeamFeed(reader, teamId);
    this.#feeds.set(teamId, feed);
    this.#queue ??= new QueueWatch(reader);
    return {
      feed,
      rightsVersion: () => this.#rightsVersion,
      leave: () => {
        unwatch();
        if (!this.#watchers.has(teamId)) this.#feeds.delete(teamId);
        if (this.#feeds.size === 0) this.#queue = null;
      },
    };
  }

  changedSince(position: number): boolean {
    return this.#changedAt > position;
  }

  close(): void {
    this.#rest();
    this.#unsubscribe();
  }

  #rest(): void {
    this.#stopChecks?.();
    this.#stopChecks = null;
  }

  #check(): () => void {
    const { clock, checkMs = 500 } = this.#options;
    return every(clock, checkMs, () => {
      this.#tellOfQueue();
      for (const watchers of [...this.#watchers.values()]) {
        for (const wake of [...watchers]) wake(false);
      }
    });
  }

  #tell(entry: JournalEntry): void {
    if (entry.changes.some(({ table }) => table === grants || kindOf(table) !== null)) {
      this.#changedAt = entry.position;
    }
    if (this.#watchers.size === 0) return;
    if (entry.changes.some(({ table }) => decisive.has(table))) this.#rightsVersion += 1;
    this.#queue?.note(entry);
    for (const [teamId, feed] of this.#feedsOf(entry)) {
      if (feed.take(entry)) this.#wake(teamId);
    }
    for (const change of entry.changes) {
      const id = watchedId(change);
      if (id === null) continue;
      this.#wake(id);
    }
  }

  #tellOfQueue(): void {
    for (const { id, appId, teamId } of this.#queue?.moved() ?? []) {
      this.#feeds.get(teamId)?.touch('deployment', id, appId);
      this.#wake(teamId);
    }
  }

  #wake(id: string): void {
    for (const wake of [...(this.#watchers.get(id) ?? [])]) wake(true);
  }

  /** The feeds that an entry may be about. What is removed does not say whose it was. */
  #feedsOf({ changes }: JournalEntry): Iterable<[string, TeamFeed]> {
    const things = changes.filter(({ table }) => kindOf(table) ?? table === grants);
    if (things.some((change) => isOfAny.has(change.table) || !('value' in change))) {
      return [...this.#feeds];
    }
    const teamIds = things.map(({ table, ...change }) => {
      return 'value' in change ? readThing(table, change.value)?.teamId : undefined;
    });
    const found = [...new Set(teamIds)].flatMap((teamId): [string, TeamFeed][] => {
      const feed = this.#feeds.get(teamId ?? '');
      return feed && teamId !== undefined ? [[teamId, feed]] : [];
    });
    return found;
  }
}

const grants = tables.folderGrants.name;
/** Records that do not say of which team they are. */
const isOfAny: ReadonlySet<string> = new Set([grants, tables.env.name]);

/** What is seen in a team depends on these, besides where things lie. */
const decisive: ReadonlySet<string> = new Set(
  [
    tables.auth,
    tables.members,
    tables.roles,
    tables.teams,
    tables.folders,
    tables.folderGrants,
    tables.tokens,
  ].map((table) => table.name),
);

/** The app or database a change is about. */
function watchedId(change: JournalEntry['changes'][number]): string | null {
  if (change.table === tables.apps.name || change.table === tables.databases.name) {
    return typeof change.key === 'string' ? change.key : null;
  }
  if (change.table !== tables.deployments.name || !('value' in change)) return null;
  const { value } = change;
  if (typeof value !== 'object' || value === null || !('appId' in value)) return null;
  return typeof value.appId === 'string' ? value.appId : null;
}
