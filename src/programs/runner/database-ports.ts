/**
 * Owns where the ports of databases lead that are held here, and who is led there.
 *
 * 1. Users of the machine are. Of workloads those of the same team alone: in a network of its own the kernel sees to
 *    it; else the uid at the other end of a connection tells.
 */
import type { Socket } from 'node:net';

import type { Way } from '../../lib/processes/held-ports.ts';
import { PeerUids } from '../../lib/processes/peer-uids.ts';
import { isProgramUid } from '../../lib/processes/program-uids.ts';
import type { Workload } from './workload.ts';

export class DatabasePorts {
  readonly #peers = new PeerUids();
  readonly #workloads: ReadonlyMap<string, Workload>;
  readonly #leaving: ReadonlySet<Workload>;

  /** `leaving`: those whose processes may live still, though they are known no more. */
  constructor(workloads: ReadonlyMap<string, Workload>, leaving: ReadonlySet<Workload>) {
    this.#workloads = workloads;
    this.#leaving = leaving;
  }

  wayTo(port: number): Way | undefined {
    for (const known of this.#workloads.values()) {
      if (known.port !== port || known.spec.keepsPort !== true || !known.active) continue;
      const { place, socket } = known;
      if (place !== undefined) return { to: place, lets: null };
      if (socket === undefined) return undefined;
      return { to: socket, lets: (client) => this.#isNeighbour(client, known) };
    }
    return undefined;
  }

  /** Whether who is at the other end is of the same team, or no workload at all. */
  async #isNeighbour(client: Socket, { spec: { team } }: Workload): Promise<boolean> {
    const uid = await this.#peers.of(client);
    if (uid === undefined) return false;
    if (!isProgramUid(uid)) return true;
    return [...this.#workloads.values(), ...this.#leaving].some(
      (one) => one.uid === uid && one.spec.team === team && team !== undefined,
    );
  }
}
