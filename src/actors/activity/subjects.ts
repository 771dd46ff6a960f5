/**
 * Owns how a thing is written in the activity: `<kind>:<id> <name>`, and which team it belongs to.
 * A kind that is not listed here is still recorded, without a name.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';

export interface Subject {
  id: string;
  text: string;
  teamId: string | null;
}

const nameMax = 100;
/** Kinds of actors that are for one thing, whose id is theirs. */
const named: ReadonlySet<string> = new Set(['app', 'database', 'team']);

/** A thing by its id, as it is stored; null for none that is known. */
export function subjectOf(reader: Reader, id: string): Subject | null {
  switch (id.slice(0, id.indexOf('_'))) {
    case 'app':
      return appSubject(reader.get(tables.apps, id));
    case 'db':
      return databaseSubject(reader.get(tables.databases, id));
    case 'dpl': {
      const deployment = reader.get(tables.deployments, id);
      const name = deployment && reader.get(tables.apps, deployment.appId)?.name;
      return deployment ? subject('deployment', id, name ?? '', deployment.teamId) : null;
    }
    case 'fld': {
      const folder = reader.get(tables.folders, id);
      return folder ? subject('folder', id, folder.name, folder.teamId) : null;
    }
    case 'tok': {
      const token = reader.get(tables.tokens, id);
      return token ? subject('token', id, token.name, token.homeTeamId) : null;
    }
    case 'rol': {
      const role = reader.get(tables.roles, id);
      return role ? subject('role', id, role.name, role.teamId) : null;
    }
    case 'reg': {
      const registry = reader.get(tables.registries, id);
      return registry ? subject('registry', id, registry.name, registry.teamId) : null;
    }
    case 'team': {
      const team = reader.get(tables.teams, id);
      return team ? subject('team', id, team.name, id) : null;
    }
    case 'trs': {
      const item = reader.get(tables.trash, id);
      return item ? subject('trash', id, item.name, item.teamId) : null;
    }
    default:
      return personSubject(reader, id);
  }
}

/** People's ids are better-auth's as well as ours. They belong to no one team. */
function personSubject(reader: Reader, id: string): Subject | null {
  const fields = reader.get(tables.auth, ['user', id])?.fields;
  if (fields === undefined) return null;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return subject('person', id, `${text(fields['name'])} ${text(fields['email'])}`, null);
}

/** What a commit is about when the request did not say: the first thing it makes, or changes. */
export function subjectOfChanges(reader: Reader, changes: readonly Change[]): Subject | null {
  for (const kind of kinds) {
    for (const change of changes) {
      if (change.table !== kind.table) continue;
      const value = 'value' in change ? change.value : reader.get(kind.of, change.key);
      if (value === undefined) continue;
      const found = kind.subject(value as never);
      if (found !== null) return found;
    }
  }
  return null;
}

/** The thing an actor is for. */
export function subjectOfActor(reader: Reader, address: string): Subject | null {
  const colon = address.indexOf(':');
  const [kind, id] = [address.slice(0, colon), address.slice(colon + 1)];
  if (kind === 'instance') return subject('instance', id, '', null);
  return named.has(kind) ? subjectOf(reader, id) : null;
}

interface Named {
  id: string;
  name: string;
}

// In this order: what says most of a commit that touches several.
const kinds = [
  kindOf(tables.apps, (app: Named & { teamId: string }) => appSubject(app)),
  kindOf(tables.databases, (database: Named & { teamId: string }) => databaseSubject(database)),
  kindOf(tables.teams, (team: Named) => subject('team', team.id, team.name, team.id)),
  kindOf(tables.tokens, (token: Named & { homeTeamId: string }) =>
    subject('token', token.id, token.name, token.homeTeamId),
  ),
  kindOf(tables.folders, (folder: Named & { teamId: string }) =>
    subject('folder', folder.id, folder.name, folder.teamId),
  ),
  kindOf(tables.registries, (registry: Named & { teamId: string }) =>
    subject('registry', registry.id, registry.name, registry.teamId),
  ),
  kindOf(tables.roles, (role: Named & { teamId: string }) =>
    subject('role', role.id, role.name, role.teamId),
  ),
  kindOf(tables.auth, (record: { model: string; id: string; fields: Record<string, unknown> }) => {
    if (record.model !== 'user') return null;
    const { name, email } = record.fields as { name?: string; email?: string };
    return subject('person', record.id, `${name ?? ''} ${email ?? ''}`, null);
  }),
] as const;

function kindOf<R, S>(of: { readonly name: string } & R, make: (record: S) => Subject | null) {
  return { table: of.name, of: of as never, subject: make as (record: never) => Subject | null };
}

function appSubject(app: (Named & { teamId: string }) | undefined): Subject | null {
  return app === undefined ? null : subject('app', app.id, app.name, app.teamId);
}

function databaseSubject(database: (Named & { teamId: string }) | undefined): Subject | null {
  if (database === undefined) return null;
  return subject('database', database.id, database.name, database.teamId);
}

function subject(kind: string, id: string, name: string, teamId: string | null): Subject {
  const shown = name.trim().slice(0, nameMax);
  return { id, text: shown === '' ? `${kind}:${id}` : `${kind}:${id} ${shown}`, teamId };
}
