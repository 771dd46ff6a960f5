/** Owns the routes on disk, from where the next runner takes them. */
import fs from 'node:fs';
import path from 'node:path';

import type { EdgeRoute } from '../../../protocol/workload.ts';
import { writeFileWhole } from '../../../lib/whole-file.ts';

const fileName = 'routes.json';

export class StoredRoutes {
  readonly #file: string;
  #all: readonly EdgeRoute[];

  /** Reads what an earlier runner kept in `dir`. A damaged file counts as no routes. */
  constructor(dir: string) {
    this.#file = path.join(dir, fileName);
    this.#all = read(this.#file);
  }

  get all(): readonly EdgeRoute[] {
    return this.#all;
  }

  get leadSomewhere(): boolean {
    return this.#all.some(({ targets }) => targets.length > 0);
  }

  replace(routes: readonly EdgeRoute[]): void {
    writeFileWhole(this.#file, JSON.stringify(routes), true);
    this.#all = routes;
  }
}

function read(file: string): EdgeRoute[] {
  try {
    const routes: unknown = JSON.parse(fs.readFileSync(file, 'utf8'));
    return Array.isArray(routes) ? (routes as EdgeRoute[]) : [];
  } catch {
    return []; // None yet, or damaged: Gangway sets the routes when it connects.
  }
}
