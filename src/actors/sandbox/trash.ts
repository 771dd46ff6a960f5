/** Owns the way of an app or a database out of trash, back or for ever. */
import type { Reader } from '../../store/contract.ts';
import { remove } from '../../store/table.ts';
import type { Change } from '../../store/table.ts';
import { tables } from '../../store/tables.ts';
import type { ActorContext, Protocol } from '../runtime/contract.ts';

/** What takes it off the list and its alarm away. */
export function leaveTrash<P extends Protocol>(
  context: Pick<ActorContext<P>, 'clearAlarm'>,
  reader: Pick<Reader, 'find'>,
  id: string,
): Change[] {
  const item = reader.find(tables.trash, 'target', [id]);
  const changes = [context.clearAlarm('purge')];
  return item === undefined ? changes : [...changes, remove(tables.trash, item.id)];
}
