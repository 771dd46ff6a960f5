/**
 * Owns the step from a workload to the service that the swarm is asked to run.
 *
 * 1. The service's labels hold everything about a workload that is needed after a restart.
 * 2. Every service is bound to one node, from its beginning to its end.
 * 3. A stopped service keeps its tasks, and with them their logs and exit codes. To stop it, its node
 *    becomes one that does not exist; the number of its tasks stays.
 */
import { createHash } from 'node:crypto';

import type Dockerode from 'dockerode';

import type { ContainerSpec, WorkloadSpec } from '../../protocol/workload.ts';
import {
  capabilities,
  graceSeconds,
  healthCheck,
  logDriver,
  logOptions,
  programOf,
  programSettings,
  volumeMounts,
} from '../docker/workloads/create-options.ts';
import type { LogLimits } from '../docker/workloads/create-options.ts';
import type { Names } from '../docker/engine/names.ts';

/** How a port is reached on the nodes. */
export type Publishing =
  /** By the swarm's own balancer: every node takes connections for all tasks. */
  | 'ingress'
  /** By the node of the task itself. */
  | 'host';

export interface ServiceParts {
  names: Names;
  log: LogLimits;
  publishing: Publishing;
  /** The image that the tasks run, by its id at the daemon. */
  image: string;
  /** The node of all tasks, because only this node has the image and the volumes. */
  nodeId: string;
  /** The networks by their names on the swarm. */
  networks: readonly { name: string; aliases: readonly string[] }[];
}

/** No node has this id. */
export const stopConstraint = 'node.id==gangway-stopped';
/** The swarm's own default: a program that crashes at once must not use up a node. */
export const restartDelayMs = 2000;
const nsPerMs = 1_000_000;
const nameMax = 63;
/** A daemon of version 20.10 ignores the fields that it does not know yet. */
type TaskContainer = Dockerode.ContainerSpec & {
  CapabilityAdd: string[];
  CapabilityDrop: string[];
};

/** A name within the length that the swarm allows. A long name ends in a digest. */
export function boundedName(name: string): string {
  const isFit = name.length <= nameMax && /[a-z0-9]$/.test(name);
  if (isFit) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${name.slice(0, nameMax - 17).replace(/[-_]+$/, '')}-${digest}`;
}

export function serviceName(names: Names, id: string): string {
  return boundedName(names.container(id));
}

/** The own network of a workload that shares none. */
function aloneNetwork(names: Names, id: string): string {
  return boundedName(`gangway-${names.instance}-alone-${id}`);
}

/** The networks that the workload has to be in, by their names on the swarm. */
export function networksFor(
  spec: WorkloadSpec,
  container: ContainerSpec,
  names: Names,
): ServiceParts['networks'] {
  const { network, aliases, furtherNetworks = [] } = container;
  const first =
    network === null
      ? { name: aloneNetwork(names, spec.id), aliases: [] }
      : { name: names.network(network), aliases };
  const others = furtherNetworks.map((one) => ({ ...one, name: names.network(one.name) }));
  return [first, ...others];
}

export function serviceSpec(
  spec: WorkloadSpec,
  container: ContainerSpec,
  parts: ServiceParts,
): Dockerode.CreateServiceOptions {
  const { names, log, nodeId, networks } = parts;
  const labels = names.labelsOf(spec);
  return {
    Name: serviceName(names, spec.id),
    Labels: labels,
    TaskTemplate: {
      ContainerSpec: taskContainer(spec, container, parts),
      Resources: { Limits: limits(spec) },
      RestartPolicy: {
        Condition: spec.kind === 'service' ? 'any' : 'none',
        Delay: restartDelayMs * nsPerMs,
      },
      Placement: { Constraints: [`node.id==${nodeId}`] },
      Networks: networks.map(({ name, aliases }) => ({ Target: name, Aliases: [...aliases] })),
      LogDriver: { Name: logDriver, Options: logOptions(log) },
    },
    Mode: { Replicated: { Replicas: replicasOf(spec) } },
    UpdateConfig: { Parallelism: 0, Order: 'stop-first', FailureAction: 'continue' },
    EndpointSpec: endpoint(spec, container, parts),
  };
}

export function replicasOf(spec: Pick<WorkloadSpec, 'kind' | 'resources'>): number {
  return spec.kind === 'service' ? spec.resources.replicas : 1;
}

function taskContainer(
  spec: WorkloadSpec,
  container: ContainerSpec,
  { names, image }: ServiceParts,
): TaskContainer {
  const { settings } = container;
  const { Entrypoint: entrypoint, Cmd: args } = programOf(spec, container);
  return {
    Image: image,
    // Container events carry these labels, so the end of a task is heard at once.
    Labels: { ...settings?.labels, ...names.labelsOf(spec) },
    // The Command of a service is the entrypoint, and its Args are the command.
    ...(Array.isArray(entrypoint) && { Command: entrypoint }),
    ...(args !== undefined && { Args: args }),
    ...(spec.workingDir !== '' && { Dir: spec.workingDir }),
    ...programSettings(spec, container),
    ...(settings?.health && { HealthCheck: healthCheck(settings.health) }),
    TTY: settings?.tty ?? false,
    Init: settings?.init ?? true,
    ReadOnly: settings?.readOnly ?? false,
    StopGracePeriod: graceSeconds(spec.stopGraceMs) * 1000 * nsPerMs,
    Mounts: mounts(container, names),
    CapabilityDrop: ['ALL'],
    CapabilityAdd: capabilities.map((name) => `CAP_${name}`),
    Privileges: { NoNewPrivileges: true },
  } as TaskContainer;
}

function mounts(container: ContainerSpec, names: Names): Dockerode.MountSettings[] {
  const inMemory = (container.settings?.tmpfs ?? []).map((path) => ({
    Type: 'tmpfs' as const,
    Source: '',
    Target: path,
  }));
  return [...volumeMounts(container, names), ...inMemory];
}

function limits(spec: WorkloadSpec): object {
  const { memoryMb, cpus, pids } = spec.resources;
  return {
    ...(memoryMb !== null && { MemoryBytes: memoryMb * 1024 * 1024 }),
    ...(cpus !== null && { NanoCPUs: Math.round(cpus * 1e9) }),
    ...(pids !== null && { Pids: pids }),
  };
}

function endpoint(
  spec: WorkloadSpec,
  container: ContainerSpec,
  { publishing }: ServiceParts,
): Dockerode.EndpointSpec {
  const innerPort = container.port ?? spec.port;
  // The names in a network lead to the tasks themselves, which needs no balancer in the kernel.
  if (spec.port === null || innerPort === null) return { Mode: 'dnsrr', Ports: [] };
  const port = { Protocol: 'tcp' as const, TargetPort: innerPort };
  if (publishing === 'ingress') {
    const Ports = [{ ...port, PublishedPort: spec.port, PublishMode: 'ingress' as const }];
    return { Mode: 'vip', Ports };
  }
  // On one node each of several tasks gets a free port, which the forwarder finds.
  const isShared = replicasOf(spec) > 1;
  const Ports = [
    { ...port, ...(!isShared && { PublishedPort: spec.port }), PublishMode: 'host' as const },
  ];
  return { Mode: 'dnsrr', Ports };
}

/** The same service, with no node to run on. */
export function parkedSpec(spec: Dockerode.ServiceSpec): Dockerode.ServiceSpec {
  const template = spec.TaskTemplate as Dockerode.ContainerTaskSpec;
  return {
    ...spec,
    TaskTemplate: {
      ...template,
      Placement: { ...template.Placement, Constraints: [stopConstraint] },
    },
  };
}
