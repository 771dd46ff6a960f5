/**
 * Owns which runtime this instance has: programs of the machine, or containers of a daemon.
 *
 * 1. An instance keeps its runtime. Once there is a deployment or a database, `auto` chooses the runtime
 *    that made it, even when the daemon is away for a moment or appeared later.
 * 2. Before that, `auto` takes Docker when its socket answers within a second; never a swarm.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Logger } from '../lib/log.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { Table } from '../store/records/table.ts';
import { tables } from '../store/records/tables.ts';

export type Runtime = 'process' | 'docker' | 'swarm';

export interface RuntimeChoiceOptions {
  config: Pick<Config, 'dataDir' | 'runtime' | 'dockerSocket'>;
  reader: Reader;
  pingMs?: number;
}

export interface RuntimeChoice {
  runtime: Runtime;
  /** The runtime of existing deployments and databases; null when there are none. */
  before: Runtime | null;
}

/** This file holds the runtime of the last start. */
const fileName = 'runtime';
const lookedAtMax = 1000;

export async function chooseRuntime(options: RuntimeChoiceOptions): Promise<RuntimeChoice> {
  const { config, reader } = options;
  const { dataDir } = config;
  const last = await recorded(dataDir);
  const before = isUsed(reader) ? (last ?? ofReleases(reader)) : null;
  const runtime = await chosen(options, before);
  if (runtime !== last) {
    await writeFile(join(dataDir, fileName), `${runtime}\n`, { mode: 0o600 });
  }
  return { runtime, before };
}

/** Called once Gangway serves: a refused start prints one line and nothing else. */
export function logRuntime(
  { runtime, before }: RuntimeChoice,
  { runtime: configured, dockerSocket }: Pick<Config, 'runtime' | 'dockerSocket'>,
  logger: Logger,
): void {
  // Releases of the other runtime are not started and have to be deployed again.
  if (before !== null && before !== runtime) logger.warn({ before, runtime }, 'runtime_changed');
  const where = runtime === 'process' ? {} : { dockerSocket };
  logger.info({ runtime, configured, ...where }, 'runtime_chosen');
}

async function chosen(
  { config, pingMs = 1000 }: RuntimeChoiceOptions,
  before: Runtime | null,
): Promise<Runtime> {
  if (config.runtime !== 'auto') return config.runtime;
  if (before !== null) return before;
  return (await answersPing(config.dockerSocket, pingMs)) ? 'docker' : 'process';
}

/** Whether something was ever deployed, or a database made. */
export function isUsed(reader: Pick<Reader, 'scan'>): boolean {
  return holdsAny(reader, tables.deployments) || holdsAny(reader, tables.databases);
}

async function recorded(dataDir: string): Promise<Runtime | null> {
  const text = await readFile(join(dataDir, fileName), 'utf8').catch(() => '');
  const name = text.trim();
  return name === 'process' || name === 'docker' || name === 'swarm' ? name : null;
}

/** Derives the runtime from the releases, when the directory has no note of it. */
function ofReleases(reader: Reader): Runtime {
  let left = lookedAtMax;
  for (const { plan } of reader.scan(tables.deployments)) {
    if (plan?.image !== undefined) return 'docker';
    if (plan !== null || (left -= 1) === 0) return 'process';
  }
  return 'process';
}

/** Whether a Docker daemon answers at the socket in time. */
export function answersPing(socketPath: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const asking = request({ socketPath, path: '/_ping', signal, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asking.once('error', () => resolve(false));
    asking.end();
  });
}

export function holdsAny<R>(reader: Pick<Reader, 'scan'>, table: Table<R>): boolean {
  return reader.scan(table)[Symbol.iterator]().next().done !== true;
}
