/** Owns the dependencies of restores, which the actors of apps and of databases have in common. */
import type { RunTurns } from '../../backups/runs/run-turns.ts';
import type { StoredArtifact } from '../../backups/restores/fetched.ts';
import type { checkInThread, readInThread } from '../../backups/threads/restore-thread.ts';
import type { Recover, RestorerOf } from '../../backups/restores/restorer-of.ts';

export interface RestoreDeps {
  /** Where artifacts lie while they are restored: `<root>/<restore id>`. The folder is made when missing. */
  root: string;
  /** See `checkInThread`. */
  check: typeof checkInThread;
  /** Bytes that an artifact may unpack to. */
  room: () => number;
  /** See `readInThread`. */
  read: typeof readInThread;
  /** How many restores check and replace at a time. */
  turns: RunTurns;
  /** For one restore, from its turn until its data takes the place of the live one. */
  deadlineMs: number;
  /** What brings backups from their place, and opens what is encrypted there. Throws NOT_FOUND. */
  openPlace: (destinationId: string) => {
    /** See `fetchArtifact`. */
    fetch: (
      artifact: StoredArtifact,
      path: string,
      seen: (bytes: number) => void,
      signal: AbortSignal,
    ) => Promise<void>;
    recoveryKey: string | null;
  };
  restorerOf: RestorerOf;
  recover: Recover;
}

/** Ended restores of a target that are remembered. */
export const restoresKept = 50;
/** A stored log is at most so old. */
export const saveLogEveryMs = 250;
export const progressEveryMs = 2_000;
/** How often, and for how long, it is tried to end what a restore left that died: its server has to start. */
export const recoverEveryMs = 1_000;
export const recoverForMs = 5 * 60_000;
/** How often it is looked whether work of the target has ended. */
export const idlePollMs = 100;
