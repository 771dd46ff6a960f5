/** Owns a driver on a Docker daemon of the tests, with a data directory of its own. */
import fs from 'node:fs';

import Docker from 'dockerode';

import type { DockerDriverOptions } from '../../src/drivers/docker/daemon-driver.ts';
import type { Driver } from '../../src/drivers/driver.ts';
import type { DockerDaemon } from './docker-daemon.ts';
import { importImages } from './docker-images.ts';
import { noLog, ready, tempDir } from './runner.ts';
import { dockerDaemon } from './shared-daemons.ts';
import type { DaemonKind } from './shared-daemons.ts';
import { beSwarm } from './swarm.ts';

/** An edge that nobody asks. */
export const noEdge: DockerDriverOptions['edge'] = {
  open: () => Promise.resolve(),
  setRoutes: () => Promise.resolve(),
  setCertificates: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

export interface DriverPlace<D extends Driver, O> {
  daemon: DockerDaemon;
  docker: Docker;
  dataDir: string;
  instance: string;
  driver: D;
  /** Another one, on the same data directory. */
  open(options?: Partial<O>): D;
  reopen(): Promise<D>;
  close(): Promise<void>;
}

/** `daemon`: one that is the asker's own. */
export async function driverPlace<D extends Driver, O extends DockerDriverOptions>(
  given: { daemon?: DockerDaemon } & Partial<O>,
  create: (common: DockerDriverOptions, own: Partial<O>) => D,
  kind: DaemonKind = 'docker',
): Promise<DriverPlace<D, O>> {
  const { daemon: shared, ...options } = given;
  const daemon = shared ?? (await dockerDaemon(kind));
  const { socket } = daemon;
  await importImages(socket);
  if (kind === 'swarm') await beSwarm(socket);
  const dataDir = tempDir();
  const instance = given.instance ?? `test${dataDir.slice(-6).toLowerCase()}`;
  const common = { socket, dataDir, instance, edge: noEdge, logger: noLog };
  const opened: D[] = [];
  const open = (more: Partial<O> = {}): D => {
    const made = create(common, { ...(options as Partial<O>), ...more });
    opened.push(made);
    return made;
  };
  const driver = open();
  return {
    daemon,
    docker: new Docker({ socketPath: socket }),
    dataDir,
    instance,
    driver,
    open,
    reopen: () => ready(open()),
    async close() {
      // On a daemon that is shared others must not find what is ours.
      const last = open();
      await Promise.all((await last.list()).map(({ spec }) => last.remove(spec.id)));
      // Also those that a test which failed left open: they would hold its process.
      await Promise.all(opened.map((one) => one.close()));
      if (!shared) await daemon.close();
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
