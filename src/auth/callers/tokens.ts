/**
 * Owns who may make an API token, and what it may hold.
 *
 * 1. Nobody makes a token with more than their own effective capabilities, scope and time.
 * 2. The text of a token is shown once, in the answer that made it. Only its hash is kept.
 */
import type { Actors } from '../../actors/runtime/actor.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { type Capability, capabilities } from '../../lib/capabilities.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { checkedName } from '../../lib/names.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { actingTeam, authorize, type Resource } from '../rights/authorize.ts';
import { assertMayGive } from '../rights/escalation.ts';
import type { SignedIn } from './principal.ts';
import { liveApp, liveDatabase } from '../rights/scope.ts';
import { newTokenSecret, shownPrefix, tokenHash } from './token-codec.ts';

export interface NewToken {
  name: string;
  capabilities: Capability[];
  teamIds: string[];
  folderIds: string[];
  appIds: string[];
  databaseIds: string[];
  expiresAtMs: number | null;
}

interface TokensOptions {
  reader: Reader;
  actors: Actors;
  clock: Clock;
}

const nodesMax = 100;

/**
 * FORBIDDEN beyond the caller's own power, NOT_FOUND for a node that the caller does not see,
 * BAD_USER_INPUT.
 */
export async function createToken(
  { reader, actors, clock }: TokensOptions,
  principal: SignedIn,
  input: NewToken,
): Promise<{ token: TokenRecord; secret: string }> {
  const homeTeamId = actingTeam(principal);
  authorize(reader, principal, 'manage_tokens', { kind: 'team', teamId: homeTeamId });
  const now = clock.now();
  const wanted = checkedInput(input, now);
  const maker = makerOf(reader, principal);
  if (maker?.oauth) {
    // A token that it made would live on when its grant is revoked.
    throw new ServiceError('FORBIDDEN', 'A connected client makes no API tokens.');
  }
  mustNotOutlive(maker, wanted);
  if (maker !== null && !maker.allTeams && isUnnamed(wanted)) {
    throw new ServiceError('FORBIDDEN', 'A token cannot make one that reaches further.');
  }
  const nodes = isUnnamed(wanted) ? [teamNode(homeTeamId)] : nodesOf(reader, wanted);
  for (const node of nodes) {
    assertMayGive(reader, principal, node.teamId, wanted.capabilities, node.resource);
    mustReachWhole(reader, principal, node.resource);
  }
  const secret = newTokenSecret();
  const token: TokenRecord = {
    id: newId('tok', now),
    userId: principal.userId,
    hash: tokenHash(secret),
    prefix: shownPrefix(secret),
    allTeams: isUnnamed(wanted),
    homeTeamId,
    createdAtMs: now,
    lastUsedAtMs: null,
    ...wanted,
  };
  await actors.ask(teamActor.at(homeTeamId), { type: 'token-create', token });
  return { token, secret };
}

function checkedInput(input: NewToken, now: number): NewToken {
  const name = checkedName(input.name, 'A token name');
  const { expiresAtMs } = input;
  if (expiresAtMs !== null && !(Number.isSafeInteger(expiresAtMs) && expiresAtMs > now)) {
    throw new ServiceError('BAD_USER_INPUT', 'expiresAt lies in the past.');
  }
  const wanted = {
    name,
    expiresAtMs,
    capabilities: capabilities.filter((capability) => input.capabilities.includes(capability)),
    teamIds: unique(input.teamIds),
    folderIds: unique(input.folderIds),
    appIds: unique(input.appIds),
    databaseIds: unique(input.databaseIds),
  };
  const { teamIds, folderIds, appIds, databaseIds } = wanted;
  if (teamIds.length + folderIds.length + appIds.length + databaseIds.length > nodesMax) {
    throw new ServiceError(
      'BAD_USER_INPUT',
      'A token names at most 100 teams, folders, apps and databases.',
    );
  }
  return wanted;
}

interface Node {
  teamId: string;
  resource: Resource;
}

function nodesOf(reader: Reader, wanted: NewToken): Node[] {
  const noSuch = (kind: string): ServiceError => new ServiceError('NOT_FOUND', `No such ${kind}.`);
  return [
    ...wanted.teamIds.map(teamNode),
    ...wanted.folderIds.map((id): Node => {
      const folder = reader.get(tables.folders, id);
      if (!folder) throw noSuch('folder');
      return { teamId: folder.teamId, resource: { kind: 'folder', folder } };
    }),
    ...wanted.appIds.map((id): Node => {
      const app = liveApp(reader, id);
      if (!app) throw noSuch('app');
      return { teamId: app.teamId, resource: { kind: 'app', app } };
    }),
    ...wanted.databaseIds.map((id): Node => {
      const database = liveDatabase(reader, id);
      if (!database) throw noSuch('database');
      return { teamId: database.teamId, resource: { kind: 'database', database } };
    }),
  ];
}

function teamNode(teamId: string): Node {
  return { teamId, resource: { kind: 'team', teamId } };
}

/** A token that sees only some things of a team cannot give another token the whole team. */
function mustReachWhole(reader: Reader, principal: SignedIn, node: Resource): void {
  const maker = makerOf(reader, principal);
  if (node.kind !== 'team' || maker === null || maker.allTeams) return;
  if (!maker.teamIds.includes(node.teamId)) {
    throw new ServiceError('FORBIDDEN', 'A token cannot make one that reaches further.');
  }
}

function mustNotOutlive(maker: Readonly<TokenRecord> | null, wanted: NewToken): void {
  const endsAtMs = maker?.expiresAtMs ?? Infinity;
  if ((wanted.expiresAtMs ?? Infinity) <= endsAtMs) return;
  throw new ServiceError('FORBIDDEN', 'A token cannot make one that lives longer than itself.');
}

function makerOf(reader: Reader, principal: SignedIn): Readonly<TokenRecord> | null {
  if (principal.kind === 'person') return null;
  const token = reader.get(tables.tokens, principal.tokenId);
  if (!token) throw new ServiceError('UNAUTHENTICATED', 'The API token is not valid.');
  return token;
}

function isUnnamed(wanted: NewToken): boolean {
  const { teamIds, folderIds, appIds, databaseIds } = wanted;
  return [teamIds, folderIds, appIds, databaseIds].every((ids) => ids.length === 0);
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}
