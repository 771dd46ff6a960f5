/**
 * Owns the driver for services of a Docker swarm.
 *
 * 1. All that matters after a restart is kept by the swarm (labels, tasks, logs); the data directory
 *    holds only who ended what, why something never started, how often something was started again,
 *    and in which order logs of several tasks were merged.
 * 2. A daemon that is away is asked again until the time of the request is over; then
 *    AGENT_UNREACHABLE. LogFollow waits for it.
 * 3. What lacks our label is never touched: others may use the same swarm.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Driver, ServerInfo } from '../driver.ts';
import type { Workload } from '../../protocol/workload.ts';
import { daemonDriver, daemonGround } from '../docker/daemon-driver.ts';
import type { DaemonGround, DockerDriverOptions } from '../docker/daemon-driver.ts';
import { EventStream } from '../docker/engine/event-stream.ts';
import { Attention } from './attention.ts';
import { Forwarding } from './forwarding.ts';
import { Overlays } from './overlays.ts';
import { Restarts } from './restarts.ts';
import type { Publishing } from './service-spec.ts';
import { Services } from './services.ts';
import { Swarm } from './swarm.ts';

export interface SwarmDriverOptions extends DockerDriverOptions {
  /** Default: `ingress` where the kernel can balance, else `host`. */
  publishing?: Publishing;
  /** Makes sure that `src/programs/forwarding` runs with this table, beside Gangway. */
  runForwarder: (table: string) => Promise<void>;
}

export interface SwarmDriver extends Driver {
  /** The nodes of the swarm. */
  servers(): Promise<ServerInfo[]>;
  /** What the daemon is at this moment. */
  check(): Promise<'manager' | 'no-manager' | 'away'>;
}

/** There once the kernel's balancer is loaded, which a daemon in a swarm does. */
const balancerFile = '/proc/net/ip_vs';

export function createSwarmDriver(options: SwarmDriverOptions): SwarmDriver {
  const ground = daemonGround('swarm', options);
  const parts = swarmParts(options, ground);
  const { swarm, services, attention, forwarding } = parts;
  const watching = watchingOf(ground, parts);
  const release = (): void => attention.close();
  const driver = daemonDriver({ ground, workloads: services, watching, release });
  return {
    ...driver,
    name: 'swarm',
    async open() {
      await driver.open();
      // After the edge, whose runner runs it.
      await forwarding.open();
    },
    check: () => swarm.check(),
    servers: () => swarm.servers(),
    async remove(id) {
      await driver.remove(id);
      attention.drop(id);
    },
  };
}

type SwarmParts = ReturnType<typeof swarmParts>;

/** What there is for services alone. */
function swarmParts(options: SwarmDriverOptions, ground: DaemonGround) {
  const { dir, engine, names, listeners, clock, logger } = ground;
  const swarm = new Swarm(engine, names);
  const overlays = new Overlays(engine, names, logger);
  const forwarding = new Forwarding({
    dir: path.join(dir, 'forwarding'),
    logger,
    run: options.runForwarder,
  });
  const services = new Services({
    ...{ ...ground, swarm, overlays, forwarding },
    restarts: new Restarts(path.join(dir, 'restarts')),
    publishing: () => options.publishing ?? publishingOfKernel(),
    changed: (workload) => {
      attention.see(workload);
      listeners.tell({ type: 'state', workload });
    },
  });
  const attention = new Attention({
    clock,
    logger,
    refresh: (id) => services.refresh(id),
    isPortless: (id) => services.isPortless(id),
  });
  return { swarm, services, attention, forwarding, overlays };
}

function watchingOf(ground: DaemonGround, parts: SwarmParts): EventStream {
  const { services, attention, forwarding, overlays } = parts;
  const { logger, listeners } = ground;
  const list = async (): Promise<Workload[]> => {
    const workloads = await services.list();
    for (const workload of workloads) attention.see(workload);
    forwarding.keep(new Set(workloads.map(({ spec }) => spec.id)));
    overlays.sweep().catch((error: unknown) => logger.debug({ err: error }, 'networks_not_swept'));
    return workloads;
  };
  const hearService = (serviceId: string, action: string): void => {
    services.refreshService(serviceId, action).catch((error: unknown) => {
      // Told again, with all others, when the daemon is back.
      logger.debug({ err: error, service: serviceId }, 'swarm_event_not_followed');
    });
  };
  return new EventStream({
    ...ground,
    list,
    refresh: (id) => services.refresh(id),
    // Tasks that are long over go with their containers.
    vanished: (_container, spec) => attention.wake(spec.id),
    wider: {
      types: ['service', 'node'],
      hear: ({ Type: type, Action: action, Actor: actor }) => {
        if (type === 'node') listeners.tell({ type: 'servers' });
        else hearService(actor.ID, action);
      },
    },
  });
}

function publishingOfKernel(): Publishing {
  return fs.existsSync(balancerFile) ? 'ingress' : 'host';
}
