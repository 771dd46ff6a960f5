/**
 * Owns the ports that clients go on to know while what listened there is gone, such as that of a stopped
 * database: they are held for their owners, also by the next runner.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { HeldPorts } from '../../lib/processes/held-ports.ts';
import { writeFileWhole } from '../../lib/whole-file.ts';

const fileName = 'kept-ports.json';

export class KeptPorts {
  readonly #file: string;
  readonly #ports: HeldPorts;
  readonly #byOwner: Map<string, number>;

  /** Holds what an earlier runner kept in `dir`. */
  constructor(dir: string, ports: HeldPorts) {
    this.#file = path.join(dir, fileName);
    this.#ports = ports;
    this.#byOwner = read(this.#file);
    for (const port of this.#byOwner.values()) void ports.hold(port, 'loopback');
  }

  get all(): Iterable<number> {
    return this.#byOwner.values();
  }

  /** Holds it from now on. */
  keep(owner: string, port: number): void {
    this.letGo(owner, port);
    this.#byOwner.set(owner, port);
    void this.#ports.hold(port, 'loopback');
    this.#save();
  }

  /** The owner has the port `next` from now on; null: it has none, and needs none. */
  letGo(owner: string, next: number | null): void {
    const port = this.#byOwner.get(owner);
    if (port === undefined) return;
    this.#byOwner.delete(owner);
    // Whoever is about to listen lets go of it by itself.
    if (port !== next) this.#ports.letGo(port);
    this.#save();
  }

  #save(): void {
    writeFileWhole(this.#file, JSON.stringify([...this.#byOwner]), false);
  }
}

function read(file: string): Map<string, number> {
  try {
    return new Map(JSON.parse(fs.readFileSync(file, 'utf8')) as [string, number][]);
  } catch {
    return new Map(); // None yet, or damaged: ports are held again when they are left again.
  }
}
