/**
 * Owns which secret values of an app or a database everybody knows who sees it. Variables are secret by
 * default, and an answer without the app's own name or address would be of no use.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

type Lookups = Pick<Reader, 'get' | 'find'>;

const plainAddress = /^https?:\/\/([a-z0-9-]{1,63})(?:\.[a-z0-9.-]{1,253})?(?::\d{1,5})?\/?$/;

/** A test: does a value name the app, its team, or another app of the team? */
export function publicValues(reader: Lookups, appId: string): (value: string) => boolean {
  const app = reader.get(tables.apps, appId);
  if (app === undefined) return () => false;
  const isKnown = knownNames(reader, app, [app.slug]);
  return (value) => {
    const text = value.trim();
    const host = plainAddress.exec(text)?.[1];
    return isKnown(text) || (host !== undefined && isSlug(reader, app.teamId, host));
  };
}

/** A test: does a password name the database, its user, its team, or an app of the team? */
export function publicDatabaseValues(
  reader: Lookups,
  database: Readonly<DatabaseRecord>,
): (value: string) => boolean {
  return knownNames(reader, database, [database.databaseName, database.username]);
}

function knownNames(
  reader: Lookups,
  { id, name, teamId }: Pick<AppRecord, 'id' | 'name' | 'teamId'>,
  others: readonly string[],
): (value: string) => boolean {
  const team = reader.get(tables.teams, teamId);
  const names = new Set([id, name, teamId, team?.slug, team?.name, ...others]);
  return (value) => names.has(value) || isSlug(reader, teamId, value);
}

function isSlug(reader: Lookups, teamId: string, text: string): boolean {
  return reader.find(tables.apps, 'slug', [text])?.teamId === teamId;
}
