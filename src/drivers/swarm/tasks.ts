/** Owns the used part of the swarm's answers about services and tasks, and what follows from it alone. */
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

/** The states of tasks that wait for a node. */
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

/** Whether each task has a port that its node chose, because there are several tasks. */
export function hasOwnPorts({ Spec: spec }: ServiceView): boolean {
  const port = spec.EndpointSpec?.Ports?.[0];
  return port?.PublishMode === 'host' && !port.PublishedPort;
}

/**
 * The tasks that run or ran the workload, the oldest first. The other tasks never run: the swarm makes them
 * for a parked service.
 */
export function realTasks(tasks: readonly TaskView[]): TaskView[] {
  return tasks
    .filter(({ Spec: spec }) => !isParkedBy(spec))
    .sort((a, b) => (a.CreatedAt < b.CreatedAt ? -1 : a.CreatedAt > b.CreatedAt ? 1 : 0));
}

/** The newest task of each slot. */
export function currentTasks(real: readonly TaskView[]): TaskView[] {
  return [...new Map(real.map((task) => [task.Slot ?? 0, task])).values()];
}

export function containerOf({ Status: status }: TaskView): string | null {
  const id = status.ContainerStatus?.ContainerID;
  return id === undefined || id === '' ? null : id;
}

/**
 * Whether the program ran and ended: the swarm reports an end of its container, or a failure after its
 * start.
 */
function hasEnded(task: TaskView): boolean {
  const { State: state, Err: error = '', Message: last } = task.Status;
  if (state === 'complete' || state === 'shutdown') return containerOf(task) !== null;
  if (state !== 'failed') return false;
  return last === 'started' || /^task: (non-zero exit|unhealthy)/.test(error);
}

/** Whether the container disappeared without the swarm. A daemon that ends at the wrong moment loses some. */
export function isGone({ Status: { State: state, Err: error = '' } }: TaskView): boolean {
  return state === 'orphaned' || (state === 'failed' && /^No such container/i.test(error));
}

/** Whether the program was ever started, as far as the swarm knows. */
export function hasBegun(task: TaskView): boolean {
  return task.Status.State === 'running' || hasEnded(task);
}
