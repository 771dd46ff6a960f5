/** Owns the driver for containers of a Docker daemon. */
import type { Driver } from '../driver.ts';
import { daemonDriver, daemonGround, type DockerDriverOptions } from './daemon-driver.ts';
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
    ...daemonDriver(ground, workloads, watching),
    name: 'docker',
    hidesApps: () => ground.networks.reachesContainers(),
  };
}
