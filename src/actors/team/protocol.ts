/**
 * Owns the messages of the `team` actor: the only way to change a team's settings, people, API tokens and
 * folders. The sender's rights were checked before; the actor checks the state.
 */
import type { Capability } from '../../lib/capabilities.ts';
import type {
  AppRecord,
  DatabaseRecord,
  DestinationRecord,
  FolderGrantRecord,
  FolderRecord,
  GitConnectionRecord,
  InviteRecord,
  MemberRecord,
  RegistryRecord,
  RoleRecord,
  TeamRecord,
  TokenRecord,
} from '../../store/records/records.ts';
import type { NewPerson } from '../account/new-person.ts';
import type { AppPatch, NewApp } from '../app/protocol.ts';
import type { NewDatabase } from '../database/protocol.ts';
import type { NewDestination } from '../destination/protocol.ts';
import type { NewConnection, NewGithubConnection } from '../git/protocol.ts';
import { type Actor, actorKind } from '../runtime/actor.ts';

export interface TokenUse {
  tokenId: string;
  atMs: number;
}

/** A null field stays unchanged. */
export interface TeamChange {
  name: string | null;
  requireTwoFactor: boolean | null;
  /** How long, from now, people without two-factor may still act where it is required. */
  twoFactorGraceMs: number | null;
}

export interface NewRegistry {
  name: string;
  host: string;
  username: string | null;
  password: string | null;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type TeamProtocol = {
  /** Switches MCP on or off. Refused: NOT_FOUND without the team. */
  'mcp-set': { in: { enabled: boolean }; out: TeamRecord };

  /** A null field stays unchanged. Refused: NOT_FOUND, BAD_USER_INPUT. */
  'team-update': { in: TeamChange; out: TeamRecord };
  /** From an alarm: the grace of two-factor is over. */
  'two-factor-due': { in: { untilMs: number }; out: boolean };
  /** Refused: NOT_FOUND, FORBIDDEN unless `by` owns it, CONFLICT while anything is in it. */
  'team-delete': { in: { by: string }; out: boolean };

  /** `by` makes the change. Refused: NOT_FOUND, FORBIDDEN, CONFLICT for the last owner. */
  'member-update': { in: { userId: string; roleId: string; by: string }; out: MemberRecord };
  'member-remove': { in: { userId: string; by: string }; out: boolean };

  /** Refused: BAD_USER_INPUT, FORBIDDEN beyond what `by` holds, CONFLICT for a name that is taken. */
  'role-create': {
    in: { name: string; capabilities: Capability[]; by: string };
    out: RoleRecord;
  };
  /** A null field stays unchanged. Also refused: NOT_FOUND, CONFLICT for a built-in role. */
  'role-update': {
    in: { roleId: string; name: string | null; capabilities: Capability[] | null; by: string };
    out: RoleRecord;
  };
  /** Refused: NOT_FOUND, CONFLICT for a built-in role or one in use. */
  'role-delete': { in: { roleId: string }; out: boolean };

  /** Replaces an open invite of the address. Refused: NOT_FOUND, FORBIDDEN, CONFLICT. */
  'invite-create': { in: { invite: InviteRecord }; out: InviteRecord };
  'invite-revoke': { in: { inviteId: string }; out: boolean };
  /** From an alarm. */
  'invite-expire': { in: { inviteId: string }; out: boolean };
  /**
   * Makes `userId` a member; `person`, when given, is made first. Refused: NOT_FOUND for every fault of an
   * invite; CONFLICT for an address or a place that is taken.
   */
  'invite-accept': {
    in: {
      hash: string;
      userId: string;
      person: Pick<NewPerson, 'name' | 'passwordHash'> | null;
    };
    out: MemberRecord;
  };

  /** Stores a token made in this team. Refused: NOT_FOUND without the team, CONFLICT at the limit. */
  'token-create': { in: { token: TokenRecord }; out: TokenRecord };
  /** NOT_FOUND when the token is gone or of another team. */
  'token-revoke': { in: { tokenId: string }; out: boolean };
  /** Prolongs an OAuth client's grant; NOT_FOUND when it is gone. */
  'grant-extend': { in: { tokenId: string; expiresAtMs: number }; out: boolean };
  /** Notes when tokens were last used; removed tokens are skipped. */
  'tokens-used': { in: { uses: TokenUse[] }; out: boolean };

  /** Refused: NOT_FOUND without the team, BAD_USER_INPUT, CONFLICT for a host it has, or too many. */
  'registry-add': { in: { registry: NewRegistry }; out: RegistryRecord };
  'registry-remove': { in: { registryId: string }; out: boolean };

  /** Makes an app in this team. Refused: NOT_FOUND without the team, and as by `create`. */
  'app-create': { in: { appId: string; app: NewApp }; out: AppRecord };
  /** Makes a database in this team. Refused: NOT_FOUND, CONFLICT at the limit, and as by `create`. */
  'database-create': { in: { databaseId: string; database: NewDatabase }; out: DatabaseRecord };
  /** Makes a destination of backups. Refused: NOT_FOUND, CONFLICT at the limit, and as by `create`. */
  'destination-create': {
    in: { destinationId: string; destination: NewDestination };
    out: DestinationRecord;
  };
  /** Makes a connection to a git provider. Refused: NOT_FOUND, CONFLICT at the limit, and as by `create`. */
  'git-connect': {
    in: { connectionId: string; connection: NewConnection | NewGithubConnection };
    out: GitConnectionRecord;
  };
  /** Changes an app of this team, its folder too. Refused: NOT_FOUND, and as by `update`. */
  'app-move': { in: { appId: string; patch: AppPatch }; out: AppRecord };

  /** Refused: BAD_USER_INPUT, CONFLICT for a name that is taken there, NOT_FOUND for the parent. */
  'folder-create': { in: { name: string; parentId: string | null }; out: FolderRecord };
  /** Refused: NOT_FOUND, CONFLICT while apps, databases or folders are in it. */
  'folder-delete': { in: { folderId: string }; out: boolean };
  /**
   * Sets a member's capabilities in a folder; none removes the grant. Answers the folder's grants;
   * NOT_FOUND.
   */
  'folder-grant-set': {
    in: { folderId: string; userId: string; capabilities: Capability[] };
    out: FolderGrantRecord[];
  };
};

/** The handlers of one concern. */
export type TeamHandlers = Partial<Actor<TeamProtocol>>;

export const teamActor = actorKind<TeamProtocol>('team');
