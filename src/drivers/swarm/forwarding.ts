/**
 * Owns the forwarding of a workload's port to its several tasks, where the kernel has no balancer for the
 * swarm. It writes a table to disk, and a program beside Gangway forwards by this table.
 *
 * 1. The table holds what was seen last. It is written before it serves, and only when it changes.
 * 2. It leads to tasks that listen. In front of one that does not, Docker's proxy would take the connection and
 *    break it.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Forward } from '../../protocol/forwarding.ts';
import { writeFileWhole } from '../../lib/whole-file.ts';
import type { Logger } from '../../lib/log.ts';
import { listens } from '../docker/workloads/probing.ts';
import type { Found } from './states.ts';
import { containerOf, hasOwnPorts, type TaskView } from './tasks.ts';

export interface ForwardingParts {
  /** Absolute. */
  dir: string;
  logger: Logger;
  /** Makes sure that the forwarding program runs with this table. Called repeatedly. */
  run: (file: string) => Promise<void>;
}

type Table = Record<string, Forward>;

export class Forwarding {
  readonly #parts: ForwardingParts;
  readonly #file: string;
  /** By the id of the workload. */
  readonly #kept: string;
  #table: Table;
  #running: Promise<void> | undefined;
  #looks = 0;
  /** The look that each workload was set by. */
  readonly #setBy = new Map<string, number>();

  constructor(parts: ForwardingParts) {
    const { dir } = parts;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#parts = parts;
    this.#file = path.join(dir, 'table.json');
    this.#kept = path.join(dir, 'workloads.json');
    this.#table = read(this.#kept);
  }

  /** Takes up what an earlier process left. */
  async open(): Promise<void> {
    if (Object.keys(this.#table).length > 0) await this.#run();
  }

  /** To be called before one looks at workloads, for `set`. */
  beginLook(): number {
    return ++this.#looks;
  }

  /**
   * Sets where the workload's connections go from now on; null: its port is released. Nothing happens if it was
   * set by a later look.
   */
  set(id: string, forward: Forward | null, look = this.beginLook()): void {
    if (look < (this.#setBy.get(id) ?? 0)) return;
    this.#setBy.set(id, look);
    const known = this.#table[id];
    if (JSON.stringify(known ?? null) === JSON.stringify(forward)) return;
    const others = Object.entries(this.#table).filter(([one]) => one !== id);
    this.#table = Object.fromEntries(forward === null ? others : [...others, [id, forward]]);
    writeFileWhole(this.#kept, JSON.stringify(this.#table), false);
    writeFileWhole(this.#file, JSON.stringify(Object.values(this.#table)), false);
    if (forward === null) return;
    this.#run().catch((error: unknown) =>
      this.#parts.logger.error({ err: error, workload: id }, 'forwarding_not_started'),
    );
  }

  /** Forgets all other workloads, which were removed while this process was down. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of Object.keys(this.#table)) if (!ids.has(id)) this.set(id, null);
    for (const id of this.#setBy.keys()) if (!ids.has(id)) this.#setBy.delete(id);
  }

  #run(): Promise<void> {
    this.#running ??= this.#parts.run(this.#file).catch((error: unknown) => {
      this.#running = undefined;
      throw error;
    });
    return this.#running;
  }
}

/** The addresses of a workload's tasks that listen, when each task has a port of its own. */
export async function forwardOf(found: Found, alive: readonly TaskView[]): Promise<Forward | null> {
  const { known, service, containers } = found;
  const { port, innerPort } = known;
  if (port === null || innerPort === null || !hasOwnPorts(service)) return null;
  const ports = await Promise.all(
    alive.map(async (task) => {
      const own = task.Status.PortStatus?.Ports?.[0]?.PublishedPort;
      const view = containers.get(containerOf(task) ?? '');
      return own !== undefined && view && (await listens(view, innerPort)) ? [own] : [];
    }),
  );
  return { port, targets: ports.flat().map((own) => ({ host: '127.0.0.1', port: own })) };
}

function read(file: string): Table {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Table;
  } catch {
    return {}; // There is no table yet. Running workloads are seen again at once.
  }
}
