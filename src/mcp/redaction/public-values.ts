/**
 * Owns which secret values of an app or a database everybody knows who sees it. Variables are secret by
 * default, and an answer without the app's own name or address would be of no use.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DatabaseRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

/** A test: does a value name the app, its team, or another app of the team? */
export function publicValues(
  reader: Pick<Reader, 'get' | 'find'>,
  appId: string,
): (value: string) => boolean {
  const app = reader.get(tables.apps, appId);
  if (app === undefined) return () => false;
  const team = reader.get(tables.teams, app.teamId);
  const names = new Set([app.id, app.name, app.slug, app.teamId, team?.slug, team?.name]);
  const isSlug = (text: string): boolean =>
    reader.find(tables.apps, 'slug', [text])?.teamId === app.teamId;
  return (value) => {
    const text = value.trim();
    if (names.has(text) || isSlug(text)) return true;
    const host = /^https?:\/\/([a-z0-9-]{1,63})(?:\.[a-z0-9.-]{1,253})?(?::\d{1,5})?\/?$/.exec(
      text,
    );
    return host?.[1] !== undefined && isSlug(host[1]);
  };
}

/** A test: does a password name the database, its user, its team, or an app of the team? */
export function publicDatabaseValues(
  reader: Pick<Reader, 'get' | 'find'>,
  { id, name, teamId, databaseName, username }: Readonly<DatabaseRecord>,
): (value: string) => boolean {
  const team = reader.get(tables.teams, teamId);
  const names = new Set([id, name, teamId, databaseName, username, team?.slug, team?.name]);
  return (value) =>
    names.has(value) || reader.find(tables.apps, 'slug', [value])?.teamId === teamId;
}
