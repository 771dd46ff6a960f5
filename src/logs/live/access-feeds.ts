/**
 * Owns which access logs of the apps of one server go into the logs of those apps: of those that want one, and of those that
 * wanted one since this process began, so that the last lines come.
 */
import type { Driver } from '../../drivers/driver.ts';
import { accessLogOf } from '../../protocol/workload.ts';
import type { AppRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { JournalEntry, Reader } from '../../store/reader-and-journal.ts';
import type { LiveLogs } from './live-logs.ts';

export interface AccessFeedsOptions {
  place: { serverId: string; edge: Pick<Driver, 'follow' | 'acknowledge'> };
  streams: Pick<LiveLogs, 'feed'>;
  store: Pick<Reader, 'scan'> & {
    subscribe(listener: (entry: JournalEntry) => void): () => void;
  };
}

/** After this many apps the walk over all of them lets other work run. */
const walkStep = 200;

export class AccessFeeds {
  readonly #options: AccessFeedsOptions;
  /** By app. */
  readonly #feeds = new Map<string, AbortController>();
  #unsubscribe: () => void = () => undefined;
  #isClosed = false;

  constructor(options: AccessFeedsOptions) {
    this.#options = options;
  }

  /** To be called once the driver is open. */
  async start(): Promise<void> {
    const { store } = this.#options;
    this.#unsubscribe = store.subscribe(({ changes }) => {
      for (const change of changes) {
        if (change.table !== tables.apps.name) continue;
        if (change.op === 'put' || change.op === 'insert') this.#see(change.value as AppRecord);
        else this.#feeds.get(String(change.key))?.abort();
      }
    });
    let walked = 0;
    for (const app of store.scan(tables.apps)) {
      if (++walked % walkStep === 0) await new Promise(setImmediate);
      if (this.#isClosed) return;
      this.#see(app);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    for (const feed of this.#feeds.values()) feed.abort();
  }

  #see({ id, edge, serverId }: Pick<AppRecord, 'id' | 'edge' | 'serverId'>): void {
    const { streams, place } = this.#options;
    if (serverId !== place.serverId) {
      this.#feeds.get(id)?.abort();
      return;
    }
    if (edge?.accessLog !== true || this.#feeds.has(id)) return;
    const feed = new AbortController();
    this.#feeds.set(id, feed);
    void streams
      .feed(`app:${id}`, place.edge, accessLogOf(id), feed.signal)
      .finally(() => this.#feeds.delete(id));
  }
}
