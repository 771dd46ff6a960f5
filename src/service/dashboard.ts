/**
 * Owns which build of the dashboard is served: what was shipped with it, or what was built here and is
 * kept, as long as it is of the source that is here; else one that is built now.
 *
 * 1. Nothing of it is done on this thread: the source is bundled and compressed by a program of its own,
 *    which goes behind everything else.
 * 2. A build that fails is told in the log, and to whoever waits for it; the next who asks tries again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DashboardBuilds, LoadedDashboard } from '../gateway/transports/dashboard.ts';
import { checkout, shippedFolder, sourceDigest } from '../lib/dashboard-source.ts';
import type { Logger } from '../lib/log.ts';
import { type DashboardManifest, manifestName } from '../protocol/dashboard-build.ts';

const program = fileURLToPath(new URL('../programs/dashboard/main.ts', import.meta.url));
const cache = join('gangway', 'dashboard');
const toldMax = 16_384;

export interface DashboardOptions {
  logger: Logger;
  /** Builds are kept below it where node_modules cannot be written. */
  dataDir: string;
}

export class Dashboard implements DashboardBuilds {
  readonly #options: DashboardOptions;
  #loading: Promise<LoadedDashboard> | null = null;
  #ready: Promise<string> | null = null;
  #builder: ChildProcess | null = null;
  #closed = false;

  constructor(options: DashboardOptions) {
    this.#options = options;
  }

  /** Builds it where that is needed, so that the first who asks waits less. */
  prepare(): void {
    this.#folder().catch(() => undefined);
  }

  load(): Promise<LoadedDashboard> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  close(): void {
    this.#closed = true;
    this.#builder?.kill('SIGKILL');
  }

  async #load(): Promise<LoadedDashboard> {
    const folder = await this.#folder();
    try {
      return await loaded(folder);
    } catch (error) {
      // Somebody cleared the cache.
      this.#ready = null;
      throw error;
    }
  }

  /** Where it lies, whole. */
  #folder(): Promise<string> {
    this.#ready ??= this.#findOrBuild().catch((error: unknown) => {
      this.#ready = null;
      if (!this.#closed) this.#options.logger.error({ err: error }, 'dashboard_build_failed');
      throw error;
    });
    return this.#ready;
  }

  async #findOrBuild(): Promise<string> {
    const digest = await sourceDigest();
    if ((await builtFrom(shippedFolder)) === digest) return shippedFolder;
    const kept = join(await this.#cache(), digest);
    if ((await builtFrom(kept)) === digest) return kept;
    const startedAt = performance.now();
    await this.#build(digest, kept);
    const ms = Math.round(performance.now() - startedAt);
    this.#options.logger.info({ ms }, 'dashboard_built');
    await removeOthers(kept);
    return kept;
  }

  async #cache(): Promise<string> {
    const ours = join(checkout, 'node_modules', '.cache', cache);
    try {
      await mkdir(ours, { recursive: true });
      await access(ours, constants.W_OK);
      return ours;
    } catch {
      // A read-only checkout.
      const folder = join(this.#options.dataDir, 'cache', cache);
      await mkdir(folder, { recursive: true });
      return folder;
    }
  }

  #build(digest: string, folder: string): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('The service ends.'));
    return new Promise((resolve, reject) => {
      const builder = spawn(process.execPath, [...process.execArgv, program, digest, folder], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      this.#builder = builder;
      if (builder.pid !== undefined) setPriority(builder.pid, 10);
      let told = '';
      builder.stderr.setEncoding('utf8').on('data', (text: string) => {
        told = (told + text).slice(0, toldMax);
      });
      builder.once('error', reject).once('close', (code) => {
        if (code === 0) resolve();
        else reject(new Error(told.trim() || `The build ended with ${String(code)}.`));
      });
    });
  }
}

/** The digest of the source that a folder was built from; null where none lies there. */
async function builtFrom(folder: string): Promise<string | null> {
  try {
    return (await manifestIn(folder)).digest;
  } catch {
    return null; // Not built yet.
  }
}

async function manifestIn(folder: string): Promise<DashboardManifest> {
  return JSON.parse(await readFile(join(folder, manifestName), 'utf8')) as DashboardManifest;
}

async function loaded(folder: string): Promise<LoadedDashboard> {
  const manifest = await manifestIn(folder);
  const files = Object.entries(manifest.files).map(async ([name, type]) => {
    const [brotli, gzip] = await Promise.all([
      readFile(join(folder, `${name}.br`)),
      readFile(join(folder, `${name}.gz`)),
    ]);
    return [name, { type, brotli, gzip }] as const;
  });
  return { manifest, files: new Map(await Promise.all(files)) };
}

/** Takes away builds of other sources. */
async function removeOthers(folder: string): Promise<void> {
  const parent = dirname(folder);
  for (const name of await readdir(parent)) {
    const other = join(parent, name);
    if (!other.startsWith(folder)) await rm(other, { recursive: true, force: true });
  }
}
