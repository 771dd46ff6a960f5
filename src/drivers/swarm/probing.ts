/** Owns whether tasks listen where they should, and what those on this node use. */
import type { Usage } from '../../protocol/workload.ts';
import type { Listener } from '../../lib/processes/listening-sockets.ts';
import { answersAt, isHere, listenersIn, listensIn } from '../docker/engine/host-view.ts';
import { usageOfContainer } from '../docker/workloads/probing.ts';
import { isPortTaken } from '../docker/workloads/states.ts';
import type { SeenService, Services } from './services.ts';
import { isAlive } from './states.ts';
import type { Swarm } from './swarm.ts';
import { containerOf, hasOwnPorts } from './tasks.ts';

type Probe = 'listening' | 'silent' | 'foreign';

const loopback = '127.0.0.1';

/**
 * Where the tasks are on this node, never asks the published port: Docker's own proxy accepts there
 * whatever runs behind it.
 */
export async function probeService(services: Services, id: string): Promise<Probe> {
  const seen = await services.see(id);
  if (seen?.workload.state.phase !== 'running') {
    const ended = seen?.workload ?? (await services.inspect(id));
    const exit = ended?.state.phase === 'ended' ? ended.state.exit : undefined;
    const taken = exit?.reason === 'failed_to_start' && isPortTaken(exit.detail ?? '');
    return taken ? 'foreign' : 'silent';
  }
  const { innerPort, port } = seen.known;
  if (innerPort === null || port === null) return 'silent';
  // Who forwards may have found the port taken: then what answers there is somebody else, or nobody.
  if (hasOwnPorts(seen.service) && !(await answersAt(loopback, port))) return 'silent';
  const here = containersHere(seen);
  if (here.length === 0) return (await answersAt(loopback, port)) ? 'listening' : 'silent';
  const answers = await Promise.all(
    here.map(async ({ State: state, Id: container, NetworkSettings: settings }) => {
      if (isHere(state.Pid, container)) return listensIn(state.Pid, innerPort);
      const addresses = Object.values(settings.Networks ?? {}).flatMap(
        ({ IPAddress: address }) => address || [],
      );
      const found = await Promise.all(addresses.map((address) => answersAt(address, innerPort)));
      return found.includes(true);
    }),
  );
  return answers.includes(true) ? 'listening' : 'silent';
}

/** Of the tasks on this node, where /proc shows them. */
export async function listenersOfService(services: Services, id: string): Promise<Listener[]> {
  const seen = await services.see(id);
  if (seen?.workload.state.phase !== 'running') return [];
  return containersHere(seen).flatMap(({ State: state, Id: container }) =>
    isHere(state.Pid, container) ? listenersIn(state.Pid) : [],
  );
}

/** Of all tasks on this node together; undefined where none of them runs here. */
export async function usageOfService(
  swarm: Swarm,
  services: Services,
  id: string,
): Promise<Usage | undefined> {
  const seen = await services.see(id);
  if (seen?.workload.state.phase !== 'running') return undefined;
  const usages = await Promise.all(
    containersHere(seen).map(({ Id: container }) => usageOfContainer(swarm, container)),
  );
  const known = usages.filter((usage) => usage !== undefined);
  return known.length === 0 ? undefined : known.reduce(plus);
}

function plus(a: Usage, b: Usage): Usage {
  const sum = (one: number | null, other: number | null): number | null =>
    one === null || other === null ? null : one + other;
  return {
    cpuNs: a.cpuNs + b.cpuNs,
    memoryBytes: a.memoryBytes + b.memoryBytes,
    networkInBytes: sum(a.networkInBytes, b.networkInBytes),
    networkOutBytes: sum(a.networkOutBytes, b.networkOutBytes),
  };
}

function containersHere(seen: SeenService) {
  return seen.tasks.flatMap((task) => {
    const view = seen.containers.get(containerOf(task) ?? '');
    return view && isAlive(task, seen) ? [view] : [];
  });
}
