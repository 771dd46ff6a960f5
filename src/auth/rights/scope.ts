/**
 * Owns how far an API token reaches: the teams, folders with everything below them, apps and databases
 * that it names. A token made without naming any reaches all teams of its owner.
 *
 * 1. A scope never grows by deletion: a deleted node reaches nothing.
 * 2. What a token does not reach does not exist for it.
 * 3. A token whose nodes are all deleted is told so, and nothing else.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, DatabaseRecord, TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

/** Where a thing lies. `folderId` is null at the top of the team. */
export interface Place {
  teamId: string;
  folderId: string | null;
  /** The app or the database; null for a folder or a team. */
  nodeId: string | null;
}

// Deeper nesting is refused when folders are made. The bound only ends a loop in broken data.
const folderDepthMax = 64;

/** Whether the token reaches this very place. */
export function reaches(reader: Reader, token: Readonly<TokenRecord>, place: Place): boolean {
  if (token.allTeams || token.teamIds.includes(place.teamId)) return true;
  if (place.nodeId !== null && names(token, place.nodeId)) return true;
  if (token.folderIds.length === 0) return false;
  return someFolderAt(reader, place, (folderId) => token.folderIds.includes(folderId));
}

/** Whether a token names this app or database. The ids of the two kinds are never the same. */
function names({ appIds, databaseIds }: Readonly<TokenRecord>, nodeId: string): boolean {
  return appIds.includes(nodeId) || databaseIds.includes(nodeId);
}

/** Whether the token reaches a whole team, only some things in it, or nothing. */
export function reachOfTeam(
  reader: Reader,
  token: Readonly<TokenRecord>,
  teamId: string,
): 'whole' | 'part' | 'none' {
  if (token.allTeams || token.teamIds.includes(teamId)) return 'whole';
  return scopedTeams(reader, token).includes(teamId) ? 'part' : 'none';
}

/**
 * Whether everything that the token names is deleted. What is in trash may be restored, and the token
 * works again with it.
 */
export function isScopeGone(reader: Reader, token: Readonly<TokenRecord>): boolean {
  if (token.allTeams) return false;
  const isThere =
    token.teamIds.some((id) => reader.get(tables.teams, id) !== undefined) ||
    token.folderIds.some((id) => reader.get(tables.folders, id) !== undefined) ||
    token.appIds.some((id) => liveApp(reader, id) !== undefined) ||
    token.databaseIds.some((id) => liveDatabase(reader, id) !== undefined);
  return !isThere;
}

/** The teams that the token's nodes lie in; the team it was made in comes first. */
export function scopedTeams(reader: Reader, token: Readonly<TokenRecord>): string[] {
  const found = new Set(token.teamIds);
  for (const folderId of token.folderIds) {
    const folder = reader.get(tables.folders, folderId);
    if (folder) found.add(folder.teamId);
  }
  for (const appId of token.appIds) {
    const app = liveApp(reader, appId);
    if (app) found.add(app.teamId);
  }
  for (const databaseId of token.databaseIds) {
    const database = liveDatabase(reader, databaseId);
    if (database) found.add(database.teamId);
  }
  const home = found.delete(token.homeTeamId) ? [token.homeTeamId] : [];
  return [...home, ...found];
}

export function liveApp(reader: Reader, appId: string): Readonly<AppRecord> | undefined {
  const app = reader.get(tables.apps, appId);
  return app?.deletedAtMs === null ? app : undefined;
}

export function liveDatabase(reader: Reader, id: string): Readonly<DatabaseRecord> | undefined {
  const database = reader.get(tables.databases, id);
  return database?.deletedAtMs === null ? database : undefined;
}

/**
 * Whether the folder of a place, or one above it, passes the test. The innermost folder is tested
 * first.
 */
export function someFolderAt(
  reader: Reader,
  place: Place,
  test: (folderId: string) => boolean,
): boolean {
  let id = place.folderId;
  for (let depth = 0; id !== null && depth < folderDepthMax; depth++) {
    const folder = reader.get(tables.folders, id);
    if (folder?.teamId !== place.teamId) return false;
    if (test(id)) return true;
    id = folder.parentId;
  }
  return false;
}
