/** Owns the shape of what is stored of a move to another server. */

/** The latest move of an app or a database. */
export interface MoveRecord {
  fromServerId: string;
  toServerId: string;
  /** `starting`: it is at the other server, and has to be well there. */
  phase: 'copying' | 'starting' | 'done' | 'failed';
  /** Of its tar files, so far. */
  bytes: number;
  /** A sentence; null unless it failed. */
  error: string | null;
  /** Its uids at both, 0 for none of its own. */
  fromUid: number;
  toUid: number;
  /** Whether its files are still to be removed where they are no more needed. */
  hasLeftover: boolean;
  startedAtMs: number;
  endedAtMs: number | null;
}
