/** Owns which restorer a target has, and what it is given of the target. Everything is read at that moment. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { appRestorer } from '../../backups/restores/app-restorer.ts';
import { databaseRestorer, recoverDatabase } from '../../backups/restores/database-restorers.ts';
import { isSwapped, recoverSwap } from '../../backups/restores/folder-swap.ts';
import type { RecoverOf, RestoreOf, SwapState } from '../../backups/restores/restorer-of.ts';
import type { Restorer } from '../../backups/restores/restorer.ts';
import type { OwnFolder } from '../../backups/targets.ts';
import { ServiceError } from '../../lib/errors.ts';
import { removeTree } from '../../lib/untrusted-files/remove.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { AppFolders } from '../app/folders.ts';
import { databaseTarget, type SourceParts } from '../backup/sources.ts';
import { DatabasePlace } from '../database/running/places.ts';

/** Beside the folders of an app, on their file system. */
const stagingName = 'restoring';

/** Rejects with NOT_FOUND, NOT_RUNNING, ENGINE_NOT_AVAILABLE, ARTIFACT_UNFIT and NOT_BUILT_YET. */
export async function restorerOf(parts: SourceParts, of: RestoreOf): Promise<Restorer> {
  if (of.kind === 'app') return await restorerOfApp(parts, appOf(parts, of), of);
  const { artifact, isOwn, control } = of;
  const target = { ...databaseTarget(parts, databaseOf(parts, of)), control };
  return databaseRestorer(target, { kind: artifact.source, ending: artifact.form, isOwn });
}

/** See `Recover`. */
export async function recover(
  parts: SourceParts,
  of: RecoverOf,
  signal: AbortSignal,
): Promise<SwapState> {
  const isHost = parts.driver.runs === 'host';
  if (of.kind === 'app') {
    const app = appOf(parts, of);
    if (isHost) await recoverFolder(of, folderOfApp(parts, app));
    await removeTree(join(foldersOf(parts, app).root, stagingName));
    return of.isReplaced ? 'restored' : 'previous';
  }
  const database = databaseOf(parts, of);
  const isPutBack = isHost && (await recoverFolder(of, folderOfDatabase(parts, database)));
  if (isPutBack) return 'previous';
  const { control, isReplaced } = of;
  return await recoverDatabase({
    ...{ engine: database.engine, isReplaced, signal },
    target: async () => {
      await control.start();
      return { ...databaseTarget(parts, databaseOf(parts, of)), control };
    },
  });
}

/** Whether the previous folder came back. */
async function recoverFolder(
  { control, isReplaced }: RecoverOf,
  place: OwnFolder,
): Promise<boolean> {
  const isPutBack = !isReplaced && (await isSwapped(place));
  if (isPutBack) await control.stop();
  await recoverSwap(place, isReplaced);
  return isPutBack;
}

function appOf({ reader }: SourceParts, { targetId }: { targetId: string }): Readonly<AppRecord> {
  const app = reader.get(tables.apps, targetId);
  if (app === undefined) throw new ServiceError('NOT_FOUND', 'No such app.');
  return app;
}

function databaseOf(
  { reader }: SourceParts,
  { targetId }: { targetId: string },
): Readonly<DatabaseRecord> {
  const database = reader.get(tables.databases, targetId);
  if (database === undefined) throw new ServiceError('NOT_FOUND', 'No such database.');
  return database;
}

function folderOfDatabase(
  { appsRoot }: SourceParts,
  { id, uid: recorded }: Readonly<DatabaseRecord>,
): OwnFolder {
  const uid = recorded > 0 ? recorded : null;
  const { root, data } = new DatabasePlace(appsRoot, id, uid);
  return { root, data: basename(data), uid };
}

function foldersOf({ appsRoot, uploadsRoot }: SourceParts, { id, uid }: Readonly<AppRecord>) {
  return new AppFolders({ appsRoot, uploadsRoot, appId: id, uid: uid > 0 ? uid : null });
}

function folderOfApp(parts: SourceParts, app: Readonly<AppRecord>): OwnFolder {
  const { root, data } = foldersOf(parts, app);
  return { root, data: basename(data), uid: app.uid > 0 ? app.uid : null };
}

async function restorerOfApp(
  parts: SourceParts,
  app: Readonly<AppRecord>,
  { control }: RestoreOf,
): Promise<Restorer> {
  if (parts.driver.runs === 'image') {
    const detail = 'Files of apps that run in containers cannot be restored yet.';
    throw new ServiceError('NOT_BUILT_YET', detail);
  }
  const folders = foldersOf(parts, app);
  const folder = folderOfApp(parts, app);
  // An app that was never deployed has none yet.
  if (!(await isThere(folders.data))) await folders.ensure();
  return appRestorer({
    volumes: [{ name: folder.data, folder }],
    staging: join(folders.root, stagingName),
    control,
    received: () => Promise.resolve(),
  });
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
