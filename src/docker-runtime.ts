/**
 * Owns how the runtime of containers is put together: the driver on the daemon, and beside it the runner,
 * which serves the edge here too and runs nothing else.
 *
 * 1. What is ours at the daemon is marked with a name that stays with the data directory and is not
 *    copied with it: a copy that is served does not take the original's containers for its own.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Driver } from './drivers/driver.ts';
import { createDockerDriver } from './drivers/docker/docker-driver.ts';
import { createProcessDriver } from './drivers/process/process-driver.ts';
import type { Clock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';

export interface DockerRuntimeOptions {
  config: Pick<Config, 'dataDir' | 'dockerSocket' | 'edgeHost' | 'edgePort'>;
  runnerKey: Uint8Array;
  clock: Clock;
  logger: Logger;
}

export async function createDockerRuntime(options: DockerRuntimeOptions): Promise<Driver> {
  const { config, runnerKey, clock, logger } = options;
  const { dataDir, edgeHost, edgePort } = config;
  const runner = createProcessDriver({
    dataDir,
    edge: { host: edgeHost, port: edgePort },
    logger,
    runnerKey,
    clock,
  });
  const instance = await instanceName(dataDir);
  const socket = config.dockerSocket;
  const edge = edgeOf(runner, logger);
  return createDockerDriver({ socket, dataDir, instance, edge, logger, clock });
}

/** The runner without the programs it may still run from before: nobody would hear of them again. */
function edgeOf(runner: Driver, logger: Logger): Pick<Driver, 'open' | 'setRoutes' | 'close'> {
  return {
    open: async () => {
      await runner.open();
      for (const { spec } of await runner.list()) {
        logger.warn({ workload: spec.id }, 'program_of_other_runtime_ended');
        await runner.remove(spec.id);
      }
    },
    setRoutes: (routes) => runner.setRoutes(routes),
    close: () => runner.close(),
  };
}

async function instanceName(dataDir: string): Promise<string> {
  const folder = join(dataDir, 'docker');
  const file = join(folder, 'instance');
  const known = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (/^[0-9a-f]{16}$/.test(known)) return known;
  const name = randomBytes(8).toString('hex');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, `${name}\n`, { mode: 0o600 });
  return name;
}
