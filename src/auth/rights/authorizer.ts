/**
 * Owns the one question every transport asks: may this principal do this to that?
 *
 * 1. What the principal cannot see does not exist: NOT_FOUND.
 * 2. What it sees but may not do is FORBIDDEN with the capability's name.
 * 3. Unknown kinds, missing records and missing scope are refused.
 */
import type { Capability } from '../../lib/capabilities.ts';
import type { AppRecord, DatabaseRecord, FolderRecord } from '../../store/records/records.ts';

export type Resource =
  | { kind: 'team'; teamId: string }
  | { kind: 'folder'; folder: Readonly<FolderRecord> }
  /** An app or a database in trash does not exist, unless asked about as `trashed`: to restore or purge it. */
  | { kind: 'app'; app: Readonly<AppRecord>; trashed?: true }
  | { kind: 'database'; database: Readonly<DatabaseRecord>; trashed?: true }
  | { kind: 'instance' };

/** A capability, `null` for merely seeing the thing, or `admin` for the instance administrator. */
export type Need = Capability | 'admin' | null;
