/**
 * Owns making the record of a database, and its limits; its first start makes the database itself. Every
 * refusal is BAD_USER_INPUT with a sentence that names the field and what is allowed.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { DatabaseRecord } from '../../../store/records/records.ts';
import {
  bad,
  checkName,
  checkFolder,
  checkServer,
  checkResources,
  emptyResources,
} from '../../app/settings/validate.ts';
import type { DatabaseCore } from '../core.ts';
import { type Engine, requireHost } from '../engines/engine.ts';
import type { NewDatabase } from '../protocol.ts';
import { newPassword, sealPassword } from './secrets.ts';

const passwordMin = 8;
const passwordMax = 128;

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
  checkFolder(deps.reader, input);
  const serverId = checkServer(deps.reader, input.serverId);
  core.goTo(serverId);
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
    serverId,
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
  // This reads the machine, so it comes after all other checks.
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
async function versionFor(core: DatabaseCore, input: NewDatabase): Promise<string> {
  const { deps } = core;
  const engine = deps.engines[input.engine];
  const version = checkedVersion(input.version);
  if (deps.driver.runs === 'image') return checkedImageVersion(engine, version);
  return (await requireHost(engine).find(version, (await core.machine()).tools)).version;
}

function checkedName(
  engine: Engine,
  field: 'databaseName' | 'username',
  given: string | null,
): string {
  const rule = engine.rules[field];
  const name = given?.trim() ?? '';
  if (name === '') return engine.defaults[field];
  if (rule === null) throw bad(`${engine.label} has no ${field} to choose.`);
  if (!rule.pattern.test(name)) throw bad(`${field} ${rule.what}.`);
  if (rule.reserved.includes(name)) throw bad(`${field} is a name that ${engine.label} keeps.`);
  return name;
}

/** A password of printable ASCII, so that it reads the same wherever it is typed; null: none was given. */
function checkedPassword(given: string | null): string | null {
  if (given === null) return null;
  if (!/^[\x20-\x7e]*$/.test(given) || given !== given.trim()) {
    throw bad('password must be printable ASCII characters, with no space at its ends.');
  }
  if (given.length < passwordMin || given.length > passwordMax) {
    throw bad(`password must have ${String(passwordMin)} to ${String(passwordMax)} characters.`);
  }
  return given;
}

/** A version of the engine's images; null: its default. */
function checkedImageVersion(engine: Engine, given: string | null): string {
  const { versions } = engine.image;
  const version = given ?? versions[0] ?? '';
  if (versions.includes(version)) return version;
  throw bad(`There is no ${engine.label} ${version} here. There is: ${versions.join(', ')}.`);
}

/** A version in its allowed form; null: none was requested. */
function checkedVersion(given: string | null): string | null {
  const version = given?.trim() ?? '';
  if (version === '') return null;
  if (!/^\d{1,4}(\.\d{1,4}){0,3}$/.test(version)) {
    throw bad('version must be a number such as 18 or 18.4.');
  }
  return version;
}
