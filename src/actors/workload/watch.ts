/**
 * Owns the way from the events of one place to the apps and databases that they concern, and waking these at
 * start. At start, and whenever its driver connects again, every app and database there that is active, should
 * run, or is known to the driver gets the driver's view of its workloads.
 *
 * 1. A place tells nothing of what is at another, whatever it says. What it runs for those is ended.
 */
import type { DriverEvent } from '../../drivers/driver.ts';
import type { Workload } from '../../protocol/workload.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import { edgeActor } from '../edge/edge-actor.ts';
import type { Actors } from '../runtime/actor.ts';
import { appActor } from '../app/protocol.ts';
import { databaseActor } from '../database/protocol.ts';
import { localServerId } from '../../places/local-place.ts';
import { serverOf } from '../../places/owners.ts';
import type { Place } from '../../places/place.ts';
import type { WorkloadDeps } from './deps.ts';

export interface WorkloadWatchOptions extends Pick<WorkloadDeps, 'reader' | 'logger'> {
  place: Pick<Place, 'serverId' | 'driver'>;
  actors: Actors;
}

type WatchMessage =
  | { type: 'wake' }
  | { type: 'workload'; workload: Workload }
  | { type: 'workloads'; workloads: Workload[] };

export class WorkloadWatch {
  readonly #options: WorkloadWatchOptions;
  #unwatch: () => void = () => undefined;

  constructor(options: WorkloadWatchOptions) {
    this.#options = options;
  }

  /** Begins to watch and wakes apps; call it once the driver is open and actors are started. */
  async start(): Promise<void> {
    const { place, logger } = this.#options;
    const { driver } = place;
    this.#unwatch = driver.watch((event) => this.#onEvent(event));
    let workloads: Workload[] | null = null;
    try {
      workloads = await driver.list();
    } catch (error) {
      // The event `connected` brings them later.
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
        const { kind, owner } = workload.spec;
        if (kind !== 'job' && this.#isHere(owner))
          this.#tell(owner, { type: 'workload', workload });
        return;
      }
      case 'connected':
        this.#wake(event.workloads);
        return;
      case 'disconnected':
        this.#options.logger.warn({ server: this.#options.place.serverId }, 'driver_disconnected');
        return;
      case 'servers':
      // The watch of servers listens to these itself.
    }
  }

  #wake(workloads: Workload[] | null): void {
    const { reader, actors, logger, place } = this.#options;
    const { serverId } = place;
    const byOwner = new Map<string, Workload[]>();
    for (const id of toWake(reader, serverId)) byOwner.set(id, []);
    for (const workload of workloads ?? []) {
      const { owner } = workload.spec;
      if (!this.#isHere(owner)) {
        this.#end(workload);
        continue;
      }
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), workload]);
    }
    const count = workloads?.length ?? null;
    logger.info({ server: serverId, apps: byOwner.size, workloads: count }, 'apps_woken');
    for (const [owner, own] of byOwner) {
      if (workloads === null) this.#tell(owner, { type: 'wake' });
      else this.#tell(owner, { type: 'workloads', workloads: own });
    }
    // Sent even when nothing is to run: visitors of apps that do not run get a page that says so.
    this.#try(null, () => actors.tell(edgeActor.at(serverId), { type: 'sync' }));
  }

  /** What nobody has any more is told to its actor, which ends it, on this machine alone: actors are there. */
  #isHere(owner: string): boolean {
    const { place, reader } = this.#options;
    return (serverOf(reader, owner) ?? localServerId) === place.serverId;
  }

  #end({ spec: { id, owner } }: Workload): void {
    const { place, logger } = this.#options;
    logger.warn({ server: place.serverId, owner, workload: id }, 'workload_of_another_server');
    place.driver
      .remove(id)
      .catch((err: unknown) => logger.warn({ workload: id, err }, 'workload_not_removed'));
  }

  #tell(owner: string, message: WatchMessage): void {
    const { actors } = this.#options;
    this.#try(owner, () => {
      if (owner.startsWith('db_')) actors.tell(databaseActor.at(owner), message);
      else actors.tell(appActor.at(owner), message);
    });
  }

  #try(owner: string | null, tell: () => void): void {
    try {
      tell();
    } catch (error) {
      // The mailbox is full, or the service is stopping. The next `connected` repeats the message.
      this.#options.logger.warn({ owner, err: error }, 'owner_not_told');
    }
  }
}

/**
 * Apps and databases of a server that should run, or have a workload that is starting or ending, and apps with an
 * open deployment.
 */
export function toWake(reader: Reader, serverId: string): string[] {
  const all = { limit: Number.MAX_SAFE_INTEGER };
  const ids = new Set(reader.list(tables.apps, 'runs', [], all).map(({ id }) => id));
  for (const { appId } of reader.list(tables.deployments, 'open', [], all)) {
    if (reader.get(tables.apps, appId) !== undefined) ids.add(appId);
  }
  for (const { id } of reader.list(tables.databases, 'runs', [], all)) ids.add(id);
  return [...ids].filter((id) => serverOf(reader, id) === serverId).sort();
}
