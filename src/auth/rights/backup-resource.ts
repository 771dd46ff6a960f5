/** Owns by what the right to a backup is judged. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { BackupTarget } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { Resource } from './authorize.ts';

/** The app or database, also in trash; its team when it is gone for good. */
export function resourceOfBackup(
  reader: Reader,
  { kind, targetId, teamId }: Readonly<BackupTarget & { teamId: string }>,
): Exclude<Resource, { kind: 'instance' }> {
  if (kind === 'app') {
    const app = reader.get(tables.apps, targetId);
    if (app !== undefined) return { kind, app, trashed: true };
  } else {
    const database = reader.get(tables.databases, targetId);
    if (database !== undefined) return { kind, database, trashed: true };
  }
  return { kind: 'team', teamId };
}
