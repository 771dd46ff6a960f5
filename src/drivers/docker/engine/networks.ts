/**
 * Owns the networks and volumes of ours on a daemon.
 *
 * 1. A network is made when it is first needed, and removed with the last container in it.
 * 2. On the network of workloads without one of their own, containers cannot reach each other.
 * 3. A volume outlives what uses it. It is removed only on request.
 * 4. A container keeps an address of its own until it is removed, running or not.
 */
import fs from 'node:fs';

import type Dockerode from 'dockerode';

import { ServiceError } from '../../../lib/errors.ts';
import { type Engine, orGone, statusOf, wordsOf } from './engine.ts';
import { label, type Names } from './names.ts';
import { freeAddress, planOf } from './subnets.ts';
import { KeyedQueue } from '../../../lib/keyed-queue.ts';

/**
 * Tried in turn when the daemon's own pools are used up, which have room for some thirty networks by
 * default.
 */
const spareSubnets = { base: '10.214', count: 256 };
const triesMax = 5;

type NetworkView = Dockerode.NetworkInspectInfo;

function sharedOut(subnet: string): Dockerode.NetworkCreateOptions['IPAM'] {
  const { gateway, range } = planOf(subnet);
  return { Driver: 'default', Config: [{ Subnet: subnet, IPRange: range, Gateway: gateway }] };
}

/** Whether the bridge of a network is on this machine, so that its containers are reached from here. */
function isHere({ Id: id }: NetworkView): boolean {
  return fs.existsSync(`/sys/class/net/br-${id.slice(0, 12)}`);
}

export class Networks {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #turns = new KeyedQueue();

  constructor(engine: Engine, names: Names) {
    this.#engine = engine;
    this.#names = names;
  }

  /** Runs `work` while all these networks exist for certain. */
  withinAll<T>(all: readonly (string | null)[], work: () => Promise<T>): Promise<T> {
    const networks = all.map((name) => this.#names.network(name));
    return this.#turns.takeAll(networks, (network) => this.#ensure(network), work);
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
      // The request was sent twice, and the container is in the network already.
      if (!wordsOf(error).includes('already exists in network')) throw error;
    }
  }

  /**
   * An address for one more container of a network; call it within `withinAll`. Null where this machine
   * does not reach the network: the daemon is elsewhere, or has networks of its own.
   */
  async freeAddress(name: string | null): Promise<string | null> {
    const network = this.#names.network(name);
    const found = await this.#inspect(network);
    const subnet = found?.IPAM?.Config?.[0]?.Subnet;
    // Networks of earlier versions have no addresses to give.
    if (!found || subnet === undefined || found.Labels?.[label.address] === undefined) return null;
    if (!isHere(found)) return null;
    const users = await this.#users(network);
    const taken = new Set(users.flatMap(({ Labels: labels }) => labels[label.address] ?? []));
    return freeAddress(subnet, taken, Math.random());
  }

  /** Whether containers are reached at their own addresses from this machine. */
  async reachesContainers(): Promise<boolean> {
    await this.ensureAlone();
    const found = await this.#inspect(this.#names.network(null));
    return found !== undefined && isHere(found);
  }

  /** Makes the network of workloads without one of their own. It is never removed. */
  ensureAlone(): Promise<void> {
    return this.withinAll([null], () => Promise.resolve());
  }

  /** Removes a network when no container is in it any more, running or not. */
  async release(network: string): Promise<void> {
    // Builds use it, and may be between two containers.
    if (network === this.#names.network(null)) return;
    await this.#turns.take(network, async () => {
      if ((await this.#users(network)).length > 0) return;
      try {
        await this.#engine.ask((docker) => orGone(docker.getNetwork(network).remove()));
      } catch (error) {
        // Somebody put a container into it meanwhile: it stays.
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

  /** The names of all that were made for an owner. */
  async volumesOf(owner: string): Promise<string[]> {
    const prefix = this.#names.volume('');
    const all = (await this.#volumesOf(owner)).filter((volume) => volume.startsWith(prefix));
    return all.map((volume) => volume.slice(prefix.length));
  }

  async removeVolume(name: string): Promise<void> {
    const volume = this.#names.volume(name);
    const found = await this.#engine.ask((docker) => orGone(docker.getVolume(volume).inspect()));
    if (found && this.#names.isOurs(found.Labels)) await this.#remove(volume);
  }

  async removeVolumesOf(owner: string): Promise<void> {
    for (const volume of await this.#volumesOf(owner)) await this.#remove(volume);
  }

  async #volumesOf(owner: string): Promise<string[]> {
    const filters = { label: this.#names.markFilter(owner) };
    const { Volumes: found } = await this.#engine.ask((docker) => docker.listVolumes({ filters }));
    return found.map(({ Name: name }) => name);
  }

  async #remove(volume: string): Promise<void> {
    try {
      await this.#engine.ask((docker) => orGone(docker.getVolume(volume).remove()));
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
      throw new ServiceError('CONFLICT', 'The volume is still in use.', { cause: error });
    }
  }

  async #ensure(network: string): Promise<void> {
    const found = await this.#inspect(network);
    if (found && !(await this.#isUnfinished(found))) return;
    const alone = network === this.#names.network(null);
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

  /**
   * Whether it has to be made anew: a crash or an earlier version left it without its label, and
   * nothing is in it.
   */
  async #isUnfinished({ Name: network, Labels: labels }: NetworkView): Promise<boolean> {
    return labels?.[label.address] === undefined && (await this.#users(network)).length === 0;
  }

  #users(network: string): Promise<Dockerode.ContainerInfo[]> {
    const filters = { network: [network] };
    return this.#engine.ask((docker) => docker.listContainers({ all: true, filters }));
  }

  /**
   * The daemon finds a free subnet for a first network. It is removed and made again with this subnet,
   * of which the daemon may use one half.
   */
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
        // Somebody took the subnet in between.
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
      // The request was sent twice, or another process of ours was quicker.
      if (statusOf(error) !== 409) throw error;
    }
  }
}
