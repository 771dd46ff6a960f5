/**
 * Owns our networks on a swarm, which reach over all nodes.
 *
 * 1. A network is made when it is first needed, and removed with the last service in it.
 * 2. A workload that shares no network gets one of its own, so that containers do not meet on their way to
 *    other networks.
 */
import { type Engine, orGone, pause, statusOf, wordsOf } from '../docker/engine/engine.ts';
import type { Names } from '../docker/engine/names.ts';
import { KeyedQueue } from '../../lib/keyed-queue.ts';
import type { Logger } from '../../lib/log.ts';

/** Removing a service takes a moment, and its tasks leave their network some time after that. */
const leaving = { looks: 60, looksInUse: 10, everyMs: 500 };

export class Overlays {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #logger: Logger;
  readonly #turns = new KeyedQueue();
  /** The networks to remove once they are empty. A workload that needs one again takes it off this set. */
  readonly #unused = new Set<string>();

  constructor(engine: Engine, names: Names, logger: Logger) {
    this.#engine = engine;
    this.#names = names;
    this.#logger = logger;
  }

  /** Runs `work` while all these networks surely exist. */
  withinAll<T>(all: readonly string[], work: () => Promise<T>): Promise<T> {
    const prepare = (network: string): Promise<void> => {
      this.#unused.delete(network);
      return this.#ensure(network);
    };
    return this.#turns.takeAll(all, prepare, work);
  }

  /** Removes the network once it is empty. The caller does not wait for that. */
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

  /** Whether nothing is left to do: the network is gone, or a service uses it. */
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
      // The network was made by a call whose answer was lost, or by another process of ours.
      if (statusOf(error) !== 409) throw error;
    }
  }
}
