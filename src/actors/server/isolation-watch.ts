/**
 * Owns what is told of the layers that keep workloads of this machine apart: in the log, in the records of
 * servers, and to who sets up the instance.
 *
 * 1. The log has one line of it for each start, as soon as it is known, and another when it changes.
 * 2. What one start knew is not believed at the next: until the driver answers, nothing is known. Where nothing
 *    can be kept apart, nobody is asked before something runs.
 */
import { isDeepStrictEqual } from 'node:util';

import type { Driver } from '../../drivers/driver.ts';
import type { Logger } from '../../lib/log.ts';
import { type LayerState, lostWithout } from '../../protocol/isolation.ts';
import type { Actors } from '../runtime/actor.ts';
import { serversActor } from './protocol.ts';

export interface IsolationWatchOptions {
  driver: Pick<Driver, 'isolation' | 'watch'>;
  actors: Pick<Actors, 'tell'>;
  logger: Logger;
  /** A sentence of why nothing is kept apart on this machine; null: the driver knows. */
  unfit: string | null;
}

export class IsolationWatch {
  readonly #options: IsolationWatchOptions;
  #layers: readonly LayerState[] | null = null;
  #isLooking = false;
  #isClosed = false;
  #unwatch: () => void = () => undefined;

  constructor(options: IsolationWatchOptions) {
    this.#options = options;
  }

  /** Call this once the driver was opened. */
  start(): void {
    const { driver, logger, unfit } = this.#options;
    if (!driver.isolation) return;
    if (unfit !== null) logger.warn({ detail: unfit }, 'isolation_layers_missing');
    this.#unwatch = driver.watch(({ type }) => {
      if (type === 'connected') void this.#look();
    });
    if (unfit === null) void this.#look();
    else this.#record(null);
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch();
  }

  /** For who sets up the instance; null when all layers hold, containers do it, or it is not known yet. */
  warning(): string | null {
    const { driver, unfit } = this.#options;
    if (!driver.isolation) return null;
    const missing = (this.#layers ?? []).flatMap(({ layer, missing }) =>
      missing === null ? [] : [`${layer}: ${missing} ${lostWithout[layer]}`],
    );
    if (unfit !== null || missing.length === 0) return unfit;
    return `Not every layer of isolation between apps holds on this machine. ${missing.join(' ')}`;
  }

  async #look(): Promise<void> {
    // Whoever is connected by then answers the look under way.
    if (this.#isLooking) return;
    this.#isLooking = true;
    const layers = await this.#ask();
    this.#isLooking = false;
    if (this.#isClosed) return;
    this.#record(layers);
    if (layers === null || isDeepStrictEqual(layers, this.#layers)) return;
    this.#layers = layers;
    if (this.#options.unfit === null) logLayers(this.#options.logger, layers);
  }

  /** Null where nobody knows yet. */
  async #ask(): Promise<readonly LayerState[] | null> {
    const { driver, logger } = this.#options;
    try {
      return (await driver.isolation?.()) ?? null;
    } catch (error) {
      logger.debug({ err: error }, 'isolation_unknown');
      return null;
    }
  }

  #record(layers: readonly LayerState[] | null): void {
    try {
      this.#options.actors.tell(serversActor.at('all'), { type: 'isolation', layers });
    } catch (error) {
      // The service is stopping.
      this.#options.logger.warn({ err: error }, 'servers_not_told');
    }
  }
}

function logLayers(logger: Logger, states: readonly LayerState[]): void {
  const layers = states.flatMap(({ layer, missing }) =>
    missing === null ? [] : [{ layer, missing, consequence: lostWithout[layer] }],
  );
  if (layers.length > 0) logger.warn({ layers }, 'isolation_layers_missing');
  else logger.info({ layers: states.map(({ layer }) => layer) }, 'isolation');
}
