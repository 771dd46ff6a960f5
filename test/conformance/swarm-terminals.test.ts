import { describe } from 'node:test';

import type { WorkloadSpec } from '../../src/protocol/workload.ts';
import { needs } from '../support/programs.ts';
import { nodePath } from '../support/docker-images.ts';
import { containerSpec } from '../support/docker-place.ts';
import { swarmPlace } from '../support/swarm-place.ts';
import type { DriverPlace } from './driver.suite.ts';
import { run as runPipes } from './driver-pipes.suite.ts';
import { run as runTerminals } from './driver-terminals.suite.ts';
import { run as runUsage } from './driver-usage.suite.ts';

const create = async (): Promise<DriverPlace> => ({
  ...(await swarmPlace()),
  specOf: containerSpec,
  node: nodePath,
  variables: ['HOME', 'HOSTNAME'],
});

/** A spec for programs of the machine, in the image that has them. */
const inContainer = (spec: WorkloadSpec): WorkloadSpec => {
  const { container } = containerSpec({ id: spec.id, command: spec.command });
  return { ...spec, env: {}, container };
};

describe('with a Docker swarm', { skip: needs('docker') }, () => {
  runTerminals('the swarm driver', create);
  runPipes('the swarm driver', create);
  runUsage('the swarm driver', create, inContainer);
});
