/**
 * Owns the driver for services of a Docker swarm: what it is made of, and who hears what.
 *
 * 1. All that matters after a restart is kept by the swarm (labels, tasks, logs); the data directory
 *    holds only who ended what, why something never started, how often something was started again,
 *    and in which order logs of several tasks were merged.
 * 2. A daemon that is away is asked again until the time of the request is over; then
 *    AGENT_UNREACHABLE. Following waits for it.
 * 3. What lacks our label is never touched: others may use the same swarm.
 */
import fs from 'node:fs';
import path from 'node:path';

import { FreePorts } from '../../agent/runner/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type {
  Driver,
  DriverEvent,
  EdgeRoute,
  ExecOutcome,
  ExecSpec,
  Images,
  Terminal,
  TerminalEvents,
  TerminalSpec,
  Usage,
  Workload,
  WorkloadSpec,
} from '../driver.ts';
import { Consoles } from '../docker/consoles.ts';
import type { DockerDriverOptions } from '../docker/docker-driver.ts';
import { Engine } from '../docker/engine.ts';
import type { Sink } from '../docker/following.ts';
import { DockerImages } from '../docker/images.ts';
import { Names } from '../docker/names.ts';
import { Networks } from '../docker/networks.ts';
import { Notes } from '../docker/notes.ts';
import { Sessions } from '../docker/sessions.ts';
import { Watching } from '../docker/watching.ts';
import type { Seen } from '../docker/workloads.ts';
import { Attention } from './attention.ts';
import { Following } from './following.ts';
import { Forwarding } from './forwarding.ts';
import { MergeJournals } from './merge-journal.ts';
import { Overlays } from './overlays.ts';
import { probeService, usageOfService } from './probing.ts';
import { Restarts } from './restarts.ts';
import type { Publishing } from './service-spec.ts';
import { Services } from './services.ts';
import { isAlive } from './states.ts';
import { Swarm } from './swarm.ts';
import type { SwarmNode } from './swarm.ts';
import { containerOf } from './tasks.ts';

export type { SwarmNode } from './swarm.ts';

export interface SwarmDriverOptions extends DockerDriverOptions {
  /** Default: `ingress` where the kernel can balance, else `host`. */
  publishing?: Publishing;
  /** Makes sure that `src/agent/forwarding` runs with this table, beside Gangway. */
  runForwarder: (table: string) => Promise<void>;
}

export interface SwarmDriver extends Driver {
  /** The servers of the swarm. */
  nodes(): Promise<SwarmNode[]>;
  /** What the daemon is at this moment. */
  check(): Promise<'manager' | 'no-manager' | 'away'>;
}

/** There once the kernel's balancer is loaded, which a daemon in a swarm does. */
const balancerFile = '/proc/net/ip_vs';

export function createSwarmDriver(options: SwarmDriverOptions): SwarmDriver {
  return new ServicesDriver(options);
}

class ServicesDriver implements SwarmDriver {
  readonly name = 'swarm';
  readonly runs = 'image';
  readonly images: Images;
  readonly #edge: DockerDriverOptions['edge'];
  readonly #ports: FreePorts;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #engine: Engine;
  readonly #swarm: Swarm;
  readonly #volumes: Networks;
  readonly #journals: MergeJournals;
  readonly #services: Services;
  readonly #overlays: Overlays;
  readonly #attention: Attention;
  readonly #forwarding: Forwarding;
  readonly #watching: Watching;
  readonly #consoles: Consoles;
  #closing = false;
  readonly #listeners = new Set<(event: DriverEvent) => void>();

  constructor(options: SwarmDriverOptions) {
    const { dataDir, logger, clock = systemClock } = options;
    if (!path.isAbsolute(dataDir)) {
      throw new Error('Cannot make a swarm driver: dataDir must be absolute');
    }
    const dir = path.join(dataDir, 'swarm');
    const { socket, requestTimeoutMs = 20_000 } = options;
    const engine = new Engine({ socket, clock, requestTimeoutMs });
    const names = new Names(options.instance);
    const swarm = new Swarm(engine, names);
    const overlays = new Overlays(engine, names, logger);
    const volumes = new Networks(engine, names);
    this.#forwarding = new Forwarding({
      dir: path.join(dir, 'forwarding'),
      logger,
      run: options.runForwarder,
    });
    const services = new Services({
      engine,
      swarm,
      names,
      notes: new Notes(path.join(dir, 'workloads')),
      restarts: new Restarts(path.join(dir, 'restarts')),
      overlays,
      volumes,
      publishing: () => Promise.resolve(options.publishing ?? publishingOfKernel()),
      clock,
      logger,
      log: options.log ?? { fileMb: 32, files: 4 },
      defaultPids: options.defaultPids ?? 4096,
      forwarding: this.#forwarding,
      changed: (workload) => {
        this.#attention.see(workload);
        this.#tell({ type: 'state', workload });
      },
    });
    this.#edge = options.edge;
    this.#ports = new FreePorts(clock);
    this.#logger = logger;
    this.#clock = clock;
    this.#engine = engine;
    this.#swarm = swarm;
    this.#overlays = overlays;
    this.#volumes = volumes;
    this.#services = services;
    this.#journals = new MergeJournals(path.join(dir, 'positions'));
    this.#attention = new Attention({
      clock,
      logger,
      refresh: (id) => services.refresh(id),
      isQuiet: (id) => services.isQuiet(id),
    });
    this.#watching = this.#watch(engine, names, services);
    this.images = new DockerImages({ engine, names, networks: volumes, clock, logger });
    this.#consoles = new Consoles({
      engine,
      workloads: { see: (id) => this.#seeHere(id) },
      sessions: new Sessions(path.join(dir, 'sessions')),
      logger,
      clock,
    });
  }

  async open(): Promise<void> {
    await Promise.all([this.#edge.open(), this.#watching.begin()]);
    // After the edge, whose runner runs it.
    await this.#forwarding.open();
    void this.#consoles.endLeft();
  }

  check(): Promise<'manager' | 'no-manager' | 'away'> {
    return this.#swarm.check();
  }

  nodes(): Promise<SwarmNode[]> {
    return this.#swarm.nodes();
  }

  async start(spec: WorkloadSpec): Promise<Workload> {
    void this.#watching.begin();
    return this.#services.start(spec);
  }

  inspect(id: string): Promise<Workload | undefined> {
    return this.#services.inspect(id);
  }

  list(): Promise<Workload[]> {
    return this.#services.list();
  }

  stop(id: string): Promise<void> {
    return this.#services.end(id, 'stopped');
  }

  async remove(id: string): Promise<void> {
    await this.#services.remove(id);
    this.#attention.drop(id);
    this.#journals.forget(id);
  }

  watch(listener: (event: DriverEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  follow(id: string, afterSeq: number, sink: Sink, signal: AbortSignal): Promise<void> {
    const parts = {
      engine: this.#engine,
      journal: this.#journals.of(id),
      logger: this.#logger,
      clock: this.#clock,
      see: (workload: string) => this.#services.see(workload),
      inspect: (workload: string) => this.#services.inspect(workload),
      watch: (workload: string, changed: () => void) =>
        this.watch((event) => {
          if (event.type === 'state' && event.workload.spec.id === workload) changed();
        }),
    };
    return new Following(parts, id, afterSeq, sink, signal).run();
  }

  acknowledge(id: string, seq: number): void {
    this.#journals.of(id).acknowledge(seq);
  }

  probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    return probeService(this.#services, id);
  }

  openTerminal(id: string, spec: TerminalSpec, events: TerminalEvents): Promise<Terminal> {
    return this.#consoles.openTerminal(id, spec, events);
  }

  attach(
    id: string,
    spec: Omit<TerminalSpec, 'command' | 'env'>,
    events: TerminalEvents,
  ): Promise<Terminal> {
    return this.#consoles.attach(id, spec, events);
  }

  exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecOutcome> {
    return this.#consoles.exec(id, spec, signal);
  }

  usage(id: string): Promise<Usage | undefined> {
    return usageOfService(this.#swarm, this.#services, id);
  }

  removeVolume(name: string): Promise<void> {
    return this.#volumes.removeVolume(name);
  }

  removeVolumesOf(owner: string): Promise<void> {
    return this.#volumes.removeVolumesOf(owner);
  }

  async freePort(): Promise<number> {
    const workloads = await this.#services.list();
    const taken = workloads.flatMap(({ spec, state }) =>
      spec.port !== null && state.phase !== 'ended' ? [spec.port] : [],
    );
    return this.#ports.next(new Set(taken));
  }

  setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    return this.#edge.setRoutes(routes);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    if (this.#closing) return;
    this.#closing = true;
    await this.#consoles.close();
    this.#engine.close();
    this.#services.close();
    this.#attention.close();
    await this.#edge.close();
  }

  #watch(engine: Engine, names: Names, services: Services): Watching {
    const list = async (): Promise<Workload[]> => {
      const workloads = await services.list();
      for (const workload of workloads) this.#attention.see(workload);
      this.#forwarding.keep(new Set(workloads.map(({ spec }) => spec.id)));
      void this.#sweep();
      return workloads;
    };
    const refresh = async (id: string): Promise<void> => {
      await services.refresh(id);
    };
    return new Watching({
      engine,
      names,
      logger: this.#logger,
      list,
      refresh,
      // Tasks that are long over go with their containers.
      vanished: (_container, spec) => {
        this.#attention.wake(spec.id);
      },
      tell: (event) => {
        this.#tell(event);
      },
      wider: {
        types: ['service', 'node'],
        hear: ({ Type: type, Action: action, Actor: actor }) => {
          if (type === 'node') this.#attention.wakeAll();
          else this.#hearService(actor.ID, action);
        },
      },
    });
  }

  #hearService(serviceId: string, action: string): void {
    this.#services.refreshService(serviceId, action).catch((error: unknown) => {
      // Told again, with all others, when the daemon is back.
      this.#logger.debug({ err: error, service: serviceId }, 'swarm-event-not-followed');
    });
  }

  async #sweep(): Promise<void> {
    try {
      await this.#overlays.sweep();
    } catch (error) {
      this.#logger.debug({ err: error }, 'networks-not-swept');
    }
  }

  /** The first task that runs on this node. */
  async #seeHere(id: string): Promise<Seen | undefined> {
    const seen = await this.#services.see(id);
    if (seen?.workload.state.phase !== 'running') return undefined;
    const alive = seen.tasks.filter((task) => isAlive(task, seen));
    const { known, workload } = seen;
    for (const task of alive) {
      const view = seen.containers.get(containerOf(task) ?? '');
      if (view) return { known, workload, view };
    }
    const [elsewhere] = alive;
    if (!elsewhere) return undefined;
    const node = (await this.#swarm.nodes()).find((one) => one.id === elsewhere.NodeID);
    throw new ServiceError(
      'AGENT_UNREACHABLE',
      `It runs on the server ${node?.hostname ?? 'of another node'}, which is not reached from here.`,
    );
  }

  #tell(event: DriverEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.error({ err: error }, 'driver-listener-failed');
      }
    }
  }
}

function publishingOfKernel(): Publishing {
  return fs.existsSync(balancerFile) ? 'ingress' : 'host';
}
