/** Owns the files of an app or a database at the places of its move: where they are, and what is left there behind it. */
import type { OwnTrees, Place } from '../../places/place.ts';
import type { WorkloadKind, WorkloadRecord } from '../workload/core.ts';

/** `uid`: theirs, 0 for none of its own. */
export interface FilesPlace {
  serverId: string;
  uid: number;
}

export interface MovedFiles {
  readonly trees: Pick<OwnTrees, 'fill' | 'pack'>;
  ensure(): Promise<void>;
  remove(signal?: AbortSignal): Promise<void>;
}

interface Mover {
  id: string;
  kind: Pick<WorkloadKind<never>, 'name'>;
  placeAt: (serverId: string) => Place;
}

/** Null: nothing is left. */
export function leftoverOf({
  serverId,
  move,
}: Pick<WorkloadRecord, 'serverId' | 'move'>): FilesPlace | null {
  if (move?.hasLeftover !== true) return null;
  const left =
    move.phase === 'done'
      ? { serverId: move.fromServerId, uid: move.fromUid }
      : { serverId: move.toServerId, uid: move.toUid };
  return left.serverId === serverId ? null : left;
}

/** Rejects with AGENT_UNREACHABLE. */
export async function filesAt(mover: Mover, { serverId, uid }: FilesPlace): Promise<MovedFiles> {
  const machine = await mover.placeAt(serverId).machine();
  return machine[mover.kind.name]({ id: mover.id, uid: uid > 0 ? uid : null });
}
