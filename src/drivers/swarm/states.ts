/** Owns the translation of a service and its tasks into the states of the driver interface. */
import type { Exit, WorkloadState } from '../../protocol/workload.ts';
import type { KnownSpec } from '../docker/engine/names.ts';
import type { EndNote } from '../docker/workloads/end-notes.ts';
import {
  type ContainerView,
  exitOf,
  failedExit,
  healthOf,
  sentenceOf,
  signalOf,
} from '../docker/workloads/states.ts';
import { restartDelayMs } from './service-spec.ts';
import {
  containerOf,
  currentTasks,
  hasBegun,
  isAwaiting,
  isGone,
  isOver,
  isServiceParked,
  type ServiceView,
  type TaskView,
} from './tasks.ts';

/** A workload as the swarm shows it. */
export interface Found {
  service: ServiceView;
  known: KnownSpec;
  /** The tasks that run or ran the workload, the oldest first. */
  tasks: readonly TaskView[];
  /** The containers of the tasks by id, where they exist. */
  containers: ReadonlyMap<string, ContainerView>;
}

/**
 * A task without a node after this time will hardly find one. The port of what was just removed is free a while
 * later.
 */
const patienceMs = 5000;

/** Whether the task runs: its container says so, or the swarm when there is no container. */
export function isAlive(task: TaskView, { containers }: Pick<Found, 'containers'>): boolean {
  if (isOver(task)) return false;
  const view = viewOf(task, containers);
  // With a health check, the swarm calls a running task `starting` until it is healthy.
  if (view) return view.State.Running;
  return task.Status.State === 'running';
}

export function begun(task: TaskView, { containers }: Pick<Found, 'containers'>): boolean {
  const view = viewOf(task, containers);
  if (view) return !view.State.StartedAt.startsWith('0001');
  return hasBegun(task);
}

function viewOf(task: TaskView, containers: Found['containers']): ContainerView | undefined {
  return containers.get(containerOf(task) ?? '');
}

/** Whether the task has ended by itself, even if the swarm has not noticed yet. */
function hasExited(task: TaskView, found: Found): boolean {
  if (isOver(task)) return true;
  const view = viewOf(task, found.containers);
  return view?.State.Status === 'exited' || view?.State.Status === 'dead';
}

/** `restarts` counts all tasks of the workload, even those that the swarm has forgotten. */
export function stateOf(found: Found, note: EndNote | undefined, restarts: number): WorkloadState {
  const { service, known, tasks } = found;
  if (note?.failed) return { phase: 'ended', exit: note.failed };
  const current = currentTasks(tasks);
  const alive = current.filter((task) => isAlive(task, found));
  if (alive.length > 0) {
    const before = restarts > 0 ? lastEnded(tasks, found) : undefined;
    const lastExit = before && exitOfTask(before, found, 'exited');
    return { ...runningState(alive, found, restarts), ...(lastExit && { lastExit }) };
  }
  const isStopped = isServiceParked(service);
  const last = lastEnded(tasks, found);
  if (isStopped && current.every((task) => hasExited(task, found) || !begun(task, found))) {
    const reason = note?.ending ?? 'stopped';
    return {
      phase: 'ended',
      exit: last ? exitOfTask(last, found, reason) : unstarted(found, reason),
    };
  }
  if (!last) {
    return { phase: 'running', startedAtMs: Date.parse(service.CreatedAt), restarts };
  }
  if (known.kind === 'job') {
    return { phase: 'ended', exit: exitOfTask(last, found, note?.ending ?? 'exited') };
  }
  const lastExit = exitOfTask(last, found, 'exited');
  return { phase: 'waiting', restarts, nextStartAtMs: lastExit.atMs + restartDelayMs, lastExit };
}

function runningState(
  alive: readonly TaskView[],
  found: Found,
  restarts: number,
): Extract<WorkloadState, { phase: 'running' }> {
  const starts = alive.map((task) => startedAtMs(task, found));
  const healths = alive.flatMap((task) => {
    const { health } = healthOf(viewOf(task, found.containers)?.State.Health?.Status);
    return health === undefined ? [] : [health];
  });
  // The best health of all tasks counts, because one healthy task can serve.
  const health = (['healthy', 'starting', 'unhealthy'] as const).find((one) =>
    healths.includes(one),
  );
  return {
    phase: 'running',
    startedAtMs: Math.min(...starts),
    restarts,
    ...(health !== undefined && { health }),
  };
}

export function startedAtMs(task: TaskView, found: Found): number {
  return timeOf('StartedAt', task, found);
}

function timeOf(which: 'StartedAt' | 'FinishedAt', task: TaskView, found: Found): number {
  const view = viewOf(task, found.containers);
  return Date.parse(view ? view.State[which] : task.Status.Timestamp);
}

function lastEnded(tasks: readonly TaskView[], found: Found): TaskView | undefined {
  const ended = tasks.filter((task) => hasExited(task, found) && begun(task, found));
  const atOf = (task: TaskView): number => timeOf('FinishedAt', task, found);
  return ended.sort((a, b) => atOf(a) - atOf(b)).at(-1) ?? tasks.findLast((task) => isOver(task));
}

/** The swarm ends a task whose own health check fails. */
function exitOfTask(task: TaskView, found: Found, reason: Exit['reason']): Exit {
  const exit = plainExitOf(task, found, reason);
  const isUnhealthy = task.Status.Err?.includes('unhealthy container') === true;
  return isUnhealthy ? { ...exit, cause: 'unhealthy' } : exit;
}

function plainExitOf(task: TaskView, found: Found, reason: Exit['reason']): Exit {
  const view = viewOf(task, found.containers);
  if (view && begun(task, found)) return exitOf(view, reason);
  const { State: state, Err: error = '', Timestamp: time, ContainerStatus: ended } = task.Status;
  const atMs = Date.parse(time);
  if (isGone(task)) {
    const what = state === 'orphaned' ? 'The server it ran on' : 'Its container';
    const detail = `${what} is gone from the swarm.`;
    return { code: null, signal: null, reason: 'lost', detail, atMs };
  }
  if (!hasBegun(task)) {
    const detail = error === '' ? null : sentenceOf(error);
    return { code: null, signal: null, reason, detail, atMs };
  }
  const code = ended?.ExitCode ?? 0;
  const signal = signalOf(code);
  return { code: signal === null ? code : null, signal, reason, detail: null, atMs };
}

function unstarted({ service }: Found, reason: Exit['reason']): Exit {
  return { code: null, signal: null, reason, detail: null, atMs: Date.parse(service.CreatedAt) };
}

/** Why the workload will never run; undefined while it still may. */
export function startFailure(found: Found, nowMs: number): Exit | undefined {
  const { tasks, known } = found;
  if (tasks.some((task) => begun(task, found))) return undefined;
  for (const task of tasks) {
    // The swarm makes another task.
    if (known.kind === 'service' && isGone(task)) continue;
    const { State: state, Err: error = '', Timestamp: time } = task.Status;
    if (state === 'rejected' || (state === 'failed' && error !== '')) {
      return failedExit(sentenceOf(error), Date.parse(time));
    }
    const view = viewOf(task, found.containers);
    if (view?.State.Error) return failedExit(sentenceOf(view.State.Error), nowMs);
    if (!isAwaiting(task) || !error.startsWith('no suitable node')) continue;
    const waitedMs = nowMs - Date.parse(task.CreatedAt);
    if (waitedMs > patienceMs) return failedExit(sentenceOf(error), nowMs);
  }
  return undefined;
}
