/** Owns what of git deliveries is taken up at start. */
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actors } from '../runtime/actor.ts';
import { gitActor } from './protocol.ts';

/** Wakes connections with deliveries that an earlier process journaled and did not hand on. */
export function wakeDeliveries(reader: Reader, actors: Pick<Actors, 'tell'>): void {
  const open = reader.list(tables.gitDeliveries, 'open', [], { limit: Infinity });
  for (const connectionId of new Set(open.map((delivery) => delivery.connectionId))) {
    actors.tell(gitActor.at(connectionId), { type: 'wake' });
  }
}
