/** Owns whether a container listens where it should, and what it uses. */
import type Dockerode from 'dockerode';

import type { Usage } from '../../../protocol/workload.ts';
import type { Listener } from '../../../lib/processes/listening-sockets.ts';
import { orGone, statusOf } from '../engine/engine.ts';
import type { Engine } from '../engine/engine.ts';
import { answersAt, isHere, listenersIn, listensIn } from '../engine/host-view.ts';
import type { Names } from '../engine/names.ts';
import { isPortTaken } from './states.ts';
import type { Workloads } from './workloads.ts';

/**
 * Whether the container listens. The published port is never asked: Docker's own proxy takes
 * connections there, whatever runs behind it.
 */
export async function probeContainer(
  workloads: Workloads,
  id: string,
): Promise<'listening' | 'silent' | 'foreign'> {
  const seen = await workloads.see(id);
  if (seen?.workload.state.phase !== 'running') {
    const ended = seen?.workload ?? (await workloads.inspect(id));
    const exit = ended?.state.phase === 'ended' ? ended.state.exit : undefined;
    const taken = exit?.reason === 'failed_to_start' && isPortTaken(exit.detail ?? '');
    return taken ? 'foreign' : 'silent';
  }
  const { view, known } = seen;
  if (known.innerPort === null) return 'silent';
  const { Pid: pid } = view.State;
  if (isHere(pid, view.Id)) return listensIn(pid, known.innerPort) ? 'listening' : 'silent';
  for (const { IPAddress: address } of Object.values(view.NetworkSettings.Networks ?? {})) {
    if (address && (await answersAt(address, known.innerPort))) return 'listening';
  }
  return 'silent';
}

/** Where the container listens; empty where /proc does not show it. */
export async function listenersOfContainer(workloads: Workloads, id: string): Promise<Listener[]> {
  const seen = await workloads.see(id);
  if (seen?.workload.state.phase !== 'running') return [];
  const { Id: container, State: state } = seen.view;
  return isHere(state.Pid, container) ? listenersIn(state.Pid) : [];
}

export async function usageOf(
  engine: Engine,
  names: Names,
  workloads: Workloads,
  id: string,
): Promise<Usage | undefined> {
  if ((await workloads.see(id))?.workload.state.phase !== 'running') return undefined;
  return usageOfContainer(engine, names.container(id));
}

/** Undefined for a container that does not run. `container`: its name or id. */
export async function usageOfContainer(
  engine: Pick<Engine, 'ask'>,
  container: string,
): Promise<Usage | undefined> {
  try {
    const stats = await engine.ask((docker) =>
      orGone(
        docker
          .getContainer(container)
          .stats({ stream: false, 'one-shot': true } as { stream: false }),
      ),
    );
    return stats && usageFrom(stats);
  } catch (error) {
    if (statusOf(error) === 409) return undefined; // It ended meanwhile.
    throw error;
  }
}

/** Memory that the kernel could take back at once does not count as used. */
export function usageFrom(stats: Dockerode.ContainerStats): Usage | undefined {
  const { usage, stats: memory } = stats.memory_stats as Partial<Dockerode.MemoryStats>;
  if (usage === undefined) return undefined;
  const cache = memory as Partial<Record<string, number>> | undefined;
  const idle = cache?.['total_inactive_file'] ?? cache?.['inactive_file'] ?? 0;
  const networks = Object.values((stats.networks as typeof stats.networks | undefined) ?? {});
  const sum = (key: 'rx_bytes' | 'tx_bytes'): number | null =>
    networks.length === 0 ? null : networks.reduce((total, network) => total + network[key], 0);
  return {
    cpuNs: stats.cpu_stats.cpu_usage.total_usage,
    memoryBytes: Math.max(0, usage - idle),
    networkInBytes: sum('rx_bytes'),
    networkOutBytes: sum('tx_bytes'),
  };
}
