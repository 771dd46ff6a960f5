/**
 * Owns workloads as another machine tells them: of what it says only what a workload is made of is taken, and none of it
 * when a part is not what it should be.
 */
import { isRecord } from './agent-wire.ts';
import type { Exit, Workload, WorkloadState } from './workload.ts';

const textMax = 2000;
/** Of a Date, in milliseconds from the epoch. */
const timeMax = 8.64e15;
const reasons = ['exited', 'stopped', 'deadline', 'failed_to_start', 'lost'] as const;
const causes = ['out_of_memory', 'unhealthy'] as const;
const healths = ['starting', 'healthy', 'unhealthy'] as const;

/** Throws where it is none. */
export function foreignWorkload(told: unknown): Workload {
  const { spec, state, address } = fields(told);
  const { id, owner, kind, port } = fields(spec);
  const place = address === undefined ? undefined : fields(address);
  return {
    spec: {
      id: text(id),
      owner: text(owner),
      kind: oneOf(['job', 'service'] as const, kind),
      port: port === null ? null : count(port, 65_535),
    },
    state: stateIn(fields(state)),
    ...(place && { address: { host: text(place['host']), port: count(place['port'], 65_535) } }),
  };
}

function stateIn(told: Readonly<Record<string, unknown>>): WorkloadState {
  const { phase, startedAtMs, nextStartAtMs, restarts, lastExit, health, portTaken } = told;
  const taken = portTaken === true && ({ portTaken } as const);
  switch (phase) {
    case 'running':
      return {
        phase,
        startedAtMs: time(startedAtMs),
        restarts: count(restarts),
        ...(lastExit !== undefined && { lastExit: exitIn(lastExit) }),
        ...(health !== undefined && { health: oneOf(healths, health) }),
        ...taken,
      };
    case 'waiting':
      return {
        phase,
        restarts: count(restarts),
        nextStartAtMs: time(nextStartAtMs),
        lastExit: exitIn(lastExit),
        ...taken,
      };
    case 'ended':
      return { phase, exit: exitIn(told['exit']) };
    default:
      throw unfit();
  }
}

function exitIn(told: unknown): Exit {
  const { code, signal, reason, cause, detail, atMs } = fields(told);
  return {
    code: code === null ? null : count(code, 255),
    signal: signal === null ? null : text(signal),
    reason: oneOf(reasons, reason),
    ...(cause !== undefined && { cause: oneOf(causes, cause) }),
    detail: detail === null ? null : text(detail),
    atMs: time(atMs),
  };
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw unfit();
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value.length > textMax) throw unfit();
  return value;
}

function time(value: unknown): number {
  if (typeof value !== 'number' || !(Math.abs(value) <= timeMax)) throw unfit();
  return value;
}

function count(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw unfit();
  if (value < 0 || value > max) throw unfit();
  return value;
}

function oneOf<T extends string>(all: readonly T[], value: unknown): T {
  const found = all.find((one) => one === value);
  if (found === undefined) throw unfit();
  return found;
}

function unfit(): Error {
  return new Error('Cannot read a workload of another server: it is none');
}
