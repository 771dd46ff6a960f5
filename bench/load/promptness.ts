/**
 * Owns the priority of load programs. A real client has a machine of its own. On few cores, the figures
 * would otherwise show how load and server wait for each other.
 *
 * Where the kernel shares the processor by sessions (sched(7), autogroup), a priority says nothing to programs of
 * others, so that of the session goes with it: each load has one of its own.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/** The rank of a session that stands back: a weight of a third, so that an attack comes about beside others, too. */
const standingBack = 5;

/**
 * For load that measures: it goes before others, and what it made before is not collected while it
 * measures. Call it when all is ready.
 *
 * In the real-time class, since a priority decides how much of a core one gets, not when: with it alone a load
 * waited up to 3 ms for a core behind threads that compress, which was charged to the server.
 */
export function bePrompt(): void {
  try {
    if (!scheduled('--fifo', 1)) setPriority(constants.priority.PRIORITY_HIGHEST);
    rankSession(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not allowed to: how late it is, is reported.
  }
  // There where `promptFlags` were given.
  globalThis.gc?.();
}

/**
 * For load that only makes work beside what is measured: it takes what others leave, and leaves the core
 * at once. A low priority alone keeps it till the next tick of the kernel, which may be 4 ms.
 */
export function standBack(): void {
  if (!scheduled('--idle', 0)) setPriority(constants.priority.PRIORITY_LOW);
  rankSession(standingBack);
}

/** Puts all threads of this process in a class of the scheduler; false where it may not. */
function scheduled(policy: '--fifo' | '--idle', priority: number): boolean {
  const args = ['--all-tasks', policy, '--pid', String(priority), String(process.pid)];
  return spawnSync('chrt', args, { stdio: 'ignore' }).status === 0;
}

function rankSession(priority: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(priority));
  } catch {
    // The kernel knows no shares of sessions, or we may not.
  }
}

/** Of Node: room for what a few seconds of load make, so that nothing is collected meanwhile. */
export const promptFlags = [
  '--expose-gc',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
] as const;
