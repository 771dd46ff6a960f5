import { describe } from 'node:test';

import { needs } from '../support/programs.ts';
import { containerSpec, dockerPlace } from '../support/docker-place.ts';
import { run } from './driver-pipes.suite.ts';

describe('with a Docker daemon', { skip: needs('docker') }, () => {
  run('the Docker driver', async () => ({ ...(await dockerPlace()), specOf: containerSpec }));
});
