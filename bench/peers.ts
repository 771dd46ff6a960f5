/**
 * Owns the installation of what Gangway is measured against: packages of their own, below
 * `bench/peers`, that nothing else needs. They are installed by the first scenario that wants them.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench, Server } from './harness.ts';

/** They come over a network. */
const triesMax = 3;
const npm = fileURLToPath(new URL('../node_modules/npm/bin/npm-cli.js', import.meta.url));

/** The packages that the lock file of a folder names. */
export class Packages {
  readonly #folder: string;
  #installing: Promise<void> | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Returns once they are there. Scenarios of a smoke run at once in one process: whoever comes meanwhile
   * waits for the same installation, and the others go on. Where they stood still, servers would take their
   * connections for dead ones.
   */
  async ready(bench: Pick<Bench, 'run'>): Promise<void> {
    if (this.#isInstalled()) return;
    this.#installing ??= this.#install(bench).finally(() => (this.#installing = null));
    await this.#installing;
  }

  #isInstalled(): boolean {
    // While it works, npm has a lock file there already.
    if (this.#installing !== null) return false;
    const installed = join(this.#folder, 'node_modules/.package-lock.json');
    if (!existsSync(installed)) return false;
    return statSync(installed).mtimeMs >= statSync(join(this.#folder, 'package-lock.json')).mtimeMs;
  }

  async #install(bench: Pick<Bench, 'run'>): Promise<void> {
    console.log(`installing the peers (npm ci in ${this.#folder}) …`);
    const where = ['--prefix', this.#folder];
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
    const args = [npm, 'ci', ...where, '--ignore-scripts', ...quiet];
    for (let tries = 1; ; tries++) {
      try {
        await bench.run(process.execPath, args);
        return;
      } catch (cause) {
        if (tries < triesMax) continue;
        throw new Error('The peers cannot be installed: without them there is no comparison.', {
          cause,
        });
      }
    }
  }
}

const packages = new Packages(fileURLToPath(new URL('./peers/', import.meta.url)));

/** Starts a program of `bench/peers`; installs first where that was not done for this lock file. */
export async function startPeer(
  bench: Bench,
  file: string,
  args: readonly string[],
): Promise<Server> {
  await packages.ready(bench);
  return await bench.startServer(`bench/peers/${file}`, args);
}
