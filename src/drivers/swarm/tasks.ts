/** Owns what is used of the swarm's answers about services and tasks, and what they say by themselves. */
import type Dockerode from 'dockerode';

import { stopConstraint } from './service-spec.ts';

export interface ServiceView {
  ID: string;
  Version: { Index: number };
  CreatedAt: string;
  Spec: Dockerode.ServiceSpec & { Name: string; Labels: Record<string, string> | null };
}

export interface TaskView {
  ID: string;
  CreatedAt: string;
  ServiceID: string;
  Slot?: number;
  NodeID?: string;
  DesiredState: string;
  Spec: { Placement?: { Constraints?: string[] | null } | null };
  Status: {
    State: string;
    Timestamp: string;
    Message?: string;
    Err?: string;
    ContainerStatus?: { ContainerID?: string; PID?: number; ExitCode?: number } | null;
    PortStatus?: { Ports?: { TargetPort: number; PublishedPort: number }[] | null } | null;
  };
}

const overStates: ReadonlySet<string> = new Set([
  'complete',
  'shutdown',
  'failed',
  'rejected',
  'remove',
  'orphaned',
]);

/** Of tasks that wait where there is no node for them. */
const awaitingStates: ReadonlySet<string> = new Set(['new', 'pending']);

export function isOver({ Status: status }: TaskView): boolean {
  return overStates.has(status.State);
}

export function isAwaiting({ Status: status }: TaskView): boolean {
  return awaitingStates.has(status.State);
}

type Placed = { Placement?: { Constraints?: string[] | null } | null } | undefined;

function isParkedBy(template: Placed): boolean {
  return template?.Placement?.Constraints?.includes(stopConstraint) ?? false;
}

export function isServiceParked({ Spec: spec }: ServiceView): boolean {
  return isParkedBy(spec.TaskTemplate as Placed);
}

/** Whether each task has a port of its node's choice, for there are several. */
export function hasOwnPorts({ Spec: spec }: ServiceView): boolean {
  const port = spec.EndpointSpec?.Ports?.[0];
  return port?.PublishMode === 'host' && !port.PublishedPort;
}

/**
 * Those that run or ran the workload, the oldest first. The others are made only so that a parked service
 * has no room for more, and never run.
 */
export function realTasks(tasks: readonly TaskView[]): TaskView[] {
  return tasks
    .filter(({ Spec: spec }) => !isParkedBy(spec))
    .sort((a, b) => (a.CreatedAt < b.CreatedAt ? -1 : a.CreatedAt > b.CreatedAt ? 1 : 0));
}

/** The newest of each slot. */
export function currentTasks(real: readonly TaskView[]): TaskView[] {
  return [...new Map(real.map((task) => [task.Slot ?? 0, task])).values()];
}

export function containerOf({ Status: status }: TaskView): string | null {
  const id = status.ContainerStatus?.ContainerID;
  return id === undefined || id === '' ? null : id;
}

/** A container's end that swarm tells in words, or one after it had started: it did run. */
function hasEnded(task: TaskView): boolean {
  const { State: state, Err: error = '', Message: last } = task.Status;
  if (state === 'complete' || state === 'shutdown') return containerOf(task) !== null;
  if (state !== 'failed') return false;
  return last === 'started' || /^task: (non-zero exit|unhealthy)/.test(error);
}

/** Whether its container went without the swarm: a daemon that ends in the wrong moment loses some. */
export function isGone({ Status: { State: state, Err: error = '' } }: TaskView): boolean {
  return state === 'orphaned' || (state === 'failed' && /^No such container/i.test(error));
}

/** Whether its program was ever started, as far as the swarm says. */
export function hasBegun(task: TaskView): boolean {
  return task.Status.State === 'running' || hasEnded(task);
}
