/** Owns what of the restores is taken up at start. */
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import { databaseActor } from '../database/protocol.ts';
import type { Actors } from '../runtime/actor.ts';

/** Wakes the targets of restores that an earlier process left: they end them. */
export function wakeRestores(reader: Reader, actors: Pick<Actors, 'tell'>): void {
  for (const { kind, targetId } of reader.list(tables.restoreRuns, 'open', [], {
    limit: Infinity,
  })) {
    if (kind === 'app') actors.tell(appActor.at(targetId), { type: 'wake' });
    else actors.tell(databaseActor.at(targetId), { type: 'wake' });
  }
}
