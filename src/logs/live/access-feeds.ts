/**
 * Owns which access logs of the apps of one server go into the logs of those apps: of those that want one, and of those that
 * wanted one since this process began, so that the last lines come.
 */
import type { Driver } from '../../drivers/driver.ts';
import { accessLogOf } from '../../protocol/workload.ts';
import type { AppRecord } from '../../store/records/records.ts';
import { type AppsStore, FollowedApps } from '../../store/reading/followed-apps.ts';
import type { LiveLogs } from './live-logs.ts';

export interface AccessFeedsOptions {
  place: { serverId: string; edge: Pick<Driver, 'follow' | 'acknowledge'> };
  streams: Pick<LiveLogs, 'feed'>;
  store: AppsStore;
}

export class AccessFeeds {
  readonly #options: AccessFeedsOptions;
  /** By app. */
  readonly #feeds = new Map<string, AbortController>();
  readonly #apps: FollowedApps;

  constructor(options: AccessFeedsOptions) {
    this.#options = options;
    this.#apps = new FollowedApps(options.store, {
      see: (app) => this.#see(app),
      gone: (id) => this.#feeds.get(id)?.abort(),
    });
  }

  /** To be called once the driver is open. */
  async start(): Promise<void> {
    await this.#apps.start();
  }

  close(): void {
    this.#apps.close();
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
