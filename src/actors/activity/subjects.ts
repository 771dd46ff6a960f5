/**
 * Owns the text of a subject in the activity, `<kind>:<id> <name>`, and which team it belongs to. A kind
 * that is not listed here is still recorded, without a name.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { BackupRunRecord, BackupScheduleRecord } from '../../store/records/records.ts';
import type { Change, Key, Table } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';

export interface Subject {
  id: string;
  text: string;
  teamId: string | null;
}

interface Kind {
  table: string;
  /** The stored subject; null for an unknown one. */
  find: (reader: Reader, key: Key) => Subject | null;
  /** The subject of a record of the table. */
  of: (record: unknown) => Subject | null;
}

const nameMax = 100;
/** Kinds of actors that each stand for one record and have its id. */
const named: ReadonlySet<string> = new Set(['app', 'database', 'destination', 'git', 'team']);

const apps = kindOf(tables.apps, (app) => subject('app', app, app.teamId));
const databases = kindOf(tables.databases, (one) => subject('database', one, one.teamId));
const teams = kindOf(tables.teams, (team) => subject('team', team, team.id));
const tokens = kindOf(tables.tokens, (token) => subject('token', token, token.homeTeamId));
const folders = kindOf(tables.folders, (folder) => subject('folder', folder, folder.teamId));
const domains = kindOf(tables.domains, ({ id, host, teamId }) =>
  subject('domain', { id, name: host }, teamId),
);
const registries = kindOf(tables.registries, (one) => subject('registry', one, one.teamId));
const destinations = kindOf(tables.destinations, (one) => subject('destination', one, one.teamId));
const connections = kindOf(tables.gitConnections, (one) =>
  subject('git-connection', { id: one.id, name: one.label }, one.teamId),
);
const roles = kindOf(tables.roles, (role) => subject('role', role, role.teamId));
const trash = kindOf(tables.trash, (item) => subject('trash', item, item.teamId));
/** One that was added is told of where that was done. */
const servers = kindOf(tables.servers, (one) => subject('server', one, one.agent?.teamId ?? null));
/** People belong to no single team. */
const people = kindOf(tables.auth, ({ model, id, fields }) => {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const name = `${text(fields['name'])} ${text(fields['email'])}`;
  return model === 'user' ? subject('person', { id, name }, null) : null;
});

const byPrefix: Readonly<Partial<Record<string, Kind>>> = {
  app: apps,
  db: databases,
  team: teams,
  tok: tokens,
  dst: destinations,
  gc: connections,
  fld: folders,
  reg: registries,
  dom: domains,
  srv: servers,
  rol: roles,
  trs: trash,
};
// In order of importance, for a commit that touches several.
// prettier-ignore
const ofChanges = [
  domains, apps, databases, teams, tokens, folders, registries, destinations, connections, roles, servers,
  people,
];

/** The stored subject with this id; null for an unknown one. */
export function subjectOf(reader: Reader, id: string): Subject | null {
  const prefix = id.slice(0, id.indexOf('_'));
  if (prefix === 'dpl') return deploymentSubject(reader, id);
  if (prefix === 'dlv') {
    const delivery = reader.get(tables.gitDeliveries, id);
    return delivery === undefined ? null : subjectOf(reader, delivery.appId);
  }
  if (prefix === 'run') return backupSubject(reader, 'backup', reader.get(tables.backupRuns, id));
  if (prefix === 'sch') {
    return backupSubject(reader, 'backup-schedule', reader.get(tables.backupSchedules, id));
  }
  // A person's id may be better-auth's or ours.
  return byPrefix[prefix]?.find(reader, id) ?? people.find(reader, ['user', id]);
}

function deploymentSubject(reader: Reader, id: string): Subject | null {
  const deployment = reader.get(tables.deployments, id);
  if (deployment === undefined) return null;
  const name = reader.get(tables.apps, deployment.appId)?.name ?? '';
  return subject('deployment', { id, name }, deployment.teamId);
}

function backupSubject(
  reader: Reader,
  kind: string,
  of: Readonly<BackupRunRecord> | Readonly<BackupScheduleRecord> | undefined,
): Subject | null {
  if (of === undefined) return null;
  const name = subjectOf(reader, of.targetId)?.text.replace(/^\S+ ?/, '') ?? '';
  return subject(kind, { id: of.id, name }, of.teamId);
}

/** The subject of a commit when the request named none: the first record that it makes, or changes. */
export function subjectOfChanges(reader: Reader, changes: readonly Change[]): Subject | null {
  for (const kind of ofChanges) {
    for (const change of changes) {
      if (change.table !== kind.table) continue;
      const found = 'value' in change ? kind.of(change.value) : kind.find(reader, change.key);
      if (found !== null) return found;
    }
  }
  return null;
}

export function subjectOfActor(reader: Reader, address: string): Subject | null {
  const colon = address.indexOf(':');
  const [kind, id] = [address.slice(0, colon), address.slice(colon + 1)];
  if (kind === 'instance') return subject('instance', { id, name: '' }, null);
  return named.has(kind) || kind === 'backups' ? subjectOf(reader, id) : null;
}

function kindOf<R>(table: Table<R>, make: (record: Readonly<R>) => Subject | null): Kind {
  return {
    table: table.name,
    find: (reader, key) => {
      const record = reader.get(table, key);
      return record === undefined ? null : make(record);
    },
    of: (record) => make(record as R),
  };
}

function subject(
  kind: string,
  { id, name }: { id: string; name: string },
  teamId: string | null,
): Subject {
  const shown = name.trim().slice(0, nameMax);
  return { id, text: shown === '' ? `${kind}:${id}` : `${kind}:${id} ${shown}`, teamId };
}
