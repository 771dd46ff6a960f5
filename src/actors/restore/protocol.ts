/**
 * Owns the messages of restores, which the actors of apps and of databases have in common. The sender's rights
 * were checked before; the actor checks the state.
 */
import type { RestoreRunRecord } from '../../store/records/records.ts';

/** How far the caller may go beyond the data. */
export interface RestoreRights {
  configure: boolean;
  env: boolean;
  /** To give the app another source. */
  upload: boolean;
}

/** What a follower of a restore is told. */
export interface RestoreNews {
  status: RestoreRunRecord['status'];
  error: string | null;
  lines: string[];
  /** The number of the line behind them. */
  next: number;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type RestoreProtocol = {
  /**
   * Reserves the target for a restore whose artifact is received: RESTORE_RUNNING. The artifact has to be put
   * into `dir` as `name`. Ends with `restore-commit`, `restore-abort`, or the death of this process.
   */
  'restore-begin': { in: object; out: { run: RestoreRunRecord; dir: string; name: string } };
  /** The artifact is there: restores it. The recoveryKey is kept in memory, and only while that takes. */
  'restore-commit': {
    in: { restoreId: string; recoveryKey: string | null; rights: RestoreRights };
    out: boolean;
  };
  /** There is no artifact: ends the restore, and removes what arrived. */
  'restore-abort': { in: { restoreId: string; reason: string }; out: boolean };
  /** Restores a backup: RESTORE_RUNNING, RUN_NOT_FINISHED, ARTIFACT_GONE. */
  'restore-run': {
    in: { backupRunId: string; rights: RestoreRights };
    out: RestoreRunRecord;
  };
  /** What the log of a restore says from this line on. */
  'restore-news': { in: { restoreId: string; from: number }; out: RestoreNews };
};
