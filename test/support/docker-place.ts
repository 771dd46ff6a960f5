/** Owns a Docker driver on a daemon of the tests, and what it runs there. */
import { createDockerDriver } from '../../src/drivers/docker/docker-driver.ts';
import type { DockerDriverOptions } from '../../src/drivers/docker/docker-driver.ts';
import type { Driver } from '../../src/drivers/driver.ts';
import type { WorkloadSpec } from '../../src/protocol/workload.ts';
import type { DockerDaemon } from './docker-daemon.ts';
import { nodeImage } from './docker-images.ts';
import { driverPlace } from './driver-place.ts';
import type { DriverPlace } from './driver-place.ts';
import { specOf } from './driver-specs.ts';
import type { SpecOverrides } from './driver-specs.ts';

export type DockerPlace = DriverPlace<Driver, DockerDriverOptions>;

export function dockerPlace(
  given: { daemon?: DockerDaemon } & Partial<DockerDriverOptions> = {},
): Promise<DockerPlace> {
  return driverPlace(given, (common, own) => createDockerDriver({ ...common, ...own }));
}

/** As `specOf`, in a container. */
export function containerSpec(overrides: SpecOverrides): WorkloadSpec {
  return specOf({
    env: {},
    container: { image: nodeImage, port: null, volumes: [], network: null, aliases: [] },
    ...overrides,
  });
}
