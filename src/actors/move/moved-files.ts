/** Owns where files of an app or a database are that its last move left. */
import type { WorkloadRecord } from '../workload/core.ts';

/** `uid`: theirs, 0 for none of its own. Null: nothing is left. */
export function leftoverOf({
  serverId,
  move,
}: Pick<WorkloadRecord, 'serverId' | 'move'>): { serverId: string; uid: number } | null {
  if (move?.hasLeftover !== true) return null;
  const left =
    move.phase === 'done'
      ? { serverId: move.fromServerId, uid: move.fromUid }
      : { serverId: move.toServerId, uid: move.toUid };
  return left.serverId === serverId ? null : left;
}
