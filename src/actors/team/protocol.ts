/**
 * Owns the messages of the `team` actor: the only way a team's settings, API tokens and folders
 * change. Who may send them was decided before; the actor checks the state of things.
 */
import type { FolderRecord, TeamRecord, TokenRecord } from '../../store/records.ts';
import { actorKind } from '../runtime/contract.ts';

export interface TokenUse {
  tokenId: string;
  atMs: number;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type TeamProtocol = {
  /** Switches MCP on or off. Refused: NOT_FOUND without the team. */
  'mcp-set': { in: { enabled: boolean }; out: TeamRecord };

  /** Stores a token made in this team. Refused: NOT_FOUND without the team, CONFLICT at the limit. */
  'token-create': { in: { token: TokenRecord }; out: TokenRecord };
  /** NOT_FOUND when it is gone or of another team. */
  'token-revoke': { in: { tokenId: string }; out: boolean };
  /** Notes when tokens were last used; those gone meanwhile are passed over. */
  'tokens-used': { in: { uses: TokenUse[] }; out: boolean };

  /** Refused: BAD_USER_INPUT, CONFLICT for a name taken there, NOT_FOUND for the parent. */
  'folder-create': { in: { name: string; parentId: string | null }; out: FolderRecord };
  /** Refused: NOT_FOUND, CONFLICT while apps or folders are in it. */
  'folder-delete': { in: { folderId: string }; out: boolean };
};

export const teamActor = actorKind<TeamProtocol>('team');
