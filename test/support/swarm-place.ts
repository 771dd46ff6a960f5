/** Owns a swarm driver on a swarm of one node of the tests, with a data directory of its own. */
import fs from 'node:fs';

import Docker from 'dockerode';

import { createSwarmDriver } from '../../src/drivers/swarm/swarm-driver.ts';
import type { SwarmDriver, SwarmDriverOptions } from '../../src/drivers/swarm/swarm-driver.ts';
import { dockerDaemon } from './docker-daemon.ts';
import type { DockerDaemon } from './docker-daemon.ts';
import { importImages } from './docker-images.ts';
import { noLog, tempDir } from './runner.ts';

/** An edge that nobody asks. */
const noEdge: SwarmDriverOptions['edge'] = {
  open: () => Promise.resolve(),
  setRoutes: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

export interface SwarmPlace {
  daemon: DockerDaemon;
  docker: Docker;
  dataDir: string;
  instance: string;
  driver: SwarmDriver;
  open(options?: Partial<SwarmDriverOptions>): SwarmDriver;
  reopen(): Promise<SwarmDriver>;
  close(): Promise<void>;
}

/** Makes the daemon a swarm of its own, unless it is one. */
export async function beSwarm(socket: string): Promise<void> {
  const docker = new Docker({ socketPath: socket });
  const info = (await docker.info()) as { Swarm?: { ControlAvailable?: boolean } };
  if (info.Swarm?.ControlAvailable) return;
  await docker.swarmInit({ ListenAddr: '127.0.0.1:0', AdvertiseAddr: '127.0.0.1' });
}

export async function swarmPlace(
  given: { daemon?: DockerDaemon } & Partial<SwarmDriverOptions> = {},
): Promise<SwarmPlace> {
  const { daemon: shared, ...options } = given;
  const daemon = shared ?? (await dockerDaemon());
  await importImages(daemon.socket);
  await beSwarm(daemon.socket);
  const dataDir = tempDir();
  const instance = options.instance ?? `test${dataDir.slice(-6).toLowerCase()}`;
  const open = (more: Partial<SwarmDriverOptions> = {}): SwarmDriver =>
    createSwarmDriver({
      socket: daemon.socket,
      dataDir,
      instance,
      edge: noEdge,
      logger: noLog,
      ...options,
      ...more,
    });
  const driver = open();
  return {
    daemon,
    docker: new Docker({ socketPath: daemon.socket }),
    dataDir,
    instance,
    driver,
    open,
    async reopen() {
      const other = open();
      await other.open();
      return other;
    },
    async close() {
      // On a daemon that is shared others must not find what is ours.
      const last = open();
      await Promise.all((await last.list()).map(({ spec }) => last.remove(spec.id)));
      await last.close();
      await driver.close();
      if (!shared) await daemon.close();
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
