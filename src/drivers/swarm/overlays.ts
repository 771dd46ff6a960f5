/**
 * Owns the networks of ours on a swarm: they reach over all nodes.
 *
 * 1. A network is made when it is first needed, and removed with the last service in it.
 * 2. A workload that shares none has one of its own: on its way out containers do not meet.
 */
import { type Engine, orGone, pause, statusOf, wordsOf } from '../docker/engine/engine.ts';
import type { Names } from '../docker/engine/names.ts';
import { KeyedQueue } from '../docker/engine/keyed-queue.ts';
import type { Logger } from '../../lib/log.ts';

/** Tasks leave a network some time after their service is gone, which itself takes a moment to be. */
const leaving = { looks: 60, looksInUse: 10, everyMs: 500 };

export class Overlays {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #logger: Logger;
  readonly #turns = new KeyedQueue();
  /** What is to go once nothing is in it; whoever needs it again takes it off. */
  readonly #unused = new Set<string>();

  constructor(engine: Engine, names: Names, logger: Logger) {
    this.#engine = engine;
    this.#names = names;
    this.#logger = logger;
  }

  /** `work` runs while all these surely exist. */
  withinAll<T>(all: readonly string[], work: () => Promise<T>): Promise<T> {
    const prepare = (network: string): Promise<void> => {
      this.#unused.delete(network);
      return this.#ensure(network);
    };
    return this.#turns.takeAll(all, prepare, work);
  }

  /** Removes it as soon as nothing is in it any more; not waited for. */
  release(network: string): void {
    if (this.#unused.has(network)) return;
    this.#unused.add(network);
    void this.#leave(network);
  }

  /** Removes what an earlier process left behind. */
  async sweep(): Promise<void> {
    const filters = { label: this.#names.markFilter(), driver: ['overlay'] };
    const found = await this.#engine.ask((docker) => docker.listNetworks({ filters }));
    for (const { Name: name } of found) this.release(name);
  }

  async #leave(network: string): Promise<void> {
    for (let look = 0; look < leaving.looks; look++) {
      if (!this.#unused.has(network) || this.#engine.closed.aborted) return;
      try {
        if (await this.#turns.take(network, () => this.#remove(network, look))) break;
      } catch (error) {
        this.#logger.debug({ err: error, network }, 'network_not_removed');
        break;
      }
      await pause(leaving.everyMs, this.#engine.closed);
    }
    this.#unused.delete(network);
  }

  /** Whether that is settled: gone, or in use by a service. */
  async #remove(network: string, look: number): Promise<boolean> {
    if (!this.#unused.has(network)) return true;
    try {
      await this.#engine.ask((docker) => orGone(docker.getNetwork(network).remove()));
      return true;
    } catch (error) {
      if (statusOf(error) === undefined) throw error;
      return look >= leaving.looksInUse && wordsOf(error).includes('in use by service');
    }
  }

  async #ensure(network: string): Promise<void> {
    const found = await this.#engine.ask((docker) => orGone(docker.getNetwork(network).inspect()));
    if (found) return;
    try {
      await this.#engine.ask((docker) =>
        docker.createNetwork({
          Name: network,
          Driver: 'overlay',
          Attachable: true,
          CheckDuplicate: true,
          Labels: this.#names.mark(),
        }),
      );
    } catch (error) {
      // An answer was lost and it was asked for again, or another process of ours was quicker.
      if (statusOf(error) !== 409) throw error;
    }
  }
}
