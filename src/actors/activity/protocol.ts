/**
 * Owns the messages of the `activity` actor: entries without another actor's change, and the removal of old
 * entries. There is one such actor, `activityActor.at('log')`.
 */
import { actorKind } from '../runtime/actor.ts';
import type { ReadsOfDay } from './reads.ts';

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type ActivityProtocol = {
  /** Changes nothing itself: the message's cause is recorded if it says `always`. */
  note: { in: object; out: boolean };
  /** A recorded request failed in the end: its entry says so. False when there is no entry. */
  failed: { in: { id: string; code: string }; out: boolean };
  /** Writes counts of reads over MCP, in place of the counts written before. */
  reads: { in: { reads: readonly ReadsOfDay[] }; out: boolean };
  /** Drops entries that are older than the days kept, and those above a team's limit. Repeats daily. */
  prune: { in: object; out: number };
  trim: { in: { teamId: string | null }; out: number };
};

export const activityActor = actorKind<ActivityProtocol>('activity');
export const activityLog = activityActor.at('log');
