/**
 * Owns one team's settings, tokens, folders and registries.
 *
 * 1. A handler ends only when its commit is durable, so that the next one reads what it wrote: a
 *    use noted late never brings a revoked token back.
 */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { isName } from '../../lib/names.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { FolderRecord, TeamRecord, TokenRecord } from '../../store/records/records.ts';
import { insert, put, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../workload/deps.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { appPlaceHandlers } from './apps.ts';
import { endGrantsOnFolder, grantHandlers } from './grants.ts';
import { inviteHandlers } from './invites.ts';
import { memberHandlers, roleHandlers } from './people.ts';
import { oauthGrantHandlers } from './oauth-grants.ts';
import { type TeamProtocol, type TokenUse, teamActor } from './protocol.ts';
import { registryHandlers } from './registries.ts';
import { teamLifeHandlers } from './team-life.ts';

export interface TeamActorOptions {
  reader: Reader;
  clock: Clock;
  /** What seals the passwords of registries. */
  secrets: SecretBox;
  /** Registries a team may have; default 100. */
  registriesMax?: number;
  /** Tokens a team may have; default 1,000. */
  tokensMax?: number;
  /** Folders a team may have; default 1,000. */
  foldersMax?: number;
  /** Roles a team may have besides the built-in ones; default 100. */
  rolesMax?: number;
  /** Open invites a team may have; default 200. */
  invitesMax?: number;
  /** People a team may have; default 1,000. */
  membersMax?: number;
}

const folderDepthMax = 16;

export function teamActorDefinition(options: TeamActorOptions): ActorDefinition<TeamProtocol> {
  return {
    kind: teamActor,
    activate: (context) => ({
      handlers: {
        ...settingHandlers(options, context),
        ...teamLifeHandlers(options, context),
        ...memberHandlers(options, context),
        ...roleHandlers(options, context),
        ...inviteHandlers(options, context),
        ...tokenHandlers(options, context),
        ...oauthGrantHandlers(options, context),
        ...registryHandlers(options, context),
        ...folderHandlers(options, context),
        ...grantHandlers(options, context),
        ...appPlaceHandlers(options, context),
      },
    }),
  };
}

type Handlers = Actor<TeamProtocol>['handlers'];
type Context = ActorContext<TeamProtocol>;

function settingHandlers(
  { reader }: TeamActorOptions,
  context: Context,
): Pick<Handlers, 'mcp-set'> {
  return {
    'mcp-set': async ({ enabled }) => {
      const team = { ...mustExist(reader, context.ref.id), mcpEnabled: enabled };
      await context.commit([put(tables.teams, team)]);
      return team;
    },
  };
}

function tokenHandlers(
  { reader, tokensMax = 1_000 }: TeamActorOptions,
  context: Context,
): Pick<Handlers, 'token-create' | 'token-revoke' | 'tokens-used'> {
  const teamId = context.ref.id;
  return {
    'token-create': async ({ token }) => {
      mustExist(reader, teamId);
      if (token.homeTeamId !== teamId) throw new Error('a token of another team');
      // Who was removed meanwhile leaves no token for the day of coming back.
      if (!reader.get(tables.members, [teamId, token.userId])) {
        throw new ServiceError('FORBIDDEN', 'You are not in this team.');
      }
      if (reader.count(tables.tokens, 'team', [teamId]) >= tokensMax) {
        throw new ServiceError('CONFLICT', `A team has at most ${String(tokensMax)} tokens.`);
      }
      await context.commit([insert(tables.tokens, token)]);
      return token;
    },
    'token-revoke': async ({ tokenId }) => {
      const token = reader.get(tables.tokens, tokenId);
      if (token?.homeTeamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such token.');
      await context.commit([take(tables.tokens, tokenId)]);
      return true;
    },
    'tokens-used': async ({ uses }) => {
      const changes = changedUses(reader, teamId, uses).map((token) => put(tables.tokens, token));
      if (changes.length > 0) await context.commit(changes);
      return true;
    },
  };
}

function folderHandlers(
  { reader, clock, foldersMax = 1_000 }: TeamActorOptions,
  context: Context,
): Pick<Handlers, 'folder-create' | 'folder-delete'> {
  const teamId = context.ref.id;
  return {
    'folder-create': async ({ name, parentId }) => {
      mustExist(reader, teamId);
      const folder = { id: newId('fld', clock.now()), teamId, name: folderName(name), parentId };
      if (depthOf(reader, teamId, parentId) >= folderDepthMax) {
        throw new ServiceError('BAD_USER_INPUT', 'Folders nest at most 16 deep.');
      }
      if (reader.count(tables.folders, 'team', [teamId]) >= foldersMax) {
        throw new ServiceError('CONFLICT', `A team has at most ${String(foldersMax)} folders.`);
      }
      await context.commit([insert(tables.folders, folder)]);
      return folder;
    },
    'folder-delete': async ({ folderId }) => {
      ownFolder(reader, teamId, folderId);
      const inUse =
        reader.list(tables.apps, 'folder', [teamId, folderId], { limit: 1 }).length > 0 ||
        reader.count(tables.databases, 'folder', [teamId, folderId]) > 0 ||
        reader.list(tables.folders, 'name', [teamId, folderId], { limit: 1 }).length > 0;
      if (inUse) throw new ServiceError('CONFLICT', 'The folder is not empty.');
      await context.commit([
        take(tables.folders, folderId),
        ...endGrantsOnFolder(reader, folderId),
      ]);
      return true;
    },
  };
}

function mustExist(reader: Reader, teamId: string): Readonly<TeamRecord> {
  const team = reader.get(tables.teams, teamId);
  if (!team) throw new ServiceError('NOT_FOUND', 'No such team.');
  return team;
}

function ownFolder(reader: Reader, teamId: string, folderId: string): Readonly<FolderRecord> {
  const folder = reader.get(tables.folders, folderId);
  if (folder?.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such folder.');
  return folder;
}

/** How many folders stand above a new one in `parentId`; NOT_FOUND for a parent of another team. */
function depthOf(reader: Reader, teamId: string, parentId: string | null): number {
  let depth = 0;
  for (let id = parentId; id !== null && depth <= folderDepthMax; depth++) {
    id = ownFolder(reader, teamId, id).parentId;
  }
  return depth;
}

function changedUses(reader: Reader, teamId: string, uses: readonly TokenUse[]): TokenRecord[] {
  return uses.flatMap(({ tokenId, atMs }) => {
    const token = reader.get(tables.tokens, tokenId);
    if (token?.homeTeamId !== teamId || (token.lastUsedAtMs ?? 0) >= atMs) return [];
    return [{ ...token, lastUsedAtMs: atMs }];
  });
}

function folderName(given: string): string {
  const name = given.trim();
  if (!isName(name)) {
    throw new ServiceError(
      'BAD_USER_INPUT',
      'A folder name has 1 to 100 visible characters, on one line.',
    );
  }
  return name;
}
