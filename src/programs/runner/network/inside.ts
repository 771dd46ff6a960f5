/**
 * Owns looks into the network of one workload: whether what listens there is reached, and where it listens.
 *
 * 1. All that listens there is the workload's.
 * 2. What listens on loopback alone is led to, once it is asked for. Whoever refuses connections is looked at
 *    once in a while, however many come.
 */
import type { Clock } from '../../../lib/clock.ts';
import { type Listener, listeningSockets } from '../../../lib/processes/listening-sockets.ts';
import type { WorkloadNetwork } from './networks.ts';

const loopback = '127.0.0.1';
const anyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
const lookEveryMs = 500;

export class InsideLooks {
  readonly #clock: Clock;
  /** When a network was looked into for its refusals. */
  readonly #lookedAtMs = new WeakMap<WorkloadNetwork, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async listeners({ procNet }: WorkloadNetwork): Promise<Listener[]> {
    return (await listeningSockets(procNet)).map(({ address, port }) => ({ address, port }));
  }

  /** Makes the port reached where it is not and can be. */
  async probe(network: WorkloadNetwork, port: number): Promise<'listening' | 'silent'> {
    const on = (await this.listeners(network)).filter((listener) => listener.port === port);
    if (on.some(({ address }) => anyAddress.has(address) || address === network.address)) {
      return 'listening';
    }
    if (!on.some(({ address }) => address === loopback)) return 'silent';
    await network.leadIn(port);
    return 'listening';
  }

  /** A connection to the port was refused. Resolves with whether another may be taken. */
  async refused(network: WorkloadNetwork, port: number): Promise<boolean> {
    const now = this.#clock.now();
    if (now - (this.#lookedAtMs.get(network) ?? -Infinity) < lookEveryMs) return false;
    this.#lookedAtMs.set(network, now);
    return (await this.probe(network, port)) === 'listening';
  }
}
