import { describe } from 'node:test';

import { noDocker } from '../support/docker-daemon.ts';
import { nodePath } from '../support/docker-images.ts';
import { containerSpec, dockerPlace } from '../support/docker-place.ts';
import { run } from './driver.suite.ts';
import { run as runTerminals } from './driver-terminals.suite.ts';

describe('with a Docker daemon', { skip: noDocker() }, () => {
  run('the Docker driver', async () => ({
    ...(await dockerPlace()),
    specOf: containerSpec,
    node: nodePath,
    variables: ['HOME', 'HOSTNAME'],
  }));
  runTerminals('the Docker driver', async () => ({
    ...(await dockerPlace()),
    specOf: containerSpec,
  }));
});
