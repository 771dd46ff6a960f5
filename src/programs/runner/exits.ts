/** Owns what is said of ends that the exit of a process does not tell by itself. */
import type { Exit } from '../../protocol/workload.ts';

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
