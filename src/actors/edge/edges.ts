/** Owns who is told what concerns the edges of all servers. */
import { localServerId } from '../../places/local-place.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorRef } from '../runtime/actor.ts';
import { edgeActor, type EdgeProtocol } from './edge-actor.ts';

/** This machine's first. */
export function allEdges(reader: Pick<Reader, 'list'>): ActorRef<EdgeProtocol>[] {
  const others = reader.list(tables.servers, 'added', [], { limit: Infinity });
  return [localServerId, ...others.map(({ id }) => id)].map((id) => edgeActor.at(id));
}
