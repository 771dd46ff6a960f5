/** Owns which restorer a target has, and what it is given of the target. Everything is read at that moment. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { appRestorer } from '../../backups/restores/app-restorer.ts';
import { databaseRestorer } from '../../backups/restores/database-restorers.ts';
import { recoverSwap } from '../../backups/restores/folder-swap.ts';
import type { RecoveringRestorer, RestoreOf } from '../../backups/restores/restorer-of.ts';
import type { Restorer } from '../../backups/restores/restorer.ts';
import type { OwnFolder } from '../../backups/targets.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { AppFolders } from '../app/folders.ts';
import { databaseTarget, type SourceParts } from '../backup/sources.ts';
import { DatabasePlace } from '../database/running/places.ts';

/** Beside the folders of an app, on their file system. */
const stagingName = 'restoring';

/** Rejects with NOT_FOUND, NOT_RUNNING, ENGINE_NOT_AVAILABLE, ARTIFACT_UNFIT and NOT_BUILT_YET. */
export async function restorerOf(parts: SourceParts, of: RestoreOf): Promise<RecoveringRestorer> {
  const { kind, targetId } = of;
  const { reader } = parts;
  if (kind === 'app') {
    const app = reader.get(tables.apps, targetId);
    if (app !== undefined) return await restorerOfApp(parts, app, of);
  } else {
    const database = reader.get(tables.databases, targetId);
    if (database !== undefined) return restorerOfDatabase(parts, database, of);
  }
  throw new ServiceError('NOT_FOUND', `No such ${kind}.`);
}

function restorerOfDatabase(
  parts: SourceParts,
  record: Readonly<DatabaseRecord>,
  { artifact, isOwn, control }: RestoreOf,
): RecoveringRestorer {
  const uid = record.uid > 0 ? record.uid : null;
  const place = new DatabasePlace(parts.appsRoot, record.id, uid);
  const folder = { root: place.root, data: basename(place.data), uid };
  if (artifact === null) return recovering(parts, folder);
  const target = { ...databaseTarget(parts, record), control };
  const { source, form } = artifact;
  return databaseRestorer(target, { kind: source, ending: form, isOwn });
}

async function restorerOfApp(
  parts: SourceParts,
  { id, uid: recorded }: Readonly<AppRecord>,
  { artifact, control }: RestoreOf,
): Promise<RecoveringRestorer> {
  const { appsRoot, uploadsRoot, driver } = parts;
  if (driver.runs === 'image') {
    const detail = 'Files of apps that run in containers cannot be restored yet.';
    throw new ServiceError('NOT_BUILT_YET', detail);
  }
  const uid = recorded > 0 ? recorded : null;
  const folders = new AppFolders({ appsRoot, uploadsRoot, appId: id, uid });
  const name = basename(folders.data);
  const folder = { root: folders.root, data: name, uid };
  if (artifact === null) return recovering(parts, folder);
  // An app that was never deployed has none yet.
  if (!(await isThere(folders.data))) await folders.ensure();
  return appRestorer({
    volumes: [{ name, folder }],
    staging: join(folders.root, stagingName),
    control,
    received: () => Promise.resolve(),
  });
}

/** What remains of an exchange of folders tells how far it came. In containers there is none. */
function recovering({ driver }: SourceParts, folder: OwnFolder): RecoveringRestorer {
  const restore: Restorer['restore'] = () =>
    Promise.reject(new Error('Cannot restore: no artifact'));
  if (driver.runs === 'image') return { restore };
  return { restore, recover: () => recoverSwap(folder) };
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
