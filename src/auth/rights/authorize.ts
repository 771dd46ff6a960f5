/**
 * Owns the one question every transport asks: may this principal do this to that? It reads only, so it
 * runs on every thread.
 *
 * 1. What the principal cannot see does not exist: NOT_FOUND.
 * 2. What it sees but may not do is FORBIDDEN with the capability's name.
 * 3. A token never does what its owner cannot do now, and nothing outside its scope.
 * 4. For a confined principal nothing exists outside the acting team.
 * 5. Unknown kinds, missing records, things in trash and missing scope are refused.
 */
import type { Capability } from '../../lib/capabilities.ts';
import { capabilities } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type {
  AppRecord,
  DatabaseRecord,
  FolderRecord,
  TokenRecord,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { readMemberships, readUser } from '../callers/account-reads.ts';
import { personHolds, personSees, roleIn, showsTeam } from './holdings.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';
import { type Place, reachOfTeam, reaches } from './scope.ts';

export type Resource =
  | { kind: 'team'; teamId: string }
  | { kind: 'folder'; folder: Readonly<FolderRecord> }
  /** `trashed`: in trash, too, where it does not exist otherwise: to restore or purge it. */
  | { kind: 'app'; app: Readonly<AppRecord>; trashed?: true }
  | { kind: 'database'; database: Readonly<DatabaseRecord>; trashed?: true }
  | { kind: 'instance' }
  /** Of the instance itself, kept by this team: for the instance administrator alone. */
  | { kind: 'backup'; teamId: string };

/** A capability, `null` for merely seeing the thing, or `admin` for the instance administrator. */
export type Need = Capability | 'admin' | null;

type Verdict = 'yes' | 'anonymous' | 'invisible' | 'lacking' | 'two-factor';

/** Returns when allowed; else throws UNAUTHENTICATED, NOT_FOUND, FORBIDDEN or TWO_FACTOR_REQUIRED. */
export function authorize(
  reader: Reader,
  principal: Principal,
  need: Need,
  resource: Resource,
): asserts principal is SignedIn {
  const verdict = judge(reader, principal, need, resource);
  if (verdict !== 'yes') throw refusal(verdict, need, resource);
}

export function can(
  reader: Reader,
  principal: Principal,
  need: Need,
  resource: Resource,
): principal is SignedIn {
  return judge(reader, principal, need, resource) === 'yes';
}

/**
 * Those of a team's apps or databases that the principal sees. What depends on the team is judged once,
 * and what depends on a folder once for each folder.
 */
export function seenNodes<N extends Readonly<Node>>(
  reader: Reader,
  principal: Principal,
  teamId: string,
  nodes: readonly N[],
): N[] {
  if (judge(reader, principal, null, { kind: 'team', teamId }) !== 'yes') return [];
  const sees = sightIn(reader, principal, teamId);
  return nodes.filter(
    (node) => node.teamId === teamId && node.deletedAtMs === null && sees(node.folderId, node.id),
  );
}

/** Whether the principal sees everything in a team, told without a look at each thing. */
export function seesWhole(reader: Reader, principal: Principal, teamId: string): boolean {
  if (judge(reader, principal, null, { kind: 'team', teamId }) !== 'yes') return false;
  return sightIn(reader, principal, teamId) === everything;
}

/** What a principal sees in a team. */
export interface Sight {
  /** Everything that is there. */
  readonly whole: boolean;
  /** Whether a place is seen: a folder, null for the top of the team, and what lies there, null for the folder. */
  readonly sees: (folderId: string | null, nodeId: string | null) => boolean;
}

/**
 * What the principal sees in a team, good until something but an app or a database changes that rights depend on.
 * Throws as `authorize` does.
 */
export function sightOf(reader: Reader, principal: Principal, teamId: string): Sight {
  authorize(reader, principal, null, { kind: 'team', teamId });
  const sees = sightIn(reader, principal, teamId);
  return { whole: sees === everything, sees };
}

/** As `seenNodes`, for a team's folders. */
export function seenFolders(
  reader: Reader,
  principal: Principal,
  teamId: string,
  folders: readonly Readonly<FolderRecord>[],
): Readonly<FolderRecord>[] {
  if (judge(reader, principal, null, { kind: 'team', teamId }) !== 'yes') return [];
  const sees = sightIn(reader, principal, teamId);
  return folders.filter((folder) => folder.teamId === teamId && sees(folder.id, null));
}

/**
 * What the principal holds in a team by role, in the order of the contract. A token that is scoped to
 * some folders or apps holds it there alone. `authorize` says what grants on folders add, and whether a
 * capability may be used at a given thing.
 */
export function capabilitiesIn(reader: Reader, principal: Principal, teamId: string): Capability[] {
  if (principal.kind === 'anonymous') return [];
  const place: Place = { teamId, folderId: null, nodeId: null };
  const token = principal.kind === 'token' ? reader.get(tables.tokens, principal.tokenId) : null;
  if (token === undefined) return [];
  if (token !== null && reachOfTeam(reader, token, teamId) === 'none') return [];
  if (twoFactorDue(reader, principal.userId, teamId)) return [];
  return capabilities.filter(
    (capability) =>
      (token === null || token.capabilities.includes(capability)) &&
      personHolds(reader, principal.userId, place, capability),
  );
}

/** What the principal may do with one thing, grants on its folders counted, in the order of the contract. */
export function capabilitiesOn(
  reader: Reader,
  principal: Principal,
  resource: Resource,
): Capability[] {
  return capabilities.filter((capability) => can(reader, principal, capability, resource));
}

/** The acting team's id; FORBIDDEN without one. */
export function actingTeam(principal: Principal): string {
  if (principal.kind === 'anonymous') throw refusal('anonymous', null, { kind: 'instance' });
  if (principal.teamId !== null) return principal.teamId;
  throw new ServiceError('FORBIDDEN', 'Name a team you are in: switchTeam, or X-Service-Team.');
}

/**
 * The ids of the teams the principal may act in: the team joined first, or the home of a token, comes
 * first.
 */
export function teamIdsOf(reader: Reader, principal: Principal): string[] {
  if (principal.kind === 'anonymous') return [];
  const ids = readMemberships(reader, principal.userId).map((membership) => membership.teamId);
  if (principal.kind === 'person') return ids;
  const token = reader.get(tables.tokens, principal.tokenId);
  if (!token) return [];
  return ids
    .filter((id) => reachOfTeam(reader, token, id) !== 'none')
    .sort((a, b) => Number(b === token.homeTeamId) - Number(a === token.homeTeamId));
}

/** A change in one of these tables may take a right away from an open stream or console. */
export const rightsTables: ReadonlySet<string> = new Set(
  [
    tables.auth,
    tables.members,
    tables.roles,
    tables.apps,
    tables.databases,
    tables.teams,
    tables.folders,
    tables.folderGrants,
  ].map((table) => table.name),
);

const everything = (): boolean => true;

/**
 * For a principal that sees the team: which places in it does it see? Good as long as its rights and the team's
 * folders are the same.
 */
function sightIn(
  reader: Reader,
  principal: Principal,
  teamId: string,
): (folderId: string | null, nodeId: string | null) => boolean {
  if (principal.kind === 'anonymous') return () => false;
  const { userId } = principal;
  const token = principal.kind === 'token' ? reader.get(tables.tokens, principal.tokenId) : null;
  if (token === undefined) return () => false;
  const wholly = showsTeam(roleIn(reader, teamId, userId));
  const reachesAll = token === null || reachOfTeam(reader, token, teamId) === 'whole';
  if (wholly && reachesAll) return everything;
  const byFolder = new Map<string | null, { seen: boolean; reached: boolean }>();
  const named = new Set([...(token?.appIds ?? []), ...(token?.databaseIds ?? [])]);
  return (folderId, nodeId) => {
    let found = byFolder.get(folderId);
    if (found === undefined) {
      const place: Place = { teamId, folderId, nodeId: null };
      const seen = wholly || personSees(reader, userId, place);
      found = { seen, reached: reachesAll || reaches(reader, token, place) };
      byFolder.set(folderId, found);
    }
    if (!found.seen) return false;
    return found.reached || (nodeId !== null && named.has(nodeId));
  };
}

function judge(reader: Reader, principal: Principal, need: Need, resource: Resource): Verdict {
  if (principal.kind === 'anonymous') return 'anonymous';
  if (resource.kind === 'instance') {
    if (need === null) return 'yes';
    return need === 'admin' && isAdmin(reader, principal) ? 'yes' : 'lacking';
  }
  if (resource.kind === 'backup') {
    if (!isAdmin(reader, principal)) return 'invisible';
    return twoFactorDue(reader, principal.userId, resource.teamId) ? 'two-factor' : 'yes';
  }
  const place = rightsPlaceOf(reader, resource);
  if (place === undefined || !reader.get(tables.teams, place.teamId)) return 'invisible';
  if (principal.confined === true && place.teamId !== principal.teamId) return 'invisible';
  if (!reader.get(tables.members, [place.teamId, principal.userId])) return 'invisible';
  let token: Readonly<TokenRecord> | null = null;
  // A token that reaches only something in a team sees the team, but holds nothing in the team itself.
  let whole = true;
  if (principal.kind === 'token') {
    token = reader.get(tables.tokens, principal.tokenId) ?? null;
    if (token?.userId !== principal.userId) return 'invisible';
    if (!reaches(reader, token, place)) {
      if (resource.kind !== 'team') return 'invisible';
      if (reachOfTeam(reader, token, place.teamId) === 'none') return 'invisible';
      whole = false;
    }
  }
  if (resource.kind !== 'team' && !personSees(reader, principal.userId, place)) return 'invisible';
  if (twoFactorDue(reader, principal.userId, place.teamId)) return 'two-factor';
  if (need === null) return 'yes';
  if (need === 'admin') return isAdmin(reader, principal) ? 'yes' : 'lacking';
  if (token !== null && !(whole && token.capabilities.includes(need))) return 'lacking';
  return personHolds(reader, principal.userId, place, need) ? 'yes' : 'lacking';
}

/** Where the rights to a thing lie: those to a preview are those to its app. */
function rightsPlaceOf(
  reader: Reader,
  resource: Exclude<Resource, { kind: 'instance' }>,
): Place | undefined {
  if (resource.kind !== 'app' || resource.app.previewOf === undefined) return placeOf(resource);
  const app = reader.get(tables.apps, resource.app.previewOf.appId);
  return app && placeOf({ kind: 'app', app });
}

/** Where a thing lies; undefined for what does not exist, as in trash. */
export function placeOf(resource: Exclude<Resource, { kind: 'instance' }>): Place | undefined {
  switch (resource.kind) {
    case 'team':
      return { teamId: resource.teamId, folderId: null, nodeId: null };
    case 'folder':
      return { teamId: resource.folder.teamId, folderId: resource.folder.id, nodeId: null };
    case 'app':
      return placeOfNode(resource.app, resource.trashed === true);
    case 'database':
      return placeOfNode(resource.database, resource.trashed === true);
    default:
      return undefined;
  }
}

interface Node {
  id: string;
  teamId: string;
  folderId: string | null;
  deletedAtMs: number | null;
}

function placeOfNode(node: Readonly<Node>, trashed: boolean): Place | undefined {
  const { id, teamId, folderId, deletedAtMs } = node;
  if (deletedAtMs !== null && !trashed) return undefined;
  // In trash it is no longer a node of any scope: a token reaches it by its folder or team only.
  return { teamId, folderId, nodeId: deletedAtMs === null ? id : null };
}

/**
 * The end of the grace time is an entry of the journal, so that every thread and stream hears of it.
 */
function twoFactorDue(reader: Reader, userId: string, teamId: string): boolean {
  const team = reader.get(tables.teams, teamId);
  if (team?.requireTwoFactor !== true || (team.twoFactorGraceUntilMs ?? null) !== null)
    return false;
  return readUser(reader, userId)?.twoFactorEnabled !== true;
}

// People administer the instance. No capability stands for it, so no token can do it.
function isAdmin(reader: Reader, principal: SignedIn): boolean {
  return (
    principal.kind === 'person' && readUser(reader, principal.userId)?.isInstanceAdmin === true
  );
}

function refusal(verdict: Exclude<Verdict, 'yes'>, need: Need, resource: Resource): ServiceError {
  switch (verdict) {
    case 'anonymous':
      return new ServiceError('UNAUTHENTICATED', 'Sign in first.');
    case 'invisible':
      return new ServiceError('NOT_FOUND', `No such ${resource.kind}.`);
    case 'two-factor':
      return new ServiceError(
        'TWO_FACTOR_REQUIRED',
        'This team requires two-factor sign-in: turn it on at /account/two-factor.',
      );
    case 'lacking':
      if (need === 'admin' || need === null) {
        return new ServiceError('FORBIDDEN', 'This needs an instance administrator.');
      }
      return new ServiceError('FORBIDDEN', `This needs the capability ${need}.`, {
        extensions: { capability: need },
      });
  }
}
