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
 */
export function bePrompt(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
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
  const args = ['--all-tasks', '--idle', '--pid', '0', String(process.pid)];
  const { status } = spawnSync('chrt', args, { stdio: 'ignore' });
  if (status !== 0) setPriority(constants.priority.PRIORITY_LOW);
  rankSession(standingBack);
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
