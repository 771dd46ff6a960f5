import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Names } from '../../../../src/drivers/docker/engine/names.ts';
import {
  boundedName,
  parkedSpec,
  serviceSpec,
  stopConstraint,
} from '../../../../src/drivers/swarm/service-spec.ts';
import type { ServiceParts } from '../../../../src/drivers/swarm/service-spec.ts';
import { containerSpec } from '../../../support/docker-place.ts';
import { sh } from '../../../support/driver-specs.ts';

const parts: ServiceParts = {
  names: new Names('unit'),
  log: { fileMb: 32, files: 4 },
  publishing: 'host',
  image: 'sha256:1',
  nodeId: 'node1',
  networks: [{ name: 'gangway-unit-net-a', aliases: ['web'] }],
};

function made(overrides: object, more: Partial<ServiceParts> = {}) {
  const spec = { ...containerSpec({ id: 'one-1', command: sh('true') }), ...overrides };
  assert.ok(spec.container);
  return serviceSpec(spec, spec.container, { ...parts, ...more });
}

const resources = { memoryMb: 64, cpus: 0.5, pids: 100, replicas: 3 };

describe('boundedName()', () => {
  it('keeps a name the swarm takes, and bounds the others without mixing them up', () => {
    assert.equal(boundedName('gangway-unit-one-1'), 'gangway-unit-one-1');
    const long = `gangway-0123456789abcdef-${'x'.repeat(60)}`;
    const names = [`${long}1`, `${long}2`, 'gangway-unit-a_', 'gangway-unit-a-'].map(boundedName);
    assert.equal(new Set(names).size, 4);
    for (const name of names) assert.match(name, /^[a-z0-9](?:[-_]*[a-z0-9]+)*$/);
    for (const name of names) assert.ok(name.length <= 63);
  });
});

describe('serviceSpec()', () => {
  it('asks for as many tasks of a service as it may have, and of a job for one that is not repeated', () => {
    const service = made({ kind: 'service', resources });
    assert.deepEqual(service.Mode, { Replicated: { Replicas: 3 } });
    assert.equal(service.TaskTemplate?.RestartPolicy?.Condition, 'any');
    const job = made({ kind: 'job', resources });
    assert.deepEqual(job.Mode, { Replicated: { Replicas: 1 } });
    assert.equal(job.TaskTemplate?.RestartPolicy?.Condition, 'none');
    assert.deepEqual(job.TaskTemplate.Resources?.Limits, {
      MemoryBytes: 64 * 1024 * 1024,
      NanoCPUs: 5e8,
      Pids: 100,
    });
  });

  it('is bound to the node where its image and its volumes are', () => {
    assert.deepEqual(made({}).TaskTemplate?.Placement, { Constraints: ['node.id==node1'] });
  });

  it('publishes the port for all by the swarm, for one at the node, for several each at its own', () => {
    const ports = (overrides: object, more?: Partial<ServiceParts>) =>
      made({ kind: 'service', port: 8080, ...overrides }, more).EndpointSpec;
    const base = { Protocol: 'tcp', TargetPort: 8080 };
    assert.deepEqual(ports({}), {
      Mode: 'dnsrr',
      Ports: [{ ...base, PublishedPort: 8080, PublishMode: 'host' }],
    });
    assert.deepEqual(ports({ resources }), {
      Mode: 'dnsrr',
      Ports: [{ ...base, PublishMode: 'host' }],
    });
    assert.deepEqual(ports({ resources }, { publishing: 'ingress' }), {
      Mode: 'vip',
      Ports: [{ ...base, PublishedPort: 8080, PublishMode: 'ingress' }],
    });
  });

  it('takes all capabilities but those of plain programs, and names our labels last', () => {
    const spec = made({});
    const task = (spec.TaskTemplate as { ContainerSpec: Record<string, unknown> }).ContainerSpec;
    assert.deepEqual(task['CapabilityDrop'], ['ALL']);
    assert.ok(!(task['CapabilityAdd'] as string[]).includes('CAP_NET_RAW'));
    assert.equal((task['Labels'] as Record<string, string>)['gangway.workload'], 'one-1');
  });

  it('is stopped by a node that is not there, with all else as it was', () => {
    const spec = made({ kind: 'service', resources });
    const parked = parkedSpec(spec) as typeof spec;
    assert.deepEqual(parked.TaskTemplate?.Placement?.Constraints, [stopConstraint]);
    assert.deepEqual(parked.Mode, spec.Mode);
  });
});
