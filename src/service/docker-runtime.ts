/**
 * Owns how the runtime of containers is put together: the driver on the daemon, and beside it the runner,
 * which here serves only the edge.
 *
 * 1. Our containers are marked with a name that stays with the data directory and is not copied with it. So
 *    a served copy does not take the original's containers for its own.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, ConfigError } from '../config.ts';
import type { Driver } from '../drivers/driver.ts';
import { edgeSettings, type EdgeOptions } from './edge-settings.ts';
import { createDockerDriver } from '../drivers/docker/docker-driver.ts';
import { createProcessDriver } from '../drivers/process/process-driver.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

export interface DockerRuntimeOptions {
  config: EdgeOptions & Pick<Config, 'dataDir' | 'dockerSocket'>;
  runnerKey: Uint8Array;
  clock: Clock;
  logger: Logger;
}

export interface LocalDrivers {
  /** Runs apps and databases. */
  driver: Driver;
  /** Runs programs of this machine for the service itself, and the edge. */
  host: Pick<
    Driver,
    'start' | 'pipe' | 'remove' | 'follow' | 'acknowledge' | 'traffic' | 'forgetTraffic'
  >;
}

export async function createDockerRuntime(options: DockerRuntimeOptions): Promise<LocalDrivers> {
  const { config, clock, logger } = options;
  const { dataDir, dockerSocket: socket } = config;
  const instance = await instanceName(dataDir);
  const host = runnerOf(options);
  const edge = edgeOf(host, logger);
  return { driver: createDockerDriver({ socket, dataDir, instance, edge, logger, clock }), host };
}

/** Rejects with ConfigError when the daemon answers and manages no swarm. */
export async function createSwarmRuntime(options: DockerRuntimeOptions): Promise<LocalDrivers> {
  const { config, clock, logger } = options;
  const { dataDir, dockerSocket: socket } = config;
  const { createSwarmDriver } = await import('../drivers/swarm/swarm-driver.ts');
  const runner = runnerOf(options);
  const driver = createSwarmDriver({
    ...{ socket, dataDir, logger, clock },
    instance: await instanceName(dataDir),
    edge: edgeOf(runner, logger, forwarderId),
    runForwarder: (table) => runForwarder(runner, table),
  });
  if ((await driver.check()) === 'no-manager') {
    throw new ConfigError(
      `option "runtime" (GANGWAY_RUNTIME): "swarm" is not possible with the daemon at ${socket}; ` +
        'allowed is a daemon that manages a swarm, which "docker swarm init" makes of it',
    );
  }
  return { driver, host: runner };
}

/**
 * Apps run in containers: the runner has the edge, programs of ours, and git, which is kept apart for what it
 * reads. Nothing of that needs a network of its own, nor rules beside those of the daemon.
 */
const without = ['network'] as const;

function runnerOf({ config, runnerKey, clock, logger }: DockerRuntimeOptions): Driver {
  const { dataDir } = config;
  const edge = edgeSettings(config);
  return createProcessDriver({ dataDir, edge, logger, runnerKey, clock, without });
}

const forwarderId = 'swarm-forwarder';

/** Runs the forwarder as a service of the runner, so that it continues while Gangway restarts. */
async function runForwarder(runner: Driver, table: string): Promise<void> {
  const program = fileURLToPath(new URL('../programs/forwarding/main.ts', import.meta.url));
  const known = await runner.inspect(forwarderId);
  if (known?.state.phase === 'ended') await runner.remove(forwarderId);
  await runner.start({
    id: forwarderId,
    owner: forwarderId,
    kind: 'service',
    command: [process.execPath, '--no-warnings', '--optimize-for-size', program, table],
    workingDir: '/',
    env: {},
    uid: null,
    port: null,
    container: null,
    resources: { memoryMb: null, cpus: null, pids: null, replicas: 1 },
    deadlineMs: null,
    stopGraceMs: 1000,
  });
}

/** The runner, without programs that an earlier runtime left in it: nobody else would end them. */
function edgeOf(
  runner: Driver,
  logger: Logger,
  ours?: string,
): Pick<Driver, 'open' | 'setRoutes' | 'setCertificates' | 'close'> {
  return {
    open: async () => {
      await runner.open();
      for (const { spec } of await runner.list()) {
        if (spec.id === ours) continue;
        logger.warn({ workload: spec.id }, 'program_of_other_runtime_ended');
        await runner.remove(spec.id);
      }
    },
    setRoutes: (routes) => runner.setRoutes(routes),
    setCertificates: (certificates) => runner.setCertificates(certificates),
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
