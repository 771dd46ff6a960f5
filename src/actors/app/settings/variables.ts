/**
 * Owns the environment variables of an app: what they may be, how they are stored, and what a process gets
 * at its start. A secret value is stored sealed. It leaves only by `env-reveal` and to the app's processes.
 */
import { newId } from '../../../lib/ids.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { AppRecord, EnvRecord, EnvTarget } from '../../../store/records/records.ts';
import { put, remove } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import {
  holdsPassword,
  namedIn,
  pendingIn,
  referencesIn,
  resolved,
} from '../../database/settings/references.ts';
import type { AppCore } from '../core.ts';
import type { AppDeps } from '../deps.ts';
import type { SecretBox } from '../../workload/deps.ts';
import { type EnvEntry, type Handlers } from '../protocol.ts';
import { bad } from './validate.ts';
import { pause } from '../../../lib/clock.ts';

const variablesMax = 500;
const keyMax = 256;
const valueMaxBytes = 32 * 1024;
// Linux refuses to start a program whose environment and arguments are larger than a few MiB.
const totalMaxBytes = 256 * 1024;
const databasePollMs = 250;
/** A deployment waits only this long for a server that takes a new password. */
const passwordWaitMs = 5000;
const mask = '••••••••';

export function variableHandlers(core: AppCore) {
  const { context, deps } = core;
  return {
    'env-upsert': async ({ entries }) => {
      const app = core.require();
      const kept = new Map(core.env.map((record) => [record.key, record]));
      const nowMs = deps.clock.now();
      const checked = checkEntries(entries);
      for (const entry of checked) {
        const id = kept.get(entry.key)?.id ?? newId('env', nowMs);
        kept.set(entry.key, toRecord(deps.secrets, app.id, id, entry, nowMs));
      }
      checkTotal(deps.secrets, [...kept.values()]);
      const written = checked.flatMap((entry) => kept.get(entry.key) ?? []);
      await context.commit(written.map((record) => put(tables.env, record)));
      return written;
    },
    'env-delete': async ({ key }) => {
      const app = core.require();
      if (!core.env.some((record) => record.key === key)) return false;
      await context.commit([remove(tables.env, [app.id, key])]);
      return true;
    },
    'env-reveal': ({ key }) => {
      core.require();
      const record = core.env.find((one) => one.key === key);
      if (record === undefined) throw new ServiceError('NOT_FOUND', 'No such variable.');
      return valueOf(deps.secrets, record);
    },
  } satisfies Handlers;
}

/** The entries in order of appearance. Of a repeated key the last entry counts. */
export function checkEntries(entries: readonly EnvEntry[]): EnvEntry[] {
  const byKey = new Map<string, EnvEntry>();
  for (const entry of entries) {
    checkKey(entry.key);
    if (Buffer.byteLength(entry.value) > valueMaxBytes) {
      throw bad(`The value of ${entry.key} is larger than 32 KiB.`);
    }
    // The right to refer to a database was checked before. This call only refuses a malformed reference.
    referencesIn(entry.value);
    if (entry.value.includes('\0')) throw bad(`The value of ${entry.key} contains a NUL.`);
    const targets: EnvTarget[] =
      entry.targets.length === 0 ? ['production', 'preview'] : [...new Set(entry.targets)];
    byKey.set(entry.key, { ...entry, targets });
  }
  return [...byKey.values()];
}

function checkKey(key: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key) || key.length > keyMax) {
    const shown = JSON.stringify(key.slice(0, 60));
    throw bad(`${shown} is no name of a variable: letters, digits and _, no digit first.`);
  }
  if (key === 'PORT' || key === 'APP_DATA_DIR' || key.toUpperCase().startsWith('GANGWAY_')) {
    throw bad(`${key} is set by the service and cannot be changed.`);
  }
}

export function checkTotal(secrets: SecretBox, records: readonly EnvRecord[]): void {
  if (records.length > variablesMax) {
    throw bad(`An app may have ${String(variablesMax)} variables at most.`);
  }
  const bytes = records.reduce(
    (sum, record) => sum + record.key.length + Buffer.byteLength(valueOf(secrets, record)),
    0,
  );
  if (bytes > totalMaxBytes) throw bad('The variables together are larger than 256 KiB.');
}

export function toRecord(
  secrets: SecretBox,
  appId: string,
  id: string,
  entry: EnvEntry,
  nowMs: number,
): EnvRecord {
  const { key, value, isSecret, targets } = entry;
  const refersTo = namedIn(value);
  return {
    id,
    appId,
    key,
    isSecret,
    value: isSecret ? null : value,
    sealed: isSecret ? secrets.seal(value, contextOf(appId, key)) : null,
    masked: mask,
    targets,
    ...(refersTo.length > 0 && { refersTo }),
    updatedAtMs: nowMs,
  };
}

/** Whose variables are asked for. Those of a preview are its app's, as far as they are for previews. */
type Owner = Readonly<Pick<AppRecord, 'id' | 'previewOf'>>;

/** What opening a value needs. */
export type VariableParts = Pick<AppDeps, 'reader' | 'secrets' | 'driver'>;

/**
 * The variables that a process of the app starts with, references to databases resolved. Throws NOT_RUNNING
 * with a sentence when a reference cannot be resolved.
 */
export function openVariables(
  parts: VariableParts,
  app: Owner & Readonly<Pick<AppRecord, 'teamId' | 'serverId'>>,
): Record<string, string> {
  const { reader, secrets, driver } = parts;
  const { teamId, serverId } = app;
  const options = { reader, secrets, teamId, serverId, inContainers: driver.runs === 'image' };
  const values = storedValues(parts, app);
  return Object.fromEntries(values.map(([key, value]) => [key, resolved(key, value, options)]));
}

/** Whether the app's processes get the password of a database. */
export function areToldPassword(parts: VariableParts, app: Owner, databaseId: string): boolean {
  const values = storedValues(parts, app);
  return values.some(([, value]) => holdsPassword(value, databaseId));
}

/**
 * Waits for databases that the app refers to: `timeoutMs` at most for one that is about to start, and a few
 * seconds for one that gets another password.
 */
export async function awaitDatabases(
  parts: VariableParts & Pick<AppDeps, 'clock'>,
  app: Owner & Readonly<Pick<AppRecord, 'teamId'>>,
  {
    timeoutMs,
    say,
    signal,
  }: { timeoutMs: number; say: (line: string) => void; signal: AbortSignal },
): Promise<void> {
  const { reader, clock } = parts;
  const { teamId } = app;
  const values = storedValues(parts, app).map(([, value]) => value);
  const untilMs = clock.now() + timeoutMs;
  const said = new Set<string>();
  for (let runSinceMs: number | null = null; clock.now() < untilMs;) {
    const { starting, rotating } = pendingIn(values, { reader, teamId });
    if (starting.length > 0) runSinceMs = null;
    else runSinceMs ??= clock.now();
    const isOver = runSinceMs !== null && clock.now() - runSinceMs >= passwordWaitMs;
    if (starting.length === 0 && (rotating.length === 0 || isOver)) return;
    const line =
      starting.length > 0
        ? `Waiting for the database ${starting.join(', ')} to start.`
        : `Waiting for the database ${rotating.join(', ')} to take its new password.`;
    if (!said.has(line)) say(line);
    said.add(line);
    await pause(clock, databasePollMs, signal);
  }
}

function storedValues(
  { reader, secrets }: VariableParts,
  { id, previewOf }: Owner,
): [string, string][] {
  const records = reader.list(tables.env, 'app', [previewOf?.appId ?? id]);
  const target: EnvTarget = previewOf === undefined ? 'production' : 'preview';
  const wanted = records.filter((record) => record.targets.includes(target));
  return wanted.map((record) => [record.key, valueOf(secrets, record)]);
}

/** The value of a variable. A secret value is opened. */
export function valueOf(secrets: SecretBox, record: Readonly<EnvRecord>): string {
  if (record.sealed === null) return record.value ?? '';
  return secrets.open(record.sealed, contextOf(record.appId, record.key));
}

function contextOf(appId: string, key: string): string {
  return `env:${appId}:${key}`;
}
