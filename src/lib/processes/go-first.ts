/**
 * Owns that a program goes before others where many want the processor.
 *
 * 1. Where the kernel shares it by sessions (sched(7), autogroup), `goFirst` puts that of this process first.
 * 2. Within a session, and where there are no such shares, the `nice` values of threads decide: `serveFirst` raises
 *    that of the thread that serves, and no other's. Threads that it starts from then on inherit it, unless they give
 *    way.
 * 3. A program inherits it, too: one that `asOthers` starts has the priority of any other.
 * 4. Both take root. Without it all are equal.
 */
import fs from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** A weight of nine against one. */
const servingPriority = -10;

/**
 * The edge and its runner go before what they lead to, where the kernel shares the processor by sessions (sched(7),
 * autogroup): each program has one of its own, and so does this process.
 */
export function goFirst(): void {
  try {
    fs.writeFileSync('/proc/self/autogroup', '-5');
  } catch {
    // It counts none, or we are not root.
  }
}

/** The calling thread serves people, who wait for it: it goes before all that works beside it. */
export function serveFirst(): void {
  goFirst();
  // Only on Linux does the priority apply to the calling thread alone.
  if (process.platform !== 'linux') return;
  try {
    setPriority(servingPriority);
  } catch {
    // We are not root.
  }
}

/** Calls what starts a program; its result. */
export function asOthers<T>(start: () => T): T {
  const own = getPriority();
  if (process.platform !== 'linux' || own >= 0) return start();
  setPriority(0);
  try {
    return start();
  } finally {
    setPriority(own);
  }
}
