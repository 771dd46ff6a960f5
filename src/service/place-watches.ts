/**
 * Owns what looks at one place all the while: at its workloads, their use of the machine, their visitors, and whether
 * it is reached.
 */
import { WorkloadWatch } from '../actors/workload/watch.ts';
import type { Actors } from '../actors/runtime/actor.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AccessFeeds } from '../logs/live/access-feeds.ts';
import { DriverWatch } from '../logs/live/driver-watch.ts';
import type { LiveLogs } from '../logs/live/live-logs.ts';
import type { MetricsWriter } from '../metrics/metrics-files.ts';
import { UsageSampler } from '../metrics/sampler.ts';
import type { TrafficSample } from '../metrics/traffic-samples.ts';
import { TrafficWatch } from '../metrics/traffic-watch.ts';
import type { MetricsSample } from '../metrics/usage-samples.ts';
import { localServerId } from '../places/local-place.ts';
import { serverOf } from '../places/owners.ts';
import type { Place } from '../places/place.ts';
import type { AppTraffic } from '../protocol/traffic.ts';
import type { Store } from '../store/store.ts';

export interface PlaceWatchesOptions {
  place: Place;
  actors: Actors;
  streams: LiveLogs;
  store: Store;
  usage: MetricsWriter<MetricsSample>;
  visits: MetricsWriter<TrafficSample>;
  clock: Clock;
  logger: Logger;
}

export class PlaceWatches {
  readonly #options: PlaceWatchesOptions;
  readonly #workloads: WorkloadWatch;
  readonly #reached: DriverWatch;
  readonly #sampler: UsageSampler;
  readonly #accessFeeds: AccessFeeds;
  readonly #traffic: TrafficWatch;
  #isClosed = false;

  constructor(options: PlaceWatchesOptions) {
    const { place, actors, streams, store, clock, logger } = options;
    const { driver, edge } = place;
    const isHere = (owner: string): boolean => serverOf(store, owner) === place.serverId;
    const isKnown = (owner: string): boolean => serverOf(store, owner) !== undefined;
    this.#options = options;
    this.#workloads = new WorkloadWatch({ place, actors, reader: store, logger });
    this.#reached = new DriverWatch({ place, streams, reader: store, clock });
    this.#sampler = new UsageSampler({ driver, isHere, writer: options.usage, clock, logger });
    this.#accessFeeds = new AccessFeeds({ place, streams, store });
    this.#traffic = new TrafficWatch({
      ...{ driver: edge, writer: options.visits, clock, logger },
      // Visitors of all apps come to the edge of this machine, too.
      isApp: (id) => (place.serverId === localServerId ? isKnown(id) : isHere(id)),
    });
  }

  /** Opens the driver, too. Rejects with what that rejects with. */
  async start(): Promise<void> {
    this.#reached.start();
    await this.#options.place.driver.open();
    const next: (() => void | Promise<void>)[] = [
      () => this.#workloads.start(),
      () => this.#sampler.start(),
      () => this.#traffic.start(),
      () => this.#accessFeeds.start(),
    ];
    for (const begin of next) {
      if (this.#isClosed) return;
      await begin();
    }
  }

  /** By app, what visitors asked of its edge. Never rejects. */
  traffic(): Promise<ReadonlyMap<string, AppTraffic>> {
    return this.#traffic.now();
  }

  close(): void {
    this.#isClosed = true;
    this.#workloads.close();
    this.#reached.close();
    this.#sampler.close();
    this.#traffic.close();
    this.#accessFeeds.close();
  }
}
