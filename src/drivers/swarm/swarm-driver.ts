/** Owns the driver for services of a Docker swarm. */
import fs from 'node:fs';
import path from 'node:path';

import type { Driver, ServerInfo } from '../driver.ts';
import type { Workload } from '../../protocol/workload.ts';
import { daemonDriver, daemonGround } from '../docker/daemon-driver.ts';
import type { DaemonGround, DockerDriverOptions } from '../docker/daemon-driver.ts';
import { EventStream } from '../docker/engine/event-stream.ts';
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

/** This file exists once the kernel's balancer is loaded. A daemon in a swarm loads it. */
const balancerFile = '/proc/net/ip_vs';

export function createSwarmDriver(options: SwarmDriverOptions): SwarmDriver {
  const ground = daemonGround('swarm', options);
  const parts = swarmParts(options, ground);
  const { swarm, services, forwarding } = parts;
  const driver = daemonDriver(ground, services, watchingOf(ground, parts));
  return {
    ...driver,
    name: 'swarm',
    async open() {
      await driver.open();
      // The edge's runner runs the forwarder, so the edge is opened first.
      await forwarding.open();
    },
    check: () => swarm.check(),
    servers: () => swarm.servers(),
  };
}

type SwarmParts = ReturnType<typeof swarmParts>;

/** The parts that only services need. */
function swarmParts(options: SwarmDriverOptions, ground: DaemonGround) {
  const { dir, engine, names, listeners, logger } = ground;
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
    changed: (workload) => listeners.tell({ type: 'state', workload }),
  });
  return { swarm, services, forwarding, overlays };
}

function watchingOf(ground: DaemonGround, parts: SwarmParts): EventStream {
  const { services, forwarding, overlays } = parts;
  const { logger, listeners } = ground;
  const list = async (): Promise<Workload[]> => {
    const workloads = await services.list();
    forwarding.keep(new Set(workloads.map(({ spec }) => spec.id)));
    overlays.sweep().catch((error: unknown) => logger.debug({ err: error }, 'networks_not_swept'));
    return workloads;
  };
  const hearService = (serviceId: string, action: string): void => {
    services.refreshService(serviceId, action).catch((error: unknown) => {
      // When the daemon is back, the service is reported with all others.
      logger.debug({ err: error, service: serviceId }, 'swarm_event_not_followed');
    });
  };
  return new EventStream({
    ...ground,
    list,
    refresh: (id) => services.refresh(id),
    // The containers of tasks that ended long ago are removed, too.
    vanished: (_container, spec) => services.lookAfter(spec.id, 0),
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
