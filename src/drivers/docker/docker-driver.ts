/**
 * Owns the driver for containers of a Docker daemon.
 *
 * 1. All that matters after a restart is kept by the daemon (labels, logs, exit codes); the data
 *    directory holds only who ended what, why something never started, and where logs are counted.
 * 2. A daemon that is away is asked again until the time of the request is over; then
 *    AGENT_UNREACHABLE. LogFollow waits for it.
 * 3. What lacks our label is never touched: another Gangway may use the same daemon.
 */
import type { Driver } from '../driver.ts';
import { daemonDriver, daemonGround } from './daemon-driver.ts';
import type { DockerDriverOptions } from './daemon-driver.ts';
import { EventStream } from './engine/event-stream.ts';
import { Workloads } from './workloads/workloads.ts';

export type { DockerDriverOptions } from './daemon-driver.ts';

export function createDockerDriver(options: DockerDriverOptions): Driver {
  const ground = daemonGround('docker', options);
  const workloads = new Workloads({
    ...ground,
    changed: (workload) => ground.listeners.tell({ type: 'state', workload }),
  });
  const watching = new EventStream({
    ...ground,
    list: () => workloads.list(),
    refresh: (id) => workloads.refresh(id),
    vanished: (container, spec) => workloads.vanished(container, spec),
  });
  return {
    ...daemonDriver({ ground, workloads, watching }),
    name: 'docker',
    hidesApps: () => ground.networks.reachesContainers(),
  };
}
