/**
 * Owns the order of the pushes to one branch, which may be delivered late, twice, and in any order: what is
 * known of earlier ones tells whether one came late.
 */

/** The head of the branch moved. */
export interface Move {
  /** Null: the branch was new, or nobody says. */
  before: string | null;
  /** Null: the branch was deleted. */
  after: string | null;
  /** When the head was committed; null where nobody says. */
  committedAtMs: number | null;
}

/** Whether a later push was seen before this one. `seen`: what moved the branch, the latest last. */
export function isOutdated(move: Move, seen: readonly Move[]): boolean {
  const last = seen.at(-1);
  // What follows the last head is new, also where it goes back to an earlier commit.
  if (last === undefined || last.after === move.before || last.after === move.after) return false;
  const { after, committedAtMs } = move;
  if (after === null) return false;
  if (seen.some((other) => other.after === after || other.before === after)) return true;
  if (committedAtMs === null || last.committedAtMs === null) return false;
  return committedAtMs < last.committedAtMs;
}

/** Whether the message of a commit says that it is not to be deployed. */
export function isSkipped(message: string | null): boolean {
  return message !== null && /\[(skip ci|ci skip)\]/i.test(message);
}
