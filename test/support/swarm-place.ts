/** Owns a swarm driver on a swarm of one node of the tests. */
import Docker from 'dockerode';

import { startForwarding } from '../../src/agent/forwarding/forwarder.ts';
import type { Forwarding as RunningForwarding } from '../../src/agent/forwarding/forwarder.ts';
import { createSwarmDriver } from '../../src/drivers/swarm/swarm-driver.ts';
import type { SwarmDriver, SwarmDriverOptions } from '../../src/drivers/swarm/swarm-driver.ts';
import type { DockerDaemon } from './docker-daemon.ts';
import { driverPlace } from './driver-place.ts';
import type { DriverPlace } from './driver-place.ts';

export type SwarmPlace = DriverPlace<SwarmDriver, SwarmDriverOptions>;

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
  let forwarding: RunningForwarding | undefined;
  const runForwarder = (table: string): Promise<void> => {
    forwarding ??= startForwarding(table);
    return Promise.resolve();
  };
  const place = await driverPlace<SwarmDriver, SwarmDriverOptions>(
    given,
    (common, own) => createSwarmDriver({ runForwarder, ...common, ...own }),
    ({ socket }) => beSwarm(socket),
  );
  return {
    ...place,
    async close() {
      await place.close();
      forwarding?.close();
    },
  };
}
