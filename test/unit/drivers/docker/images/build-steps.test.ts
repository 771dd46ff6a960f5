import { describe, it } from 'node:test';

import { BuildSteps } from '../../../../../src/drivers/docker/images/build-steps.ts';
import type { Engine } from '../../../../../src/drivers/docker/engine/engine.ts';
import { Names } from '../../../../../src/drivers/docker/engine/names.ts';
import { noLog } from '../../../../support/runner.ts';
import { until } from '../../../../support/driver-specs.ts';

describe('BuildSteps', () => {
  it('bounds each step, also when the daemon refuses it for one, which is tried again', async () => {
    const names = new Names('0123456789abcdef');
    const asked: string[] = [];
    const listed = ['a', 'b'].map((Id) => ({
      ...{ Id, Names: [`/${Id}`] },
      HostConfig: { NetworkMode: names.network(null) },
    }));
    const docker = {
      listContainers: () => Promise.resolve(listed),
      getContainer: (id: string) => ({
        update: () => {
          asked.push(id);
          const refusal = Object.assign(new Error('It is ending.'), { statusCode: 409 });
          return id === 'a' ? Promise.reject(refusal) : Promise.resolve();
        },
      }),
    };
    const engine = { ask: (work: (given: unknown) => unknown) => work(docker) };
    const steps = new BuildSteps({ engine: engine as unknown as Engine, names, logger: noLog });
    steps.hear(' ---> Running in a');
    await until('both', () => asked.join() === 'a,b');
    steps.hear(' ---> Running in b');
    await until('the refused one again', () => asked.join() === 'a,b,a');
  });
});
