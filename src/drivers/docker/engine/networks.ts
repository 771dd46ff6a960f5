/**
 * Owns the networks and volumes of ours on a daemon.
 *
 * 1. A network is made when it is first needed, and removed with the last container in it.
 * 2. On the network of those that share none, containers do not reach each other.
 * 3. A volume outlives what uses it; it goes only when it is asked to.
 * 4. An address that a container was given is its own until it is removed, running or not.
 */
import fs from 'node:fs';

import type Dockerode from 'dockerode';

import { ServiceError } from '../../../lib/errors.ts';
import { orGone, statusOf, wordsOf } from './engine.ts';
import type { Engine } from './engine.ts';
import { label } from './names.ts';
import type { Names } from './names.ts';
import { freeAddress, planOf } from './subnets.ts';
import { Turns } from './keyed-queue.ts';

/** Tried in turn when the daemon's own pools, some thirty networks by default, are used up. */
const spareSubnets = { base: '10.214', count: 256 };
const triesMax = 5;

type NetworkView = Dockerode.NetworkInspectInfo;

function sharedOut(subnet: string): Dockerode.NetworkCreateOptions['IPAM'] {
  const { gateway, range } = planOf(subnet);
  return { Driver: 'default', Config: [{ Subnet: subnet, IPRange: range, Gateway: gateway }] };
}

/** Whether the bridge of a network is one of this machine, so that its containers are reached from it. */
function isHere({ Id: id }: NetworkView): boolean {
  return fs.existsSync(`/sys/class/net/br-${id.slice(0, 12)}`);
}

export class Networks {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #turns = new Turns();

  constructor(engine: Engine, names: Names) {
    this.#engine = engine;
    this.#names = names;
  }

  /** `work` runs while all these surely exist. */
  withinAll<T>(all: readonly (string | null)[], work: () => Promise<T>): Promise<T> {
    // Always in the same order, so that two that want the same ones do not wait for each other.
    const [next, ...rest] = [...new Set(all)].sort();
    if (next === undefined) return work();
    return this.#within(next, () => this.withinAll(rest, work));
  }

  /** Puts a container that does not run yet into one more network. */
  async join(name: string, container: string, aliases: readonly string[]): Promise<void> {
    const network = this.#names.network(name);
    try {
      await this.#engine.ask((docker) =>
        docker
          .getNetwork(network)
          .connect({ Container: container, EndpointConfig: { Aliases: [...aliases] } }),
      );
    } catch (error) {
      // It is in it already: asked twice.
      if (!wordsOf(error).includes('already exists in network')) throw error;
    }
  }

  #within<T>(name: string | null, work: () => Promise<T>): Promise<T> {
    const network = this.#names.network(name);
    return this.#turns.take(network, async () => {
      await this.#ensure(network, name === null);
      return work();
    });
  }

  /**
   * An address for one more container of a network, which surely exists meanwhile. Null where the
   * machine we are on does not reach it: the daemon is elsewhere, or has networks of its own.
   */
  async freeAddress(name: string | null): Promise<string | null> {
    const network = this.#names.network(name);
    const found = await this.#inspect(network);
    const subnet = found?.IPAM?.Config?.[0]?.Subnet;
    // Before this version they had no addresses to give.
    if (!found || subnet === undefined || found.Labels?.[label.address] === undefined) return null;
    if (!isHere(found)) return null;
    const users = await this.#users(network);
    const taken = new Set(users.flatMap(({ Labels: labels }) => labels[label.address] ?? []));
    return freeAddress(subnet, taken, Math.random());
  }

  /** Whether containers are reached at their own addresses from the machine we are on. */
  async reachesContainers(): Promise<boolean> {
    await this.ensureAlone();
    const found = await this.#inspect(this.#names.network(null));
    return found !== undefined && isHere(found);
  }

  /** The network of those that share none; it stays. */
  ensureAlone(): Promise<void> {
    return this.#within(null, () => Promise.resolve());
  }

  /** Removes it when nothing is in it any more, running or not. */
  async release(network: string): Promise<void> {
    // Builds are in it between two containers.
    if (network === this.#names.network(null)) return;
    await this.#release(network);
  }

  #release(network: string): Promise<void> {
    return this.#turns.take(network, async () => {
      if ((await this.#users(network)).length > 0) return;
      try {
        await this.#engine.ask((docker) => orGone(docker.getNetwork(network).remove()));
      } catch (error) {
        // Somebody else put something into it: it stays.
        if (statusOf(error) !== 403 && statusOf(error) !== 409) throw error;
      }
    });
  }

  async ensureVolume(name: string, owner: string): Promise<void> {
    const volume = this.#names.volume(name);
    await this.#engine.ask((docker) =>
      docker.createVolume({ Name: volume, Labels: this.#names.mark(owner) }),
    );
  }

  async removeVolume(name: string): Promise<void> {
    const volume = this.#names.volume(name);
    const found = await this.#engine.ask((docker) => orGone(docker.getVolume(volume).inspect()));
    if (found && this.#names.isOurs(found.Labels)) await this.#remove(volume);
  }

  async removeVolumesOf(owner: string): Promise<void> {
    const label = Object.entries(this.#names.mark(owner)).map(([key, value]) => `${key}=${value}`);
    const { Volumes: found } = await this.#engine.ask((docker) =>
      docker.listVolumes({ filters: { label } }),
    );
    for (const { Name: name } of found) await this.#remove(name);
  }

  async #remove(volume: string): Promise<void> {
    try {
      await this.#engine.ask((docker) => orGone(docker.getVolume(volume).remove()));
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
      throw new ServiceError('CONFLICT', 'The volume is still in use.', { cause: error });
    }
  }

  async #ensure(network: string, alone: boolean): Promise<void> {
    const found = await this.#inspect(network);
    if (found && !(await this.#isUnfinished(found))) return;
    const wanted: Dockerode.NetworkCreateOptions = {
      Name: network,
      Driver: 'bridge',
      CheckDuplicate: true,
      Labels: { ...this.#names.mark(), [label.address]: 'own' },
      ...(alone && { Options: { 'com.docker.network.bridge.enable_icc': 'false' } }),
    };
    try {
      await this.#createInPool(wanted);
    } catch (error) {
      if (!/address pool/i.test(wordsOf(error))) throw error;
      await this.#createInSpare(wanted);
    }
  }

  /** Whether we ended while it was made, or an earlier version made it: nothing is in it. */
  async #isUnfinished({ Name: network, Labels: labels }: NetworkView): Promise<boolean> {
    return labels?.[label.address] === undefined && (await this.#users(network)).length === 0;
  }

  #users(network: string): Promise<Dockerode.ContainerInfo[]> {
    const filters = { network: [network] };
    return this.#engine.ask((docker) => docker.listContainers({ all: true, filters }));
  }

  /** The daemon knows which subnet is free here; that it is shared out, it has to be told. */
  async #createInPool(wanted: Dockerode.NetworkCreateOptions): Promise<void> {
    for (let tries = 1; ; tries++) {
      await this.#create({ ...wanted, Labels: this.#names.mark() });
      const made = await this.#inspect(wanted.Name);
      const subnet = made?.IPAM?.Config?.[0]?.Subnet;
      if (!made || subnet === undefined || made.Labels?.[label.address] !== undefined) return;
      await this.#engine.ask((docker) => orGone(docker.getNetwork(made.Id).remove()));
      try {
        await this.#create({ ...wanted, IPAM: sharedOut(subnet) });
        return;
      } catch (error) {
        // Somebody else took the subnet in between.
        if (tries >= triesMax || !wordsOf(error).includes('overlaps')) throw error;
      }
    }
  }

  async #createInSpare(wanted: Dockerode.NetworkCreateOptions): Promise<void> {
    for (let third = 0; third < spareSubnets.count; third++) {
      const subnet = `${spareSubnets.base}.${third}.0/24`;
      try {
        await this.#create({ ...wanted, IPAM: sharedOut(subnet) });
        return;
      } catch (error) {
        if (!wordsOf(error).includes('overlaps')) throw error;
      }
    }
    throw new ServiceError('OVERLOADED', 'The server has no address range left for a network.');
  }

  #inspect(network: string): Promise<NetworkView | undefined> {
    return this.#engine.ask((docker) => orGone(docker.getNetwork(network).inspect()));
  }

  async #create(wanted: Dockerode.NetworkCreateOptions): Promise<void> {
    try {
      await this.#engine.ask((docker) => docker.createNetwork({ ...wanted }));
    } catch (error) {
      // An answer was lost and it was asked for again, or another process of ours was quicker.
      if (statusOf(error) !== 409) throw error;
    }
  }
}
