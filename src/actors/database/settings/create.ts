/** Owns making the record of a database; the database itself is made by its first start. */
import { ServiceError } from '../../../lib/errors.ts';
import type { DatabaseRecord } from '../../../store/records/records.ts';
import { insert } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import { localServerId } from '../../workload/deps.ts';
import { bad, checkName, checkResources, emptyResources } from '../../app/settings/validate.ts';
import type { DatabaseCore } from '../core.ts';
import type { NewDatabase } from '../protocol.ts';
import { newPassword, sealPassword } from './secrets.ts';
import { checkedImageVersion, checkedName, checkedPassword, checkedVersion } from './validate.ts';

// Others may take the uid between the look and the commit.
const attemptsMax = 50;

export async function create(core: DatabaseCore, input: NewDatabase): Promise<DatabaseRecord> {
  if (core.record !== null) throw new ServiceError('CONFLICT', 'This database exists.');
  const { context, deps } = core;
  const base = await newRecord(core, input);
  for (let attempt = 1; ; attempt++) {
    // How many free places it leaves to others that are made at the same time.
    const uid = await deps.uids.next(attempt - 1);
    const record = { ...base, uid };
    try {
      await context.commit([insert(tables.databases, record)]);
      core.adopt(record);
      return record;
    } catch (error) {
      deps.uids.giveBack(uid);
      const refused = error instanceof ServiceError && error.code === 'CONFLICT';
      if (!refused || attempt >= attemptsMax) throw error;
    }
  }
}

async function newRecord(core: DatabaseCore, input: NewDatabase): Promise<DatabaseRecord> {
  const { deps, id } = core;
  const { secrets, reader } = deps;
  const engine = deps.engines[input.engine];
  const nowMs = deps.clock.now();
  if (input.serverId !== null && input.serverId !== localServerId) {
    throw bad('serverId names no server of this instance.');
  }
  if (input.folderId !== null) {
    const folder = reader.get(tables.folders, input.folderId);
    if (folder?.teamId !== input.teamId) throw bad('folderId names no folder of the team.');
  }
  const password = checkedPassword(input.password) ?? newPassword();
  const record: DatabaseRecord = {
    id,
    teamId: input.teamId,
    name: checkName(input.name),
    engine: input.engine,
    version: '',
    status: 'provisioning',
    error: null,
    folderId: input.folderId,
    serverId: localServerId,
    resources: checkResources(emptyResources, input.resources),
    databaseName: checkedName(engine, 'databaseName', input.databaseName),
    username: checkedName(engine, 'username', input.username),
    passwordSealed: sealPassword(secrets, id, 'password', password),
    nextPasswordSealed: null,
    adminSealed: sealPassword(secrets, id, 'admin', newPassword()),
    run: emptyRun,
    desired: 'running',
    uid: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    deletedAtMs: null,
  };
  // Looks at the machine: last, when all else is right.
  return { ...record, version: await versionFor(core, input) };
}

const emptyRun: DatabaseRecord['run'] = {
  seq: 0,
  made: false,
  initJob: null,
  live: null,
  next: null,
  ending: [],
  port: null,
  image: null,
  crashing: false,
};

/** The version that will run; refused when there is none. */
async function versionFor({ deps }: DatabaseCore, input: NewDatabase): Promise<string> {
  const engine = deps.engines[input.engine];
  const version = checkedVersion(input.version);
  if (deps.driver.runs === 'image') return checkedImageVersion(engine, version);
  if (engine.host === null) {
    throw new ServiceError(
      'ENGINE_NOT_AVAILABLE',
      `${engine.label} runs in a container alone: this server has no Docker.`,
    );
  }
  return (await engine.host.find(version, deps.options.tools)).version;
}
