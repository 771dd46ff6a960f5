/**
 * Owns that a load program is there when it is due: it goes before others where they want the same
 * core, and what it made before it measures is not collected while it does.
 *
 * What a user waits is not what another program on this machine keeps the load from doing: on few
 * cores, waiting for a core would otherwise be most of what a fast server is charged for.
 */
import { constants, setPriority } from 'node:os';

/** Call it when all is ready and nothing was measured yet. */
export function bePrompt(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not allowed to: how late it is, is reported.
  }
  // There where `promptFlags` were given.
  globalThis.gc?.();
}

/** Of Node: room for what a few seconds of load make, so that nothing is collected meanwhile. */
export const promptFlags = [
  '--expose-gc',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
] as const;
