/**
 * Owns how a variable of an app refers to a database: `${database.<id>.url}`, or another part that its
 * clients need. The text is stored as it was written, and becomes an address when the app starts.
 *
 * 1. An app refers only to databases of its own team.
 * 2. A reference that cannot be resolved is reported, never left in the value.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { Reader } from '../../../store/reader-and-journal.ts';
import type { AppRecord, DatabaseRecord } from '../../../store/records/records.ts';
import { tables } from '../../../store/records/tables.ts';
import type { SecretBox } from '../../workload/deps.ts';
import { accessFor } from './address.ts';
import { engines } from '../engines/engines.ts';

const parts = ['url', 'host', 'port', 'username', 'password', 'name'] as const;
export type ReferencePart = (typeof parts)[number];

export const referenceStart = '${database.';
const reference = /\$\{database\.([^}]*)\}/g;

/** The ids that a value refers to; BAD_USER_INPUT for a malformed reference. */
export function referencesIn(value: string): string[] {
  const open = value.lastIndexOf(referenceStart);
  if (open !== -1 && !value.includes('}', open)) throw unreadable();
  return [...value.matchAll(reference)].map(([, inner = '']) => parse(inner).id);
}

/** The ids that a value refers to, each once, whatever else stands in it. */
export function namedIn(value: string): string[] {
  const ids = [...value.matchAll(reference)].map(([, inner = '']) => inner.split('.', 1)[0] ?? '');
  return [...new Set(ids)].filter((id) => /^db_[0-9a-z]+$/.test(id));
}

/** Whether a value holds the database's password, by itself or in an address. */
export function holdsPassword(value: string, databaseId: string): boolean {
  const holding: readonly ReferencePart[] = ['url', 'password'];
  return holding.some((part) => value.includes(`${referenceStart}${databaseId}.${part}}`));
}

/** The apps of its team with a variable that refers to a database, without those in trash. */
export function appsReferringTo(
  reader: Reader,
  { id, teamId }: Readonly<Pick<DatabaseRecord, 'id' | 'teamId'>>,
): Readonly<AppRecord>[] {
  const variables = reader.list(tables.env, 'database', [id], { limit: Infinity });
  const appIds = new Set(variables.map(({ appId }) => appId));
  return [...appIds].flatMap((appId) => {
    const app = reader.get(tables.apps, appId);
    return app?.teamId === teamId && app.deletedAtMs === null ? [app] : [];
  });
}

/** The ids of those apps, and of the apps of their previews, which have their variables. */
export function toldApps(
  reader: Reader,
  database: Readonly<Pick<DatabaseRecord, 'id' | 'teamId'>>,
): string[] {
  return appsReferringTo(reader, database).flatMap(({ id }) => {
    const previews = reader.list(tables.previews, 'app', [id], { limit: Infinity });
    return [id, ...previews.filter(({ hasApp }) => hasApp).map((preview) => preview.id)];
  });
}

export interface ResolveOptions {
  reader: Reader;
  secrets: SecretBox;
  teamId: string;
  /** Where the value is needed: a database is reached by its address on its own server alone. */
  serverId: string;
  /** Whether the value is for a container, where loopback is the container's own. */
  inContainers: boolean;
}

/** The value with its references resolved. Throws NOT_RUNNING with a sentence. */
export function resolved(key: string, value: string, options: ResolveOptions): string {
  return replaceReferences(value, (id, part) => valueOf(key, id, part, options));
}

/** The value with its references replaced by `by`. BAD_USER_INPUT for a malformed reference. */
export function replaceReferences(
  value: string,
  by: (id: string, part: ReferencePart, text: string) => string,
): string {
  if (!value.includes(referenceStart)) return value;
  return value.replace(reference, (text, inner: string) => {
    const { id, part } = parse(inner);
    return by(id, part, text);
  });
}

export interface Pending {
  /** Databases that are about to run. */
  starting: string[];
  /** Running databases that are getting another password. */
  rotating: string[];
}

/** The referenced databases that will soon have the requested part. */
export function pendingIn(
  values: Iterable<string>,
  { reader, teamId }: Pick<ResolveOptions, 'reader' | 'teamId'>,
): Pending {
  // A stored value may be older than the rules for references.
  const ids = new Set([...values].flatMap((value) => namedIn(value)));
  const pending: Pending = { starting: [], rotating: [] };
  for (const id of ids) {
    const database = reader.get(tables.databases, id);
    if (database?.teamId !== teamId || database.deletedAtMs !== null) continue;
    const { status, nextPasswordSealed } = database;
    if (status === 'provisioning') pending.starting.push(id);
    else if (status === 'running' && nextPasswordSealed !== null) pending.rotating.push(id);
  }
  return pending;
}

function parse(inner: string): { id: string; part: ReferencePart } {
  const [, id, name] = /^(db_[0-9a-z]+)\.([a-z]+)$/.exec(inner) ?? [];
  const part = parts.find((known) => known === name);
  if (id !== undefined && part !== undefined) return { id, part };
  throw unreadable();
}

/** The text after the start is not quoted, because it may be a secret. */
function unreadable(): ServiceError {
  return new ServiceError(
    'BAD_USER_INPUT',
    `A value has \${database. that begins no reference: write \${database.<id>.url}, or another of ${parts.join(', ')}.`,
  );
}

function valueOf(key: string, id: string, part: ReferencePart, options: ResolveOptions): string {
  const record = options.reader.get(tables.databases, id);
  const refuse = (why: string): ServiceError =>
    new ServiceError('NOT_RUNNING', `The variable ${key} refers to the database ${id}, ${why}.`);
  if (record?.teamId !== options.teamId) throw refuse('which does not exist');
  if (record.deletedAtMs !== null) throw refuse('which is deleted');
  if (record.serverId !== options.serverId) throw refuse('which is on another server than the app');
  const { status } = record;
  const now = status === 'error' ? 'in error' : status;
  if (status !== 'running') throw refuse(`which does not run: it is ${now}`);
  const access = accessFor(options, record);
  if (access === null) throw refuse('which has no address yet');
  switch (part) {
    case 'url':
      return engines[record.engine].url(access);
    case 'name':
      return access.databaseName;
    case 'port':
      return String(access.port);
    case 'host':
    case 'username':
    case 'password':
      return access[part];
  }
}
