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
  Usage,
  Workload,
  WorkloadSpec,
} from '../../protocol/workload.ts';
import type { Listener } from '../../lib/processes/listening-sockets.ts';
import { Consoles } from './consoles/consoles.ts';
import { LogFollow } from './logs/log-follow.ts';
import type { Sink } from './logs/log-follow.ts';
import { MergeJournals } from './logs/merge-journal.ts';
import type { LogLimits } from './workloads/create-options.ts';
import type { DaemonWorkloads, Seen } from './workloads/daemon-workloads.ts';
import { EndNotes } from './workloads/end-notes.ts';
import { listenersOf, probe, usageOf } from './workloads/probing.ts';
import { Engine } from './engine/engine.ts';
import { ImageTags } from './images/image-tags.ts';
import { DockerImages } from './images/images.ts';
import { EventListeners } from '../event-listeners.ts';
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
  notes: EndNotes;
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
  const dir = path.join(dataDir, name);
  return {
    ...{ dir, edge, logger, clock, engine, names },
    // The runtimes docker and swarm share their images.
    imageTags: new ImageTags(path.join(dataDir, 'docker'), names),
    networks: new Networks(engine, names),
    listeners: new EventListeners(logger),
    notes: new EndNotes(path.join(dir, 'workloads')),
    log: options.log ?? { fileMb: 32, files: 4 },
    defaultPids: options.defaultPids ?? 4096,
  };
}

export interface DaemonParts {
  ground: DaemonGround;
  workloads: DaemonWorkloads<Seen>;
  watching: EventStream;
  /** Lets go of what else there is; called once. */
  release?: () => void;
}

/** A driver, but for what is done otherwise with containers than with services. */
export class DaemonDriver {
  readonly runs = 'image';
  readonly images: DockerImages;
  readonly #parts: DaemonParts;
  readonly #journals: MergeJournals;
  readonly #consoles: Consoles;
  readonly #ports: FreePorts;
  #closing = false;

  constructor(parts: DaemonParts) {
    const { ground, workloads } = parts;
    const { dir, clock } = ground;
    this.#parts = parts;
    this.#journals = new MergeJournals(path.join(dir, 'positions'));
    this.#ports = new FreePorts(clock);
    this.images = new DockerImages(ground);
    const sessions = new OpenExecs(path.join(dir, 'sessions'));
    this.#consoles = new Consoles({ ...ground, workloads, sessions });
  }

  async open(): Promise<void> {
    const { ground, watching } = this.#parts;
    await Promise.all([ground.edge.open(), watching.begin()]);
    void this.#consoles.endLeft();
    void this.images.open();
  }

  async answers(withinMs: number): Promise<boolean> {
    const asking = { timeoutMs: withinMs, once: true };
    return this.#parts.ground.engine
      .ask((docker) => docker.ping(), asking)
      .then(
        () => true,
        () => false,
      );
  }

  async start(spec: WorkloadSpec): Promise<Workload> {
    const { workloads, watching } = this.#parts;
    void watching.begin();
    const { container } = spec;
    if (container === null) return workloads.start(spec);
    const image = await this.images.tagOf(container.image);
    return workloads.start({ ...spec, container: { ...container, image } });
  }

  inspect(id: string): Promise<Workload | undefined> {
    return this.#parts.workloads.inspect(id);
  }

  list(): Promise<Workload[]> {
    return this.#parts.workloads.list();
  }

  stop(id: string): Promise<void> {
    return this.#parts.workloads.end(id, 'stopped');
  }

  async remove(id: string): Promise<void> {
    await this.#parts.workloads.remove(id);
    this.#journals.forget(id);
  }

  watch(listener: (event: DriverEvent) => void): () => void {
    return this.#parts.ground.listeners.add(listener);
  }

  follow(id: string, afterSeq: number, sink: Sink, signal: AbortSignal): Promise<void> {
    const { ground, workloads } = this.#parts;
    const parts = {
      ...ground,
      journal: this.#journals.of(id),
      look: () => workloads.logs(id),
      watch: (changed: () => void) =>
        this.watch((event) => {
          if (event.type === 'state' && event.workload.spec.id === id) changed();
        }),
    };
    return new LogFollow(parts, id, afterSeq, sink, signal).run();
  }

  acknowledge(id: string, seq: number): void {
    this.#journals.of(id).acknowledge(seq);
  }

  probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    return probe(this.#parts.workloads, id);
  }

  listeners(id: string): Promise<Listener[]> {
    return listenersOf(this.#parts.workloads, id);
  }

  usage(id: string): Promise<Usage | undefined> {
    return usageOf(this.#parts.ground.engine, this.#parts.workloads, id);
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
    return this.#parts.ground.networks.removeVolume(name);
  }

  removeVolumesOf(owner: string): Promise<void> {
    return this.#parts.ground.networks.removeVolumesOf(owner);
  }

  async freePort(): Promise<number> {
    const workloads = await this.list();
    const taken = workloads.flatMap(({ spec, state }) =>
      spec.port !== null && state.phase !== 'ended' ? [spec.port] : [],
    );
    return this.#ports.next(new Set(taken));
  }

  setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    return this.#parts.ground.edge.setRoutes(routes);
  }

  async close(): Promise<void> {
    const { ground, workloads, release } = this.#parts;
    ground.listeners.close();
    if (this.#closing) return;
    this.#closing = true;
    await this.#consoles.close();
    ground.engine.close();
    workloads.close();
    release?.();
    await ground.edge.close();
  }
}
