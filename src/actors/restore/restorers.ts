/** Owns which restorer a target has, and what it is given of the target. Everything is read at that moment. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { appRestorer } from '../../backups/restores/app-restorer.ts';
import { appVolumesRestorer } from '../../backups/restores/app-volumes-restorer.ts';
import { databaseRestorer, recoverDatabase } from '../../backups/restores/database-restorers.ts';
import { isSwapped, recoverSwap } from '../../backups/restores/folder-swap.ts';
import type { RecoverOf, RestoreOf, SwapState } from '../../backups/restores/restorer-of.ts';
import type { Restorer } from '../../backups/restores/restorer.ts';
import { recoverVolumes } from '../../backups/restores/volume-swap.ts';
import type { OwnFolder, OwnVolumes } from '../../backups/targets.ts';
import { removeInThread } from '../../backups/threads/tree-thread.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { AppFolders } from '../app/folders.ts';
import { databaseTarget, type SourceParts } from '../backup/sources.ts';
import { requireHost } from '../database/engines/engine.ts';
import { engines } from '../database/engines/engines.ts';
import { DatabasePlace } from '../database/running/places.ts';
import { ownVolumes } from '../workload/volumes.ts';

/** Beside the folders of an app, on their file system. */
const stagingName = 'restoring';

/** Rejects with NOT_FOUND, NOT_RUNNING, ENGINE_NOT_AVAILABLE and ARTIFACT_UNFIT. */
export async function restorerOf(parts: SourceParts, of: RestoreOf): Promise<Restorer> {
  if (of.kind === 'app') return await restorerOfApp(parts, appOf(parts, of), of);
  const { artifact, isOwn, bytes, control } = of;
  const record = databaseOf(parts, of);
  const volumes = await volumesOf(parts, record, of);
  const beside = volumes === null ? null : control.beside;
  const server = await serverProgram(parts, record);
  const target = { ...databaseTarget(parts, record), control, volumes, beside, server };
  const { source: kind, form: ending } = artifact;
  return databaseRestorer(target, { kind, ending, isOwn, bytes });
}

/** See `Recover`. */
export async function recover(
  parts: SourceParts,
  of: RecoverOf,
  signal: AbortSignal,
): Promise<SwapState> {
  if (of.kind === 'app') {
    const app = appOf(parts, of);
    const volumes = await volumesOf(parts, app, of);
    if (volumes === null) await recoverFolder(of, folderOfApp(parts, app));
    else await recoverVolumes(volumes, of);
    await removeInThread(join(foldersOf(parts, app).root, stagingName));
    return of.isReplaced ? 'restored' : 'previous';
  }
  const database = databaseOf(parts, of);
  const volumes = await volumesOf(parts, database, of);
  const isPutBack =
    volumes === null
      ? await recoverFolder(of, folderOfDatabase(parts, database))
      : await recoverVolumes(volumes, of);
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
  of: RestoreOf,
): Promise<Restorer> {
  const { control, keepUpload: received } = of;
  const volumes = await volumesOf(parts, app, of);
  if (volumes !== null) return appVolumesRestorer({ volumes, control, received });
  const folders = foldersOf(parts, app);
  const folder = folderOfApp(parts, app);
  // An app that was never deployed has none yet.
  if (!(await isThere(folders.data))) await folders.ensure();
  const staging = join(folders.root, stagingName);
  return appRestorer({ volumes: [{ name: folder.data, folder }], staging, control, received });
}

/** A restore ends the server and starts it again: ENGINE_NOT_AVAILABLE when its program is gone. */
async function serverProgram(
  { driver, tools }: SourceParts,
  { engine, version }: Readonly<DatabaseRecord>,
): Promise<string | null> {
  if (driver.runs === 'image') return null;
  return (await requireHost(engines[engine]).again(version, tools)).program;
}

/** Null on a driver that runs programs of the machine. */
async function volumesOf(
  { driver }: SourceParts,
  owner: Readonly<AppRecord | DatabaseRecord>,
  { control, restoreId = '' }: { control: RestoreOf['control']; restoreId?: string },
): Promise<OwnVolumes | null> {
  if (driver.runs !== 'image') return null;
  return await ownVolumes(driver, owner, { restoreId, use: control.useVolumes });
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
