/**
 * Owns the step from a workload to the service that the swarm is asked to run.
 *
 * 1. All that is needed of a workload after a restart stands in the service's labels.
 * 2. Every service is bound to one node, from its beginning to its end.
 * 3. A service that is stopped keeps its tasks, and with them their logs and exit codes: it is asked
 *    for a node that does not exist, and never for fewer tasks.
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
  /** What the tasks run: an id of the daemon's. */
  image: string;
  /** The node it has to run on: the image and its volumes are there, and nowhere else. */
  nodeId: string;
  /** By what they are called on the swarm. */
  networks: readonly { name: string; aliases: readonly string[] }[];
}

/** No node is called so. */
export const stopConstraint = 'node.id==gangway-stopped';
/** As the swarm has it: what crashes at once must not take all of a node. */
export const restartDelayMs = 2000;
const nsPerMs = 1_000_000;
const nameMax = 63;
/** What the daemon of 20.10 does not know yet is left out by it. */
type TaskContainer = Dockerode.ContainerSpec & {
  CapabilityAdd: string[];
  CapabilityDrop: string[];
};

/** A name within what the swarm allows; a long one ends in a digest. */
export function boundedName(name: string): string {
  const isFit = name.length <= nameMax && /[a-z0-9]$/.test(name);
  if (isFit) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${name.slice(0, nameMax - 17).replace(/[-_]+$/, '')}-${digest}`;
}

export function serviceName(names: Names, id: string): string {
  return boundedName(names.container(id));
}

/** Its own network, for a workload that shares none. */
function aloneNetwork(names: Names, id: string): string {
  return boundedName(`gangway-${names.instance}-alone-${id}`);
}

/** Those it has to be in, by what they are called on the swarm. */
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
    // Container events carry them: so the death of a task is heard at once.
    Labels: { ...settings?.labels, ...names.labelsOf(spec) },
    // A service's command is the entrypoint, and its arguments the command.
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
  // Names of a network lead to the tasks themselves: that needs no balancer in the kernel.
  if (spec.port === null || innerPort === null) return { Mode: 'dnsrr', Ports: [] };
  const port = { Protocol: 'tcp' as const, TargetPort: innerPort };
  if (publishing === 'ingress') {
    const Ports = [{ ...port, PublishedPort: spec.port, PublishMode: 'ingress' as const }];
    return { Mode: 'vip', Ports };
  }
  // Several on one node: each has a port of the node's choice, and who forwards finds it.
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
