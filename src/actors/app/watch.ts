/**
 * Owns the way from the driver's events to the apps they concern, and waking apps at start.
 *
 * 1. After start, and whenever the driver connects again, every app that has something under way
 *    or should run is told what the driver has of it; so is every app the driver has something of.
 */
import type { Driver, DriverEvent, Workload } from '../../drivers/driver.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/contract.ts';
import { tables } from '../../store/tables.ts';
import { edgeActor } from '../edge/edge-actor.ts';
import type { Actors } from '../runtime/contract.ts';
import { appActorInside } from './app-actor.ts';
import { localServerId } from './deps.ts';

export interface AppWatchOptions {
  driver: Driver;
  actors: Actors;
  reader: Reader;
  logger: Logger;
}

export class AppWatch {
  readonly #options: AppWatchOptions;
  #unwatch: () => void = () => undefined;

  constructor(options: AppWatchOptions) {
    this.#options = options;
  }

  /** Begins to watch and wakes apps; call it once the driver is open and actors are started. */
  async start(): Promise<void> {
    const { driver, logger } = this.#options;
    this.#unwatch = driver.watch((event) => {
      this.#onEvent(event);
    });
    let workloads: Workload[] | null = null;
    try {
      workloads = await driver.list();
    } catch (error) {
      // `connected` brings them later.
      logger.warn({ err: error }, 'driver_not_listed');
    }
    this.#wake(workloads);
  }

  close(): void {
    this.#unwatch();
  }

  #onEvent(event: DriverEvent): void {
    switch (event.type) {
      case 'state': {
        const { workload } = event;
        const { kind, owner: appId } = workload.spec;
        if (kind === 'job') return;
        this.#try(appId, () => {
          this.#options.actors.tell(appActorInside.at(appId), { type: 'workload', workload });
        });
        return;
      }
      case 'connected':
        this.#wake(event.workloads);
        return;
      case 'disconnected':
        this.#options.logger.warn({}, 'driver_disconnected');
    }
  }

  #wake(workloads: Workload[] | null): void {
    const { reader, actors, logger } = this.#options;
    const byApp = new Map<string, Workload[]>();
    for (const appId of appsToWake(reader)) byApp.set(appId, []);
    for (const workload of workloads ?? []) {
      const { owner: appId } = workload.spec;
      byApp.set(appId, [...(byApp.get(appId) ?? []), workload]);
    }
    logger.info({ apps: byApp.size, workloads: workloads?.length ?? null }, 'apps_woken');
    for (const [appId, own] of byApp) {
      const app = appActorInside.at(appId);
      this.#try(appId, () => {
        if (workloads === null) actors.tell(app, { type: 'wake' });
        else actors.tell(app, { type: 'workloads', workloads: own });
      });
    }
    if (byApp.size === 0) return;
    this.#try(null, () => {
      actors.tell(edgeActor.at(localServerId), { type: 'sync' });
    });
  }

  #try(app: string | null, tell: () => void): void {
    try {
      tell();
    } catch (error) {
      // A full mailbox, or the service is stopping; the next `connected` tells it again.
      this.#options.logger.warn({ app, err: error }, 'app_not_told');
    }
  }
}

/** Apps with an open deployment, or that should run, or whose instances are on their way out. */
export function appsToWake(reader: Reader): string[] {
  const all = { limit: Number.MAX_SAFE_INTEGER };
  const ids = new Set(reader.list(tables.apps, 'runs', [], all).map(({ id }) => id));
  for (const { appId } of reader.list(tables.deployments, 'open', [], all)) {
    if (reader.get(tables.apps, appId) !== undefined) ids.add(appId);
  }
  return [...ids].sort();
}
