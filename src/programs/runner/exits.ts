/** Owns what is said of ends that the exit of a process does not tell by itself, and the end of fork bombs. */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { killAll } from '../../lib/processes/ending.ts';
import type { Membership } from '../../lib/processes/processes.ts';
import type { Exit, WorkloadSpec } from '../../protocol/workload.ts';
import { type Confinement, defaultPidsMax } from './limits/confinement.ts';

/** What ran when an earlier runner ended. */
export function lostExit(atMs: number): Exit {
  const detail = 'The runner ended while this ran.';
  return { code: null, signal: null, reason: 'lost', detail, atMs };
}

/** What the kernel ended for its memory, the program itself or one it had started. */
export function shortOfMemory(exit: Exit, memoryMb: number | null): Exit {
  const limit = `its ${String(memoryMb ?? 0)} MB of memory`;
  const detail =
    exit.signal === 'SIGKILL'
      ? `It used more than ${limit} and was ended.`
      : `A process of it was ended because it used more than ${limit}.`;
  return { ...exit, cause: 'out_of_memory', detail: exit.detail ?? detail };
}

export interface ForkBombParts {
  confinement: Confinement;
  clock: Clock;
  logger: Logger;
}

/** Ends what goes on making processes beyond its number, until what it returns is told the exit, which that explains. */
export function endForkBombs(
  { confinement, clock, logger }: ForkBombParts,
  { id, resources }: Pick<WorkloadSpec, 'id' | 'resources'>,
  membership: Membership,
): (exit: Exit) => Exit {
  let isBomb = false;
  const leave = confinement.watchForks(clock, () => {
    isBomb = true;
    logger.warn({ workload: id }, 'fork_bomb_ended');
    void killAll(membership, clock);
  });
  return (exit) => {
    leave();
    if (!isBomb) return exit;
    const pids = String(resources.pids ?? defaultPidsMax);
    const detail = `It went on starting processes beyond its ${pids} (resources.pids), and was ended.`;
    return { ...exit, detail: exit.detail ?? detail };
  };
}
