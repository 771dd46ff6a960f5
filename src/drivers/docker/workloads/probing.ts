/** Owns whether a workload listens where it should, and what it uses. */
import type Dockerode from 'dockerode';

import type { Usage } from '../../../protocol/workload.ts';
import type { Listener } from '../../../lib/processes/listening-sockets.ts';
import { type Engine, orGone, statusOf } from '../engine/engine.ts';
import { answersAt, isHere, listenersIn, listensIn } from '../engine/host-view.ts';
import type { DaemonWorkloads, Seen } from './daemon-workloads.ts';
import { type ContainerView, isPortTaken } from './states.ts';

type Seeing = Pick<DaemonWorkloads<Seen>, 'see' | 'inspect'>;

/**
 * Whether who connects to its port reaches a container that listens. The published port does not say: Docker's
 * own proxy takes connections there, whatever runs behind it.
 */
export async function probe(
  workloads: Seeing,
  id: string,
): Promise<'listening' | 'silent' | 'foreign'> {
  const seen = await workloads.see(id);
  if (seen?.workload.state.phase !== 'running') {
    const ended = seen?.workload ?? (await workloads.inspect(id));
    const exit = ended?.state.phase === 'ended' ? ended.state.exit : undefined;
    const taken = exit?.reason === 'failed_to_start' && isPortTaken(exit.detail ?? '');
    return taken ? 'foreign' : 'silent';
  }
  return (await reaches(seen)) ? 'listening' : 'silent';
}

async function reaches({ known: { innerPort }, running, forward }: Seen): Promise<boolean> {
  if (innerPort === null) return false;
  if (forward !== null) {
    // Who forwards may have found the port taken: then what answers there is somebody else, or nobody.
    return forward.targets.length > 0 && (await answersAt('127.0.0.1', forward.port));
  }
  // A balancer of the swarm leads to all of them alike, so one that does not listen yet would be reached, too.
  const answers = await Promise.all(running.map((view) => listens(view, innerPort)));
  return answers.length > 0 && !answers.includes(false);
}

/** Whether its program listens, on more than loopback. */
export async function listens(view: ContainerView, port: number): Promise<boolean> {
  const { Pid: pid } = view.State;
  if (isHere(pid, view.Id)) return listensIn(pid, port);
  for (const { IPAddress: address } of Object.values(view.NetworkSettings.Networks ?? {})) {
    if (address && (await answersAt(address, port))) return true;
  }
  return false;
}

/** Where its containers listen; empty where /proc does not show it. */
export async function listenersOf(workloads: Seeing, id: string): Promise<Listener[]> {
  const { running = [] } = (await workloads.see(id)) ?? {};
  const listeners = await Promise.all(
    running
      .filter(({ State: { Pid: pid }, Id: container }) => isHere(pid, container))
      .map(({ State: { Pid: pid } }) => listenersIn(pid)),
  );
  return listeners.flat();
}

/** Of its containers together; undefined where none of them runs. */
export async function usageOf(
  engine: Pick<Engine, 'ask'>,
  workloads: Seeing,
  id: string,
): Promise<Usage | undefined> {
  const { running = [] } = (await workloads.see(id)) ?? {};
  const usages = await Promise.all(running.map((view) => usageOfContainer(engine, view.Id)));
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

async function usageOfContainer(
  engine: Pick<Engine, 'ask'>,
  container: string,
): Promise<Usage | undefined> {
  try {
    const options = { stream: false, 'one-shot': true } as { stream: false };
    const stats = await engine.ask((docker) =>
      orGone(docker.getContainer(container).stats(options)),
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
