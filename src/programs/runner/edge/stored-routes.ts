/** Owns the routes on disk, from where the next runner takes them. */
import fs from 'node:fs';
import path from 'node:path';

import type { EdgeRoute } from '../../../protocol/workload.ts';
import { writeFileWhole } from '../../../lib/whole-file.ts';

const fileName = 'routes.json';

export class StoredRoutes {
  readonly #file: string;
  #all: readonly EdgeRoute[];
  #apps: ReadonlySet<string>;

  /** Reads what an earlier runner kept in `dir`. A damaged file counts as no routes. */
  constructor(dir: string) {
    this.#file = path.join(dir, fileName);
    this.#all = read(this.#file);
    this.#apps = appsOf(this.#all);
  }

  get all(): readonly EdgeRoute[] {
    return this.#all;
  }

  leadTo(app: string): boolean {
    return this.#apps.has(app);
  }

  get leadSomewhere(): boolean {
    return this.#all.some(({ targets }) => targets.length > 0);
  }

  replace(routes: readonly EdgeRoute[]): void {
    writeFileWhole(this.#file, JSON.stringify(routes), true);
    this.#all = routes;
    this.#apps = appsOf(routes);
  }
}

function appsOf(routes: readonly EdgeRoute[]): ReadonlySet<string> {
  return new Set(routes.flatMap(({ app }) => (app === undefined ? [] : [app.id])));
}

function read(file: string): EdgeRoute[] {
  try {
    const routes: unknown = JSON.parse(fs.readFileSync(file, 'utf8'));
    return Array.isArray(routes) ? (routes as EdgeRoute[]) : [];
  } catch {
    return []; // None yet, or damaged: Gangway sets the routes when it connects.
  }
}
