/** Owns what of previews is taken up at start. */
import type { Reader } from '../../../store/reader-and-journal.ts';
import { tables } from '../../../store/records/tables.ts';
import type { Actors } from '../../runtime/actor.ts';
import { appActor } from '../protocol.ts';

/** Wakes apps with previews that an earlier process did not open or close to the end. */
export function wakePreviews(reader: Reader, actors: Pick<Actors, 'tell'>): void {
  const pending = reader.list(tables.previews, 'pending', [], { limit: Infinity });
  for (const appId of new Set(pending.map((preview) => preview.appId))) {
    actors.tell(appActor.at(appId), { type: 'wake' });
  }
}
