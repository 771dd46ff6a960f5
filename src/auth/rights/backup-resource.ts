/** Owns by what the right to a backup is judged. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { BackupTarget } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { Resource } from './authorize.ts';

/** The app or database, also in trash; its team when it is gone for good. Of the instance the backup itself. */
export function resourceOfBackup(
  reader: Reader,
  { kind, targetId, teamId }: Readonly<BackupTarget & { teamId: string }>,
): Exclude<Resource, { kind: 'instance' }> {
  if (kind === 'instance') return { kind: 'backup', teamId };
  if (kind === 'app') {
    const app = reader.get(tables.apps, targetId);
    if (app !== undefined) return { kind, app, trashed: true };
  } else {
    const database = reader.get(tables.databases, targetId);
    if (database !== undefined) return { kind, database, trashed: true };
  }
  return { kind: 'team', teamId };
}

/** Whether backups of the instance go, or went, to this destination. */
export function keepsInstance(reader: Reader, destinationId: string): boolean {
  const goesThere = (of: BackupTarget): boolean => of.kind === 'instance';
  const at = [destinationId];
  const all = { limit: Infinity };
  return (
    reader.list(tables.backupSchedules, 'destination', at, all).some(goesThere) ||
    reader.list(tables.backupRuns, 'destination', at, all).some(goesThere)
  );
}
