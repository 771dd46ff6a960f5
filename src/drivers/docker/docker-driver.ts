/**
 * Owns the driver for containers of a Docker daemon.
 *
 * 1. All that matters after a restart is kept by the daemon (labels, logs, exit codes); the data
 *    directory holds only who ended what, why something never started, and where logs are counted.
 * 2. A daemon that is away is asked again until the time of the request is over; then
 *    AGENT_UNREACHABLE. LogFollow waits for it.
 * 3. What lacks our label is never touched: another Gangway may use the same daemon.
 */
import path from 'node:path';

import type { Driver } from '../driver.ts';
import type { Usage } from '../../protocol/workload.ts';
import type { Listener } from '../../lib/processes/listening-sockets.ts';
import { DaemonDriver, daemonGround } from './daemon-driver.ts';
import type { DaemonGround, DockerDriverOptions } from './daemon-driver.ts';
import { LogFollow } from './logs/log-follow.ts';
import type { Sink } from './logs/log-follow.ts';
import { EndNotes } from './workloads/end-notes.ts';
import { LogPositions } from './logs/log-positions.ts';
import { listenersOfContainer, probeContainer, usageOf } from './workloads/probing.ts';
import { EventStream } from './engine/event-stream.ts';
import { Workloads } from './workloads/workloads.ts';

export type { DockerDriverOptions } from './daemon-driver.ts';

export function createDockerDriver(options: DockerDriverOptions): Driver {
  return new DockerDriver(options);
}

class DockerDriver extends DaemonDriver implements Driver {
  readonly name = 'docker';
  readonly #ground: DaemonGround;
  readonly #workloads: Workloads;
  readonly #positions: LogPositions;

  constructor(options: DockerDriverOptions) {
    const ground = daemonGround('docker', options);
    const { dir, listeners, clock } = ground;
    const workloads = new Workloads({
      ...ground,
      notes: new EndNotes(path.join(dir, 'workloads')),
      changed: (workload) => {
        listeners.tell({ type: 'state', workload });
      },
    });
    const watching = new EventStream({
      ...ground,
      list: () => workloads.list(),
      refresh: (id) => workloads.refresh(id),
      vanished: (container, spec) => {
        workloads.vanished(container, spec);
      },
      tell: (event) => {
        listeners.tell(event);
      },
    });
    const positions = new LogPositions(path.join(dir, 'positions'), clock);
    const release = (): void => {
      workloads.close();
      positions.close();
    };
    super({ ground, workloads, see: (id) => workloads.see(id), watching, release });
    this.#ground = ground;
    this.#workloads = workloads;
    this.#positions = positions;
  }

  stop(id: string): Promise<void> {
    return this.#workloads.stop(id);
  }

  async remove(id: string): Promise<void> {
    await this.#workloads.remove(id);
    this.#positions.forget(id);
  }

  follow(id: string, afterSeq: number, sink: Sink, signal: AbortSignal): Promise<void> {
    const parts = {
      ...this.#ground,
      positions: this.#positions,
      inspect: (workload: string) => this.inspect(workload),
      hasTerminal: async (workload: string) =>
        (await this.#workloads.view(workload))?.Config.Tty ?? false,
      nextChange: (workload: string, until: AbortSignal) => this.#nextChange(workload, until),
    };
    return new LogFollow(parts, id, afterSeq, sink, signal).run();
  }

  acknowledge(id: string, seq: number): void {
    this.#positions.acknowledge(id, seq);
  }

  probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    return probeContainer(this.#workloads, id);
  }

  listeners(id: string): Promise<Listener[]> {
    return listenersOfContainer(this.#workloads, id);
  }

  hidesApps(): Promise<boolean> {
    return this.#ground.networks.reachesContainers();
  }

  usage(id: string): Promise<Usage | undefined> {
    const { engine, names } = this.#ground;
    return usageOf(engine, names, this.#workloads, id);
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
}
