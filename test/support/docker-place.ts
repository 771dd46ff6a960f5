/** Owns a Docker driver on a daemon of the tests, with a data directory of its own. */
import fs from 'node:fs';

import { createDockerDriver } from '../../src/drivers/docker/docker-driver.ts';
import type { DockerDriverOptions } from '../../src/drivers/docker/docker-driver.ts';
import type { Driver, WorkloadSpec } from '../../src/drivers/driver.ts';
import { dockerDaemon } from './docker-daemon.ts';
import type { DockerDaemon } from './docker-daemon.ts';
import { importImages, nodeImage } from './docker-images.ts';
import { specOf } from './driver-specs.ts';
import type { SpecOverrides } from './driver-specs.ts';
import { noLog, tempDir } from './runner.ts';

/** An edge that nobody asks. */
const noEdge: DockerDriverOptions['edge'] = {
  open: () => Promise.resolve(),
  setRoutes: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

export interface DockerPlace {
  daemon: DockerDaemon;
  dataDir: string;
  instance: string;
  driver: Driver;
  open(options?: Partial<DockerDriverOptions>): Driver;
  reopen(): Promise<Driver>;
  close(): Promise<void>;
}

export async function dockerPlace(
  given: { daemon?: DockerDaemon } & Partial<DockerDriverOptions> = {},
): Promise<DockerPlace> {
  const { daemon: shared, ...options } = given;
  const daemon = shared ?? (await dockerDaemon());
  await importImages(daemon.socket);
  const dataDir = tempDir();
  const instance = options.instance ?? `test${dataDir.slice(-6).toLowerCase()}`;
  const open = (more: Partial<DockerDriverOptions> = {}): Driver =>
    createDockerDriver({
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
      for (const { spec } of await last.list()) await last.remove(spec.id);
      await last.close();
      await driver.close();
      if (!shared) await daemon.close();
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** As `specOf`, in a container. */
export function containerSpec(overrides: SpecOverrides): WorkloadSpec {
  return specOf({
    env: {},
    container: { image: nodeImage, port: null, volumes: [], network: null, aliases: [] },
    ...overrides,
  });
}
