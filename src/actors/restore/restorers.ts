/** Owns which restorer a target has, and what it is given of the target. Everything is read at that moment. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { appRestorer } from '../../backups/restores/app-restorer.ts';
import { appVolumesRestorer } from '../../backups/restores/app-volumes-restorer.ts';
import { databaseRestorer, recoverDatabase } from '../../backups/restores/database-restorers.ts';
import { besideSwap, volumesSwap } from '../../backups/restores/tar-swap.ts';
import type { RecoverOf, RestoreOf, SwapState } from '../../backups/restores/restorer-of.ts';
import type { Restorer } from '../../backups/restores/restorer.ts';
import { recoverVolumes } from '../../backups/restores/volume-swap.ts';
import type { DatabaseTarget, DataBeside, OwnFolder, OwnVolumes } from '../../backups/targets.ts';
import { removeInThread } from '../../backups/threads/tree-thread.ts';
import { ServiceError } from '../../lib/errors.ts';
import { localServerId } from '../../places/local-place.ts';
import type { AppFiles, OwnPaths } from '../../places/place.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { databaseTarget, type SourceParts } from '../backup/sources.ts';
import { requireHost } from '../database/engines/engine.ts';
import { engines } from '../database/engines/engines.ts';
import { ownVolumes } from '../workload/volumes.ts';

/** Beside the folders of an app, on their file system. */
const stagingName = 'restoring';

/** Rejects with NOT_FOUND, NOT_RUNNING, ENGINE_NOT_AVAILABLE, ARTIFACT_UNFIT and AGENT_UNREACHABLE. */
export async function restorerOf(parts: SourceParts, of: RestoreOf): Promise<Restorer> {
  if (of.kind === 'app') return await restorerOfApp(parts, appOf(parts, of), of);
  const { artifact, isOwn, bytes, control } = of;
  const record = databaseOf(parts, of);
  const volumes = await volumesOf(parts, record, of);
  const beside = volumes === null ? null : control.beside;
  const server = await serverProgram(parts, record);
  const again = (): Promise<DatabaseTarget> => databaseTarget(parts, databaseOf(parts, of));
  const target = { ...(await databaseTarget(parts, record)), control, volumes, beside, server, again }; // prettier-ignore
  const { source: kind, form: ending } = artifact;
  if (volumes === null) await dropLeftover(await treesOfDatabase(parts, record));
  return databaseRestorer(target, { kind, ending, isOwn, bytes });
}

/** What an earlier restore could not remove would be taken for what this one keeps, when that is cut off. */
function dropLeftover(data: DataBeside): Promise<void> {
  return data.settle('live');
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
    const files = await filesOf(parts, app);
    if (volumes === null) await recoverData(of, files.trees);
    else await recoverVolumes(volumes, of);
    if (isHere(app)) await removeInThread(join(files.root, stagingName));
    return of.isReplaced ? 'restored' : 'previous';
  }
  const database = databaseOf(parts, of);
  const volumes = await volumesOf(parts, database, of);
  const isPutBack =
    volumes === null
      ? await recoverData(of, await treesOfDatabase(parts, database))
      : await recoverVolumes(volumes, of);
  if (isPutBack) return 'previous';
  const { control, isReplaced } = of;
  return await recoverDatabase({
    ...{ engine: database.engine, isReplaced, signal },
    target: async () => {
      await control.start();
      return { ...(await databaseTarget(parts, databaseOf(parts, of))), control };
    },
  });
}

/** Whether the previous data came back. */
async function recoverData({ control, isReplaced }: RecoverOf, data: DataBeside): Promise<boolean> {
  const isPutBack = !isReplaced && (await data.hasPrevious());
  if (isPutBack) await control.stop();
  await data.settle(isReplaced ? 'live' : 'previous');
  return isPutBack;
}

function isHere({ serverId }: Readonly<AppRecord | DatabaseRecord>): boolean {
  return serverId === localServerId;
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

async function treesOfDatabase(
  { placeOf }: SourceParts,
  record: Readonly<DatabaseRecord>,
): Promise<DataBeside> {
  const { id, serverId } = record;
  const machine = await placeOf(serverId).machine();
  return machine.database({ id, uid: uidOf(record) }).trees;
}

async function filesOf({ placeOf }: SourceParts, app: Readonly<AppRecord>): Promise<AppFiles> {
  const { id, serverId } = app;
  return (await placeOf(serverId).machine()).app({ id, uid: uidOf(app) });
}

function folderOf(
  { root, data }: OwnPaths,
  owner: Readonly<AppRecord | DatabaseRecord>,
): OwnFolder {
  return { root, data: basename(data), uid: uidOf(owner) };
}

function uidOf({ uid }: Readonly<AppRecord | DatabaseRecord>): number | null {
  return uid > 0 ? uid : null;
}

async function restorerOfApp(
  parts: SourceParts,
  app: Readonly<AppRecord>,
  of: RestoreOf,
): Promise<Restorer> {
  const { control, keepUpload: received } = of;
  const volumes = await volumesOf(parts, app, of);
  if (volumes !== null) {
    return appVolumesRestorer({ data: volumesSwap(volumes, control), received });
  }
  const files = await filesOf(parts, app);
  await dropLeftover(files.trees);
  if (!isHere(app)) return appVolumesRestorer({ data: besideSwap(files.trees, control), received });
  const folder = folderOf(files, app);
  // An app that was never deployed has none yet.
  if (!(await isThere(files.data))) await files.ensure();
  const staging = join(files.root, stagingName);
  return appRestorer({ volumes: [{ name: folder.data, folder }], staging, control, received });
}

/** A restore ends the server and starts it again: ENGINE_NOT_AVAILABLE when its program is gone. */
async function serverProgram(
  { placeOf }: SourceParts,
  { engine, version, serverId }: Readonly<DatabaseRecord>,
): Promise<string | null> {
  const { driver, machine } = placeOf(serverId);
  if (driver.runs === 'image') return null;
  const { tools } = await machine();
  return (await requireHost(engines[engine]).again(version, tools)).program;
}

/** Null on a driver that runs programs of the machine. */
async function volumesOf(
  { placeOf }: SourceParts,
  owner: Readonly<AppRecord | DatabaseRecord>,
  { control, restoreId = '' }: { control: RestoreOf['control']; restoreId?: string },
): Promise<OwnVolumes | null> {
  const { driver } = placeOf(owner.serverId);
  if (driver.runs !== 'image') return null;
  return await ownVolumes(driver, owner, { restoreId, use: control.useVolumes });
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
