import { describe } from 'node:test';

import { needs } from '../support/programs.ts';
import { nodePath } from '../support/docker-images.ts';
import { containerSpec } from '../support/docker-place.ts';
import { swarmPlace } from '../support/swarm-place.ts';
import { run } from './driver.suite.ts';

describe('with a Docker swarm', { skip: needs('docker') }, () => {
  run('the swarm driver', async () => ({
    ...(await swarmPlace()),
    specOf: containerSpec,
    node: nodePath,
    variables: ['HOME', 'HOSTNAME'],
  }));
});
