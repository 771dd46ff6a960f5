/**
 * Owns what the drivers on a Docker daemon have in common, whether it runs containers or services.
 *
 * 1. All that matters after a restart is kept by the daemon (labels, logs, exit codes). The data directory
 *    holds only who ended what, why something never started, how often tasks were started again, and how
 *    entries of logs are numbered.
 * 2. A daemon that is away is asked again until the time of the request is over; then
 *    AGENT_UNREACHABLE. LogFollow waits for it.
 * 3. What lacks our label is never touched: another Gangway may use the same daemon.
 */
import path from 'node:path';

import { FreePorts } from '../../lib/processes/ports.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Driver } from '../driver.ts';
import type { Workload } from '../../protocol/workload.ts';
import { Consoles } from './consoles/consoles.ts';
import { LogFollow } from './logs/log-follow.ts';
import { MergeJournals } from './logs/merge-journal.ts';
import type { LogLimits } from './workloads/create-options.ts';
import type { DaemonWorkloads, Seen } from './workloads/daemon-workloads.ts';
import { EndNotes } from './workloads/end-notes.ts';
import { VolumeFiles } from './workloads/volume-files.ts';
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
  edge: Pick<Driver, 'open' | 'setRoutes' | 'setCertificates' | 'close'>;
  logger: Logger;
  clock?: Clock;
  /** Over all attempts of one request. Default 20 s. */
  requestTimeoutMs?: number;
  /** Of each container's log on the daemon's disk. Default 4 files of 32 MB. */
  log?: LogLimits;
  /** Of a container without a limit of its own. Default 4096. */
  defaultPids?: number;
}

export type DaemonGround = ReturnType<typeof daemonGround>;

export function daemonGround(name: 'docker' | 'swarm', options: DockerDriverOptions) {
  const { dataDir, edge, logger, socket, instance } = options;
  const { clock = systemClock, requestTimeoutMs = 20_000 } = options;
  if (!path.isAbsolute(dataDir)) {
    throw new Error(`Cannot make a driver of ${name}: dataDir must be absolute`);
  }
  const engine = new Engine({ socket, clock, requestTimeoutMs });
  const names = new Names(instance);
  const dir = path.join(dataDir, name);
  return {
    // Of the driver alone, in the data directory.
    dir,
    ...{ edge, logger, clock, engine, names },
    // The runtimes docker and swarm share their images.
    imageTags: new ImageTags(path.join(dataDir, 'docker'), names),
    networks: new Networks(engine, names),
    listeners: new EventListeners(logger),
    notes: new EndNotes(path.join(dir, 'workloads')),
    log: options.log ?? { fileMb: 32, files: 4 },
    defaultPids: options.defaultPids ?? 4096,
  };
}

function edgeCalls(
  edge: DockerDriverOptions['edge'],
): Pick<Driver, 'setRoutes' | 'setCertificates'> {
  return {
    setRoutes: (routes) => edge.setRoutes(routes),
    setCertificates: (certificates) => edge.setCertificates(certificates),
  };
}

/** A driver, but for what is done otherwise with containers than with services. */
export function daemonDriver(
  ground: DaemonGround,
  workloads: DaemonWorkloads<Seen>,
  watching: EventStream,
): Omit<Driver, 'name'> {
  const { dir, engine, networks, edge, listeners } = ground;
  const journals = new MergeJournals(path.join(dir, 'positions'));
  const ports = new FreePorts(ground.clock);
  const images = new DockerImages(ground);
  const volumes = new VolumeFiles(ground);
  const sessions = new OpenExecs(path.join(dir, 'sessions'));
  const consoles = new Consoles({ ...ground, workloads, sessions });
  const watch: Driver['watch'] = (listener) => listeners.add(listener);
  let closing = false;
  return {
    runs: 'image',
    ...{ images, volumes },
    async open() {
      await Promise.all([edge.open(), watching.begin()]);
      void consoles.endLeft();
      void images.open();
      volumes.open();
    },
    answers: (withinMs) => engine.answers(withinMs),
    async start(spec) {
      void watching.begin();
      const { container } = spec;
      if (container === null) return workloads.start(spec);
      const image = await images.tagOf(container.image);
      return workloads.start({ ...spec, container: { ...container, image } });
    },
    inspect: (id) => workloads.inspect(id),
    list: () => workloads.list(),
    stop: (id) => workloads.end(id, 'stopped'),
    async remove(id) {
      await workloads.remove(id);
      journals.forget(id);
    },
    watch,
    follow(id, afterSeq, sink, signal) {
      const own = { ...ground, journal: journals.of(id), look: () => workloads.logs(id) };
      const watchOne = (changed: () => void): (() => void) =>
        watch((event) => {
          if (event.type === 'state' && event.workload.spec.id === id) changed();
        });
      return new LogFollow({ ...own, watch: watchOne }, id, afterSeq, sink, signal).run();
    },
    acknowledge: (id, seq) => journals.of(id).acknowledge(seq),
    probe: (id) => probe(workloads, id),
    listeners: (id) => listenersOf(workloads, id),
    openTerminal: (id, spec, events) => consoles.openTerminal(id, spec, events),
    attach: (id, size, events) => consoles.attach(id, size, events),
    exec: (id, spec, signal) => consoles.exec(id, spec, signal),
    pipe: (id, spec, input, signal) => consoles.pipe(id, spec, input, signal),
    usage: (id) => usageOf(engine, workloads, id),
    removeVolume: (name) => networks.removeVolume(name),
    removeVolumesOf: (owner) => networks.removeVolumesOf(owner),
    freePort: async () => ports.next(portsOf(await workloads.list())),
    ...edgeCalls(edge),
    async close() {
      listeners.close();
      if (closing) return;
      closing = true;
      await consoles.close();
      engine.close();
      workloads.close();
      await edge.close();
    },
  };
}

/** Those of workloads that have not ended. */
function portsOf(workloads: readonly Workload[]): Set<number> {
  return new Set(
    workloads.flatMap(({ spec, state }) =>
      spec.port !== null && state.phase !== 'ended' ? [spec.port] : [],
    ),
  );
}
