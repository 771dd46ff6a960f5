/**
 * Owns which access logs of one server's edge go into the logs of apps: of those that want one, and of those that wanted
 * one since this process began, so that the last lines come.
 *
 * 1. The edge of this machine has visitors of all apps, that of another server those of its own.
 * 2. What an edge tells counts as its own: another one numbers its lines by another clock.
 */
import type { Driver } from '../../drivers/driver.ts';
import { localServerId } from '../../places/local-place.ts';
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
    const isHere = place.serverId === localServerId;
    if (!isHere && serverId !== place.serverId) {
      this.#feeds.get(id)?.abort();
      return;
    }
    if (edge?.accessLog !== true || this.#feeds.has(id)) return;
    const feed = new AbortController();
    this.#feeds.set(id, feed);
    const log = accessLogOf(id);
    const source = isHere ? log : `${log}@${place.serverId}`;
    void streams
      .feed(`app:${id}`, place.edge, log, feed.signal, source)
      .finally(() => this.#feeds.delete(id));
  }
}
