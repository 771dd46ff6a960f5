/**
 * Owns the driver for containers of a Docker daemon: what it is made of, and who hears what.
 *
 * 1. All that matters after a restart is kept by the daemon (labels, logs, exit codes); the data
 *    directory holds only who ended what, why something never started, and where logs are counted.
 * 2. A daemon that is away is asked again until the time of the request is over; then
 *    AGENT_UNREACHABLE. Following waits for it.
 * 3. What lacks our label is never touched: another Gangway may use the same daemon.
 */
import path from 'node:path';

import { FreePorts } from '../../agent/runner/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
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
import { Consoles } from './consoles.ts';
import { Engine } from './engine.ts';
import { Following } from './following.ts';
import type { Sink } from './following.ts';
import { DockerImages } from './images.ts';
import { Names } from './names.ts';
import { Networks } from './networks.ts';
import { Notes } from './notes.ts';
import { Positions } from './positions.ts';
import { probeContainer, usageOf } from './probing.ts';
import { Sessions } from './sessions.ts';
import { Watching } from './watching.ts';
import { Workloads } from './workloads.ts';

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
  log?: { fileMb: number; files: number };
  /** Of a container without a limit of its own. Default 4096. */
  defaultPids?: number;
}

export function createDockerDriver(options: DockerDriverOptions): Driver {
  return new DockerDriver(options);
}

class DockerDriver implements Driver {
  readonly name = 'docker';
  readonly runs = 'image';
  readonly images: Images;
  readonly #edge: DockerDriverOptions['edge'];
  readonly #ports: FreePorts;
  readonly #logger: Logger;
  readonly #names: Names;
  readonly #engine: Engine;
  readonly #networks: Networks;
  readonly #positions: Positions;
  readonly #workloads: Workloads;
  readonly #watching: Watching;
  readonly #consoles: Consoles;
  #closing = false;
  readonly #listeners = new Set<(event: DriverEvent) => void>();

  constructor(options: DockerDriverOptions) {
    const { dataDir, logger, clock = systemClock } = options;
    if (!path.isAbsolute(dataDir)) {
      throw new Error('Cannot make a Docker driver: dataDir must be absolute');
    }
    const dir = path.join(dataDir, 'docker');
    const { socket, requestTimeoutMs = 20_000 } = options;
    const engine = new Engine({ socket, clock, requestTimeoutMs });
    const names = new Names(options.instance);
    const networks = new Networks(engine, names);
    const tell = (event: DriverEvent): void => {
      this.#tell(event);
    };
    const workloads = new Workloads({
      engine,
      names,
      notes: new Notes(path.join(dir, 'workloads')),
      networks,
      clock,
      logger,
      log: options.log ?? { fileMb: 32, files: 4 },
      defaultPids: options.defaultPids ?? 4096,
      changed: (workload) => {
        tell({ type: 'state', workload });
      },
    });
    this.#edge = options.edge;
    this.#ports = new FreePorts(clock);
    this.#logger = logger;
    this.#names = names;
    this.#engine = engine;
    this.#networks = networks;
    this.#workloads = workloads;
    this.#positions = new Positions(path.join(dir, 'positions'), clock);
    this.#watching = new Watching({
      engine,
      names,
      logger,
      list: () => workloads.list(),
      refresh: (id) => workloads.refresh(id),
      vanished: (container, spec) => {
        workloads.vanished(container, spec);
      },
      tell,
    });
    this.images = new DockerImages({ engine, names, networks, clock, logger });
    this.#consoles = new Consoles({
      engine,
      workloads,
      sessions: new Sessions(path.join(dir, 'sessions')),
      logger,
      clock,
    });
  }

  async open(): Promise<void> {
    await Promise.all([this.#edge.open(), this.#watching.begin()]);
    void this.#consoles.endLeft();
  }

  async start(spec: WorkloadSpec): Promise<Workload> {
    void this.#watching.begin();
    return this.#workloads.start(spec);
  }

  inspect(id: string): Promise<Workload | undefined> {
    return this.#workloads.inspect(id);
  }

  list(): Promise<Workload[]> {
    return this.#workloads.list();
  }

  stop(id: string): Promise<void> {
    return this.#workloads.stop(id);
  }

  async remove(id: string): Promise<void> {
    await this.#workloads.remove(id);
    this.#positions.forget(id);
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
      names: this.#names,
      positions: this.#positions,
      logger: this.#logger,
      inspect: (workload: string) => this.inspect(workload),
      hasTerminal: async (workload: string) =>
        (await this.#workloads.view(workload))?.Config.Tty ?? false,
      nextChange: (workload: string, until: AbortSignal) => this.#nextChange(workload, until),
    };
    return new Following(parts, id, afterSeq, sink, signal).run();
  }

  acknowledge(id: string, seq: number): void {
    this.#positions.acknowledge(id, seq);
  }

  probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    return probeContainer(this.#workloads, id);
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
    return usageOf(this.#engine, this.#names, this.#workloads, id);
  }

  removeVolume(name: string): Promise<void> {
    return this.#networks.removeVolume(name);
  }

  removeVolumesOf(owner: string): Promise<void> {
    return this.#networks.removeVolumesOf(owner);
  }

  async freePort(): Promise<number> {
    const workloads = await this.#workloads.list();
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
    this.#workloads.close();
    this.#positions.close();
    await this.#edge.close();
  }

  #nextChange(id: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const stop = this.watch((event) => {
        if (event.type === 'state' && event.workload.spec.id === id) done();
      });
      if (signal.aborted) done();
      else signal.addEventListener('abort', done);
    });
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
