import { describe } from 'node:test';

import { noDocker } from '../support/docker-daemon.ts';
import { containerSpec } from '../support/docker-place.ts';
import { swarmPlace } from '../support/swarm-place.ts';
import { run } from './driver-terminals.suite.ts';

describe('with a Docker swarm', { skip: noDocker() }, () => {
  run('the swarm driver', async () => ({ ...(await swarmPlace()), specOf: containerSpec }));
});
