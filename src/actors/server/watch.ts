/**
 * Owns the look at the servers of a driver that has several: whenever the driver reports a change, and now
 * and then.
 *
 * 1. A driver that is not reached, or does not answer, has no connected server.
 * 2. One look runs at a time. Its result counts only if the driver was reached all the while.
 */
import type { Driver } from '../../drivers/driver.ts';
import type { Actors, MessageOf } from '../runtime/actor.ts';
import type { WorkloadDeps } from '../workload/deps.ts';
import { serversActor, type ServersProtocol } from './protocol.ts';

export interface ServerWatchOptions extends Pick<WorkloadDeps, 'clock' | 'logger'> {
  driver: Pick<Driver, 'servers' | 'watch'>;
  actors: Pick<Actors, 'tell'>;
}

const lookEveryMs = 30_000;

export class ServerWatch {
  readonly #options: ServerWatchOptions;
  #looking = false;
  #again = false;
  #losses = 0;
  #cancel: () => void = () => undefined;
  #unwatch: () => void = () => undefined;
  #closed = false;

  constructor(options: ServerWatchOptions) {
    this.#options = options;
  }

  /** Call this before the driver is opened, so that its first events are heard. */
  start(): void {
    const { driver } = this.#options;
    if (!driver.servers) return;
    this.#unwatch = driver.watch(({ type }) => {
      if (type === 'disconnected') this.#lose();
      else if (type !== 'state') this.#look();
    });
    this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#cancel();
  }

  #look(): void {
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    this.#again = false;
    this.#cancel();
    void this.#ask().finally(() => {
      this.#looking = false;
      if (this.#closed) return;
      if (this.#again) this.#look();
      else {
        this.#cancel = this.#options.clock.after(lookEveryMs, () => this.#look());
      }
    });
  }

  async #ask(): Promise<void> {
    const { driver, logger } = this.#options;
    const losses = this.#losses;
    try {
      const servers = await driver.servers?.();
      if (servers && losses === this.#losses) this.#tell({ type: 'seen', servers });
    } catch (error) {
      logger.debug({ err: error }, 'servers_not_listed');
      this.#lose();
    }
  }

  #lose(): void {
    this.#losses++;
    this.#tell({ type: 'lost' });
  }

  #tell(message: MessageOf<ServersProtocol>): void {
    if (this.#closed) return;
    try {
      this.#options.actors.tell(serversActor.at('all'), message);
    } catch (error) {
      // The service is stopping; the next look repeats the message.
      this.#options.logger.warn({ err: error }, 'servers_not_told');
    }
  }
}
