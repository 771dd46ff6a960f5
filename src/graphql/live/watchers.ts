/**
 * Owns what subscriptions follow: one listener of the journal and one timer for all of them.
 *
 * 1. Nothing is listened to and no timer runs while nobody watches.
 * 2. Every watcher is woken at least every `checkMs`, so that rights that were lost, or that ran
 *    out, end a subscription within a second.
 */
import type { LogStreams } from '../../logs/live/log-streams.ts';
import type { Authenticator } from '../../auth/callers/authenticator.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { type Clock, every } from '../../lib/clock.ts';
import type { Journal, JournalEntry } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { LiveSource } from '../context.ts';

export interface LiveHubOptions {
  journal: Pick<Journal, 'subscribe'>;
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
  #release: (() => void) | null = null;

  constructor(options: LiveHubOptions) {
    this.#options = options;
    this.streams = options.streams;
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
    this.#release ??= this.#listen();
    return () => {
      watchers.delete(own);
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) {
        this.#watchers.delete(id);
      }
      if (this.#watchers.size === 0) this.close();
    };
  }

  close(): void {
    this.#release?.();
    this.#release = null;
  }

  #listen(): () => void {
    const unsubscribe = this.#options.journal.subscribe((entry) => this.#tell(entry));
    const { clock, checkMs = 500 } = this.#options;
    const stopChecks = every(clock, checkMs, () => {
      for (const watchers of [...this.#watchers.values()]) {
        for (const wake of [...watchers]) wake(false);
      }
    });
    return () => {
      stopChecks();
      unsubscribe();
    };
  }

  #tell(entry: JournalEntry): void {
    for (const change of entry.changes) {
      const id = watchedId(change);
      if (id === null) continue;
      for (const wake of [...(this.#watchers.get(id) ?? [])]) wake(true);
    }
  }
}

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
