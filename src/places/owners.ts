/** Owns which server an app or a database is on. */
import type { Reader } from '../store/reader-and-journal.ts';
import { tables } from '../store/records/tables.ts';

/** Also of one in trash; undefined: there is none of this id. */
export function serverOf(reader: Pick<Reader, 'get'>, ownerId: string): string | undefined {
  const owner = ownerId.startsWith('db_')
    ? reader.get(tables.databases, ownerId)
    : reader.get(tables.apps, ownerId);
  return owner?.serverId;
}
