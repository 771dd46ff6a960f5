/** Owns making the record of a database; the database itself is made by its first start. */
import { ServiceError } from '../../../lib/errors.ts';
import type { DatabaseRecord } from '../../../store/records/records.ts';
import { localServerId } from '../../workload/deps.ts';
import {
  checkName,
  checkPlace,
  checkResources,
  emptyResources,
} from '../../app/settings/validate.ts';
import type { DatabaseCore } from '../core.ts';
import { requireHost } from '../engines/engine.ts';
import type { NewDatabase } from '../protocol.ts';
import { newPassword, sealPassword } from './secrets.ts';
import { checkedImageVersion, checkedName, checkedPassword, checkedVersion } from './validate.ts';

export async function create(core: DatabaseCore, input: NewDatabase): Promise<DatabaseRecord> {
  if (core.record !== null) throw new ServiceError('CONFLICT', 'This database exists.');
  const record = await newRecord(core, input);
  return core.create(() => record);
}

async function newRecord(core: DatabaseCore, input: NewDatabase): Promise<DatabaseRecord> {
  const { deps, id } = core;
  const { secrets } = deps;
  const engine = deps.engines[input.engine];
  const nowMs = deps.clock.now();
  checkPlace(deps.reader, input);
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
  return (await requireHost(engine).find(version, deps.options.tools)).version;
}
