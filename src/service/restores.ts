/** Owns what restores are given: where artifacts lie meanwhile, how they are opened, what puts them back. */
import type { SourceParts } from '../actors/backup/sources.ts';
import type { RestoreDeps } from '../actors/restore/deps.ts';
import { recover, restorerOf } from '../actors/restore/restorers.ts';
import { placeOf, recoveryContext } from '../actors/destination/place.ts';
import { roomAt } from '../lib/kept-free.ts';
import { RunTurns } from '../backups/runs/run-turns.ts';
import { checkInThread, fetchInThread, readInThread } from '../backups/threads/restore-thread.ts';
import { ServiceError } from '../lib/errors.ts';
import { tables } from '../store/records/tables.ts';
import type { Config } from '../config.ts';
import type { Driver } from '../drivers/driver.ts';
import type { AppsRoot } from '../drivers/process/apps-root.ts';
import type { GuardedFetch } from '../lib/guarded-fetch.ts';
import type { DataFolders } from './data-folders.ts';

export interface RestorePartsOptions {
  config: Pick<Config, 'dataDir' | 'backupRoots' | 'backupConcurrency' | 'backupTimeoutMinutes'>;
  fetch: GuardedFetch;
  folders: Pick<DataFolders, 'restores'>;
  driver: Pick<Driver, 'runs'>;
  appsRoot: Pick<AppsRoot, 'appsRoot'>;
}

export function restoreDeps(
  { config, fetch, folders, driver, appsRoot }: RestorePartsOptions,
  sources: SourceParts,
): RestoreDeps {
  const { reader, secrets } = sources;
  return {
    root: folders.restores,
    check: checkInThread,
    // Containers write to a disk of their daemon.
    room: () => (driver.runs === 'image' ? Infinity : roomAt(appsRoot.appsRoot)),
    read: readInThread,
    turns: new RunTurns(config.backupConcurrency),
    deadlineMs: config.backupTimeoutMinutes * 60_000,
    openPlace: (destinationId) => {
      const record = reader.get(tables.destinations, destinationId);
      if (record === undefined) throw new ServiceError('NOT_FOUND', 'No such destination.');
      const sealed = record.encryption?.recoveryKeySealed;
      const recoveryKey = sealed && secrets.open(sealed, recoveryContext(destinationId));
      const place = placeOf(record, config, secrets);
      return {
        recoveryKey: recoveryKey ?? null,
        fetch: (artifact, path, seen, signal) =>
          fetchInThread(artifact, { place, rules: fetch.rules }, path, seen, signal),
      };
    },
    restorerOf: (of) => restorerOf(sources, of),
    recover: (of, signal) => recover(sources, of, signal),
  };
}
