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

import { ServiceError } from '../../lib/errors.ts';
import type { Driver, ServerInfo } from '../driver.ts';
import type { Usage, Workload } from '../../protocol/workload.ts';
import type { Listener } from '../../lib/processes/listening-sockets.ts';
import { DaemonDriver, daemonGround } from '../docker/daemon-driver.ts';
import type { DaemonGround, DockerDriverOptions } from '../docker/daemon-driver.ts';
import type { Sink } from '../docker/logs/log-follow.ts';
import { EndNotes } from '../docker/workloads/end-notes.ts';
import { EventStream } from '../docker/engine/event-stream.ts';
import type { Seen } from '../docker/workloads/workloads.ts';
import { Attention } from './attention.ts';
import { LogFollow } from './log-follow.ts';
import { Forwarding } from './forwarding.ts';
import { MergeJournals } from './merge-journal.ts';
import { Overlays } from './overlays.ts';
import { listenersOfService, probeService, usageOfService } from './probing.ts';
import { Restarts } from './restarts.ts';
import type { Publishing } from './service-spec.ts';
import { Services } from './services.ts';
import { isAlive } from './states.ts';
import { Swarm } from './swarm.ts';
import { containerOf } from './tasks.ts';

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
  return new ServicesDriver(options);
}

/** What there is for services alone. */
interface SwarmParts {
  swarm: Swarm;
  services: Services;
  attention: Attention;
  forwarding: Forwarding;
  overlays: Overlays;
}

class ServicesDriver extends DaemonDriver implements SwarmDriver {
  readonly name = 'swarm';
  readonly #ground: DaemonGround;
  readonly #parts: SwarmParts;
  readonly #journals: MergeJournals;

  constructor(options: SwarmDriverOptions) {
    const ground = daemonGround('swarm', options);
    const parts = swarmParts(options, ground);
    const { services, attention, swarm } = parts;
    const release = (): void => {
      services.close();
      attention.close();
    };
    super({
      ground,
      workloads: services,
      see: (id) => seeHere(swarm, services, id),
      watching: watchingOf(ground, parts),
      release,
    });
    this.#ground = ground;
    this.#parts = parts;
    this.#journals = new MergeJournals(path.join(ground.dir, 'positions'));
  }

  override async open(): Promise<void> {
    await super.open();
    // After the edge, whose runner runs it.
    await this.#parts.forwarding.open();
  }

  check(): Promise<'manager' | 'no-manager' | 'away'> {
    return this.#parts.swarm.check();
  }

  servers(): Promise<ServerInfo[]> {
    return this.#parts.swarm.servers();
  }

  stop(id: string): Promise<void> {
    return this.#parts.services.end(id, 'stopped');
  }

  async remove(id: string): Promise<void> {
    await this.#parts.services.remove(id);
    this.#parts.attention.drop(id);
    this.#journals.forget(id);
  }

  follow(id: string, afterSeq: number, sink: Sink, signal: AbortSignal): Promise<void> {
    const { services } = this.#parts;
    const parts = {
      ...this.#ground,
      journal: this.#journals.of(id),
      see: (workload: string) => services.see(workload),
      inspect: (workload: string) => this.inspect(workload),
      watch: (workload: string, changed: () => void) =>
        this.watch((event) => {
          if (event.type === 'state' && event.workload.spec.id === workload) changed();
        }),
    };
    return new LogFollow(parts, id, afterSeq, sink, signal).run();
  }

  acknowledge(id: string, seq: number): void {
    this.#journals.of(id).acknowledge(seq);
  }

  probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    return probeService(this.#parts.services, id);
  }

  listeners(id: string): Promise<Listener[]> {
    return listenersOfService(this.#parts.services, id);
  }

  usage(id: string): Promise<Usage | undefined> {
    return usageOfService(this.#parts.swarm, this.#parts.services, id);
  }
}

function swarmParts(options: SwarmDriverOptions, ground: DaemonGround): SwarmParts {
  const { dir, engine, names, networks, listeners, clock, logger } = ground;
  const swarm = new Swarm(engine, names);
  const overlays = new Overlays(engine, names, logger);
  const forwarding = new Forwarding({
    dir: path.join(dir, 'forwarding'),
    logger,
    run: options.runForwarder,
  });
  const services = new Services({
    ...ground,
    swarm,
    notes: new EndNotes(path.join(dir, 'workloads')),
    restarts: new Restarts(path.join(dir, 'restarts')),
    overlays,
    volumes: networks,
    publishing: () => Promise.resolve(options.publishing ?? publishingOfKernel()),
    forwarding,
    changed: (workload) => {
      attention.see(workload);
      listeners.tell({ type: 'state', workload });
    },
  });
  const attention = new Attention({
    clock,
    logger,
    refresh: (id) => services.refresh(id),
    isQuiet: (id) => services.isQuiet(id),
  });
  return { swarm, services, attention, forwarding, overlays };
}

function watchingOf(ground: DaemonGround, parts: SwarmParts): EventStream {
  const { services, attention, forwarding, overlays, swarm } = parts;
  const { logger, listeners } = ground;
  const list = async (): Promise<Workload[]> => {
    swarm.forgetOwnNode();
    const workloads = await services.list();
    for (const workload of workloads) attention.see(workload);
    forwarding.keep(new Set(workloads.map(({ spec }) => spec.id)));
    overlays.sweep().catch((error: unknown) => logger.debug({ err: error }, 'networks_not_swept'));
    return workloads;
  };
  const hearNode = (): void => {
    swarm.forgetOwnNode();
    attention.wakeAll();
    listeners.tell({ type: 'servers' });
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
    refresh: async (id) => {
      await services.refresh(id);
    },
    // Tasks that are long over go with their containers.
    vanished: (_container, spec) => attention.wake(spec.id),
    tell: (event) => listeners.tell(event),
    wider: {
      types: ['service', 'node'],
      hear: ({ Type: type, Action: action, Actor: actor }) => {
        if (type === 'node') hearNode();
        else hearService(actor.ID, action);
      },
    },
  });
}

/** The first task that runs on this node. */
async function seeHere(swarm: Swarm, services: Services, id: string): Promise<Seen | undefined> {
  const seen = await services.see(id);
  if (seen?.workload.state.phase !== 'running') return undefined;
  const alive = seen.tasks.filter((task) => isAlive(task, seen));
  const { known, workload } = seen;
  for (const task of alive) {
    const view = seen.containers.get(containerOf(task) ?? '');
    if (view) return { known, workload, view };
  }
  const [elsewhere] = alive;
  if (!elsewhere) return undefined;
  const node = (await swarm.nodes()).find(({ ID: nodeId }) => nodeId === elsewhere.NodeID);
  throw new ServiceError(
    'AGENT_UNREACHABLE',
    `It runs on the server ${node?.Description.Hostname ?? 'of another node'}, which is not reached from here.`,
  );
}

function publishingOfKernel(): Publishing {
  return fs.existsSync(balancerFile) ? 'ingress' : 'host';
}
