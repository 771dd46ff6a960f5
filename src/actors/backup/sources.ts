/**
 * Owns what a target is to those who dump it: a database with its server, an app with its files. Everything is
 * read at the moment of the run.
 */
import { basename } from 'node:path';
import { writeAppJson } from '../../backups/app-json.ts';
import { appSource } from '../../backups/sources/app-source.ts';
import { databaseSource } from '../../backups/sources/database-sources.ts';
import { instanceSource } from '../../backups/sources/instance-source.ts';
import type { Source } from '../../backups/sources/source.ts';
import type { DatabaseTarget, ReadVolume } from '../../backups/targets.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { localServerId } from '../../places/local-place.ts';
import { databaseFiles } from '../../places/database-folders.ts';
import { dataTree } from '../../places/owned-folders.ts';
import type { AppFiles, Place } from '../../places/place.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type {
  AppRecord,
  BackupTarget,
  DatabaseRecord,
  EnvRecord,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { AppUploads } from '../app/uploads.ts';
import { valueOf } from '../app/settings/variables.ts';
import { engines } from '../database/engines/engines.ts';
import { loopback } from '../database/settings/address.ts';
import { openPasswords } from '../database/settings/secrets.ts';
import type { SecretBox } from '../workload/deps.ts';
import { readVolumes } from '../workload/volumes.ts';
import { notEncrypted } from './backups.ts';
import type { SourceOptions } from './deps.ts';

export interface SourceParts {
  reader: Reader;
  logger: Logger;
  secrets: SecretBox;
  placeOf: (serverId: string) => Place;
  uploadsRoot: string;
}

export interface InstanceParts {
  logger: Logger;
  dataDir: string;
  /** Where copies of it lie while they are read. */
  snapshots: string;
}

/** Rejects with NOT_FOUND, ENCRYPTION_REQUIRED, NOT_RUNNING, ENGINE_NOT_AVAILABLE and AGENT_UNREACHABLE. */
export async function sourceOf(
  parts: SourceParts & InstanceParts,
  { kind, targetId }: BackupTarget,
  options: SourceOptions,
): Promise<Source> {
  const { reader } = parts;
  if (kind === 'instance') return sourceOfInstance(parts, options);
  if (kind === 'app') {
    const app = reader.get(tables.apps, targetId);
    if (app !== undefined) return await sourceOfApp(parts, app, options);
  } else {
    const database = reader.get(tables.databases, targetId);
    if (database !== undefined) return await databaseSource(await databaseTarget(parts, database));
  }
  throw new ServiceError('NOT_FOUND', `No such ${kind}.`);
}

export async function databaseTarget(
  { placeOf, secrets }: SourceParts,
  record: Readonly<DatabaseRecord>,
): Promise<DatabaseTarget> {
  const { driver, machine, connect } = placeOf(record.serverId);
  const { id, engine, version, databaseName, username, run } = record;
  const { live, port } = run;
  if (live === null || port === null || run.crashing) {
    throw new ServiceError('NOT_RUNNING', 'The database does not run: start it first.');
  }
  const uid = record.uid > 0 ? record.uid : null;
  const { tools, database } = await machine();
  const place = database({ id, uid });
  const isImage = driver.runs === 'image';
  const isHere = record.serverId === localServerId;
  return {
    ...{ engine, version, databaseName, username, port },
    ...openPasswords(secrets, record),
    host: loopback,
    ownPort: isImage ? engines[engine].image.port : port,
    socket: isImage ? null : (engines[engine].host?.socket(place, port) ?? null),
    pipe: (spec, input, signal) => driver.pipe(live, spec, input, signal),
    tools: isImage
      ? null
      : { find: (names) => tools.find(names), ask: (program, args) => tools.ask(program, args) },
    folder: isImage ? null : place.data,
    files: isHere && !isImage ? { root: place.root, data: basename(place.data), uid } : null,
    readFolder: isImage
      ? null
      : (prefix, signal) => place.trees.archive(dataTree, prefix, signal, 'POSTGRES'),
    elsewhere:
      isHere || isImage
        ? null
        : { data: place.trees, write: (name, text) => place.write(name, text) },
    connect: isHere ? null : (path, signal) => connect({ workload: live, path }, signal),
    ...{ volumes: null, beside: null, server: null },
    control: { stop: notForDumps, start: notForDumps, replaced: notForDumps },
  };
}

function sourceOfInstance(
  { logger, dataDir, snapshots }: InstanceParts,
  { encrypted }: SourceOptions,
): Source {
  if (!encrypted) throw notEncrypted();
  return instanceSource({
    ...{ dataDir, snapshots, databases: databaseFiles },
    missed: ({ unsettled, files }) =>
      logger.warn({ instance: true, unsettled, files }, 'backup_left_entries_out'),
  });
}

function notForDumps(): Promise<void> {
  return Promise.reject(new Error('Cannot stop or start the server: it is only dumped'));
}

async function sourceOfApp(
  { reader, logger, secrets, placeOf, uploadsRoot }: SourceParts,
  app: Readonly<AppRecord>,
  { encrypted }: SourceOptions,
): Promise<Source> {
  const { id, uid, upload } = app;
  const own = uid > 0 ? uid : null;
  const { driver, machine } = placeOf(app.serverId);
  const files = (await machine()).app({ id, uid: own });
  const uploads = new AppUploads(uploadsRoot, id);
  const env = reader.list(tables.env, 'app', [id], { limit: Infinity });
  const told = env.map((one) => ({ ...one, value: toldValue(secrets, one, encrypted) }));
  const target = {
    volumes: driver.runs === 'image' ? await readVolumes(driver, app) : await volumesOf(files),
    upload: upload && { filename: upload.filename, path: uploads.file(upload.blob) },
    settings: JSON.parse(writeAppJson(app, told).toString()) as unknown,
  };
  return appSource(target, (count) =>
    logger.warn({ app: id, entries: count }, 'backup_left_entries_out'),
  );
}

/** A secret value only where nobody but the owner of the recovery key reads it. */
function toldValue(
  secrets: SecretBox,
  variable: Readonly<EnvRecord>,
  encrypted: boolean,
): string | null {
  return variable.isSecret && !encrypted ? null : valueOf(secrets, variable);
}

async function volumesOf(files: AppFiles): Promise<ReadVolume[]> {
  // An app that was never deployed has none yet.
  await files.ensure();
  return [
    { name: dataTree, read: (prefix, signal) => files.trees.archive(dataTree, prefix, signal) },
  ];
}
