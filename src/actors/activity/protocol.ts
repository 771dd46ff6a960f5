/**
 * Owns the messages of the `activity` actor: what is recorded without another actor's change, and
 * the end of what was kept long enough. There is one, `activityActor.at('log')`.
 */
import { actorKind } from '../runtime/actor.ts';
import type { ReadsOfDay } from './reads.ts';

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type ActivityProtocol = {
  /** Changes nothing itself: the cause it carries is recorded when that says `always`. */
  note: { in: object; out: boolean };
  /** A request that was recorded failed in the end: its entry says so. False when there is none. */
  failed: { in: { id: string; code: string }; out: boolean };
  /** Writes how often something was read over MCP, in place of what was written of that before. */
  reads: { in: { reads: readonly ReadsOfDay[] }; out: boolean };
  /** Drops what is older than the days kept, and more than a team may have; comes again daily. */
  prune: { in: object; out: number };
  trim: { in: { teamId: string | null }; out: number };
};

export const activityActor = actorKind<ActivityProtocol>('activity');
export const activityLog = activityActor.at('log');
