/**
 * Owns what the drivers on a Docker daemon have in common, whether it runs containers or services: the
 * edge, images, consoles, volumes, and who hears what.
 */
import path from 'node:path';

import { FreePorts } from '../../lib/processes/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Driver, DriverEvent, Terminal, TerminalEvents } from '../driver.ts';
import type {
  EdgeRoute,
  ExecOutcome,
  ExecSpec,
  TerminalSpec,
  Workload,
  WorkloadSpec,
} from '../../protocol/workload.ts';
import { Consoles } from './consoles/consoles.ts';
import type { ConsolesParts } from './consoles/consoles.ts';
import type { LogLimits } from './workloads/create-options.ts';
import { Engine } from './engine/engine.ts';
import { ImageTags } from './images/image-tags.ts';
import { DockerImages } from './images/images.ts';
import { EventListeners } from './engine/event-listeners.ts';
import { Names } from './engine/names.ts';
import { Networks } from './engine/networks.ts';
import { OpenExecs } from './consoles/open-execs.ts';
import type { EventStream } from './engine/event-stream.ts';

export interface DockerDriverOptions {
  /** `/path/of.sock`, `unix:///path/of.sock` or `tcp://host:port`. */
  socket: string;
  /** Absolute. */
  dataDir: string;
  /** Of the data directory, the same as long as it lives, known to nobody else; `[a-z0-9-]+`. */
  instance: string;
  /** What serves the apps' host names; opened and closed with the driver. */
  edge: Pick<Driver, 'open' | 'setRoutes' | 'close'>;
  logger: Logger;
  clock?: Clock;
  /** Over all attempts of one request. Default 20 s. */
  requestTimeoutMs?: number;
  /** Of each container's log on the daemon's disk. Default 4 files of 32 MB. */
  log?: LogLimits;
  /** Of a container without a limit of its own. Default 4096. */
  defaultPids?: number;
}

/** What such a driver is made of, whatever it runs. */
export interface DaemonGround {
  /** Of the driver alone, in the data directory. */
  dir: string;
  edge: DockerDriverOptions['edge'];
  logger: Logger;
  clock: Clock;
  engine: Engine;
  names: Names;
  imageTags: ImageTags;
  networks: Networks;
  listeners: EventListeners;
  log: LogLimits;
  defaultPids: number;
}

export function daemonGround(name: string, options: DockerDriverOptions): DaemonGround {
  const { dataDir, edge, logger, socket, instance } = options;
  const { clock = systemClock, requestTimeoutMs = 20_000 } = options;
  if (!path.isAbsolute(dataDir)) {
    throw new Error(`Cannot make a driver of ${name}: dataDir must be absolute`);
  }
  const engine = new Engine({ socket, clock, requestTimeoutMs });
  const names = new Names(instance);
  return {
    dir: path.join(dataDir, name),
    ...{ edge, logger, clock, engine, names },
    // The runtimes docker and swarm share their images.
    imageTags: new ImageTags(path.join(dataDir, 'docker'), names),
    networks: new Networks(engine, names),
    listeners: new EventListeners(logger),
    log: options.log ?? { fileMb: 32, files: 4 },
    defaultPids: options.defaultPids ?? 4096,
  };
}

export interface DaemonParts {
  ground: DaemonGround;
  workloads: Pick<Driver, 'start' | 'inspect' | 'list'>;
  /** The container that its consoles are in. */
  see: ConsolesParts['workloads']['see'];
  watching: EventStream;
  /** Lets go of what else there is; called once. */
  release: () => void;
}

/** A driver, but for what is done otherwise with containers than with services. */
export class DaemonDriver {
  readonly runs = 'image';
  readonly images: DockerImages;
  readonly #ground: DaemonGround;
  readonly #workloads: DaemonParts['workloads'];
  readonly #watching: EventStream;
  readonly #consoles: Consoles;
  readonly #ports: FreePorts;
  readonly #release: () => void;
  #closing = false;

  constructor({ ground, workloads, see, watching, release }: DaemonParts) {
    const { dir, engine, clock, logger } = ground;
    this.#ground = ground;
    this.#workloads = workloads;
    this.#watching = watching;
    this.#release = release;
    this.#ports = new FreePorts(clock);
    this.images = new DockerImages(ground);
    const sessions = new OpenExecs(path.join(dir, 'sessions'));
    this.#consoles = new Consoles({ engine, workloads: { see }, sessions, logger, clock });
  }

  async open(): Promise<void> {
    await Promise.all([this.#ground.edge.open(), this.#watching.begin()]);
    void this.#consoles.endLeft();
    void this.images.open();
  }

  async answers(withinMs: number): Promise<boolean> {
    const asking = { timeoutMs: withinMs, once: true };
    return this.#ground.engine
      .ask((docker) => docker.ping(), asking)
      .then(
        () => true,
        () => false,
      );
  }

  async start(spec: WorkloadSpec): Promise<Workload> {
    void this.#watching.begin();
    const { container } = spec;
    if (container === null) return this.#workloads.start(spec);
    const image = await this.images.tagOf(container.image);
    return this.#workloads.start({ ...spec, container: { ...container, image } });
  }

  inspect(id: string): Promise<Workload | undefined> {
    return this.#workloads.inspect(id);
  }

  list(): Promise<Workload[]> {
    return this.#workloads.list();
  }

  watch(listener: (event: DriverEvent) => void): () => void {
    return this.#ground.listeners.add(listener);
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

  removeVolume(name: string): Promise<void> {
    return this.#ground.networks.removeVolume(name);
  }

  removeVolumesOf(owner: string): Promise<void> {
    return this.#ground.networks.removeVolumesOf(owner);
  }

  async freePort(): Promise<number> {
    const workloads = await this.list();
    const taken = workloads.flatMap(({ spec, state }) =>
      spec.port !== null && state.phase !== 'ended' ? [spec.port] : [],
    );
    return this.#ports.next(new Set(taken));
  }

  setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    return this.#ground.edge.setRoutes(routes);
  }

  async close(): Promise<void> {
    const { listeners, engine, edge } = this.#ground;
    listeners.close();
    if (this.#closing) return;
    this.#closing = true;
    await this.#consoles.close();
    engine.close();
    this.#release();
    await edge.close();
  }
}
