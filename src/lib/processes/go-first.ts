/**
 * Owns that who serves goes before others where many want the processor: Gangway and the edge, before the runner and
 * all that it runs.
 *
 * 1. The `nice` values of threads decide: that of the thread that serves is raised, and no other's. Threads that it starts
 *    from then on inherit it, unless they give way. Shares by sessions, of which this says nothing, are turned off by
 *    `machine-settings.ts` of the runner.
 * 2. A program inherits it, too: one that `asOthers` starts has the priority of any other.
 * 3. All of it takes root. Without that all are equal.
 */
import { getPriority, setPriority } from 'node:os';

/** A weight of nine against one. */
const servingPriority = -10;

/** The calling thread serves people, who wait for it: it goes before all that works beside it. */
export function serveFirst(): void {
  // Only on Linux does the priority apply to the calling thread alone. One that it was started with is somebody's wish.
  if (process.platform === 'linux' && getPriority() === 0) raise(servingPriority);
}

/** Calls what starts a program; its result. Without root nobody was raised here, and what a unit gave stays. */
export function asOthers<T>(start: () => T): T {
  const own = getPriority();
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || own >= 0) return start();
  setPriority(0);
  try {
    return start();
  } finally {
    raise(own);
  }
}

function raise(priority: number): void {
  try {
    setPriority(priority);
  } catch {
    // We may not.
  }
}
