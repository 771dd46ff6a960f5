/** Owns a swarm driver on a swarm of one node of the tests. */
import { startForwarding } from '../../src/programs/forwarding/forwarder.ts';
import { createSwarmDriver } from '../../src/drivers/swarm/swarm-driver.ts';
import type { SwarmDriver, SwarmDriverOptions } from '../../src/drivers/swarm/swarm-driver.ts';
import type { DockerDaemon } from './docker-daemon.ts';
import { driverPlace } from './driver-place.ts';
import type { DriverPlace } from './driver-place.ts';

export type SwarmPlace = DriverPlace<SwarmDriver, SwarmDriverOptions>;

export async function swarmPlace(
  given: { daemon?: DockerDaemon } & Partial<SwarmDriverOptions> = {},
): Promise<SwarmPlace> {
  let forwarding: ReturnType<typeof startForwarding> | undefined;
  const runForwarder = (table: string): Promise<void> => {
    forwarding ??= startForwarding(table);
    return Promise.resolve();
  };
  const place = await driverPlace<SwarmDriver, SwarmDriverOptions>(
    given,
    (common, own) => createSwarmDriver({ runForwarder, ...common, ...own }),
    'swarm',
  );
  return {
    ...place,
    async close() {
      await place.close();
      forwarding?.close();
    },
  };
}
