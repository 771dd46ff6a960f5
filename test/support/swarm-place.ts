/** Owns a swarm driver on a swarm of one node of the tests, with a data directory of its own. */
import fs from 'node:fs';

import Docker from 'dockerode';

import { createSwarmDriver } from '../../src/drivers/swarm/swarm-driver.ts';
import { startForwarding } from '../../src/agent/forwarding/forwarder.ts';
import type { Forwarding as RunningForwarding } from '../../src/agent/forwarding/forwarder.ts';
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

/** Makes the daemon a swarm of its own, unless it is one; several of them share the machine. */
export async function beSwarm(socket: string): Promise<void> {
  const docker = new Docker({ socketPath: socket });
  const info = (await docker.info()) as { Swarm?: { ControlAvailable?: boolean } };
  if (info.Swarm?.ControlAvailable) return;
  const found = (await docker.getNetwork('bridge').inspect()) as {
    Options: Record<string, string>;
  };
  const bridge = found.Options['com.docker.network.bridge.name'] ?? 'gwtest0';
  const number = Number(/\d+$/.exec(bridge)?.[0] ?? 0);
  // Else all would have one bridge of this name, with the same addresses.
  await docker.createNetwork({
    Name: 'docker_gwbridge',
    Driver: 'bridge',
    IPAM: { Driver: 'default', Config: [{ Subnet: `10.219.${number}.0/24` }] },
    Options: {
      'com.docker.network.bridge.name': `${bridge}s`,
      'com.docker.network.bridge.enable_icc': 'false',
      'com.docker.network.bridge.enable_ip_masquerade': 'false',
    },
  });
  const address = `127.0.1.${number + 1}`;
  await docker.swarmInit({
    ListenAddr: `${address}:0`,
    AdvertiseAddr: address,
    DataPathPort: 14_000 + number,
  });
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
  let forwarding: RunningForwarding | undefined;
  const open = (more: Partial<SwarmDriverOptions> = {}): SwarmDriver =>
    createSwarmDriver({
      socket: daemon.socket,
      dataDir,
      instance,
      edge: noEdge,
      runForwarder: (table) => {
        forwarding ??= startForwarding(table);
        return Promise.resolve();
      },
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
      forwarding?.close();
      if (!shared) await daemon.close();
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
