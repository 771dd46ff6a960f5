/**
 * Owns what a connection may do before any tool runs: whether MCP is open to it in a team, and which
 * capabilities it holds anywhere. These capabilities decide which tools it is shown.
 *
 * 1. A team must have MCP switched on, and the token's owner must hold `manage_mcp` there. This is checked
 *    on every call, for the team of that call.
 * 2. A journal entry that may change the rights of a principal drops what is remembered of it.
 * 3. Seeing a tool is no right to its effect: GraphQL decides when the document runs.
 */
import { tokenTeam } from '../auth/callers/acting-team.ts';
import {
  authorize,
  can,
  capabilitiesIn,
  rightsTables,
  teamIdsOf,
} from '../auth/rights/authorize.ts';
import type { Principal, SignedIn } from '../auth/callers/principal.ts';
import type { Capability } from '../lib/capabilities.ts';
import { capabilities } from '../lib/capabilities.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Journal, Reader } from '../store/reader-and-journal.ts';
import type { TeamRecord } from '../store/records/records.ts';
import type { Change } from '../store/records/table.ts';
import { tables } from '../store/records/tables.ts';
import type { McpPrincipal } from './tool.ts';

export interface RightsOptions {
  reader: Reader;
  subscribe: Journal['subscribe'];
}

interface Standing {
  refusal: ServiceError | null;
  held: ReadonlySet<Capability> | null;
}

export class Rights {
  readonly #reader: Reader;
  readonly #unsubscribe: () => void;
  // A principal of the authenticator lives as long as the records it was made of.
  #standings = new WeakMap<Principal, Standing>();

  constructor({ reader, subscribe }: RightsOptions) {
    this.#reader = reader;
    this.#unsubscribe = subscribe((entry) => {
      const isDecisive = ({ table }: Change): boolean =>
        rightsTables.has(table) || table === tables.tokens.name;
      if (entry.changes.some(isDecisive)) this.#standings = new WeakMap();
    });
  }

  /** Throws FORBIDDEN, MCP_DISABLED or TWO_FACTOR_REQUIRED unless the principal may act in its team. */
  admit(principal: SignedIn): McpPrincipal {
    const { refusal } = this.#standing(principal);
    if (refusal !== null) throw refusal;
    return principal as McpPrincipal;
  }

  /** The caller in another team, by id or slug; null when the caller has no such team. Throws as `admit`. */
  actingIn(principal: SignedIn, team: string): McpPrincipal | null {
    const token =
      principal.kind === 'token' ? this.#reader.get(tables.tokens, principal.tokenId) : undefined;
    if (principal.kind !== 'token' || !token) return null;
    let teamId: string | null;
    try {
      teamId = tokenTeam(this.#reader, token, team);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'FORBIDDEN') return null;
      throw error;
    }
    if (teamId === null) return null;
    return this.admit({ ...principal, teamId });
  }

  /** The capabilities that the principal holds in any part of any team it may act in. */
  heldBy(principal: SignedIn): ReadonlySet<Capability> {
    const standing = this.#standing(principal);
    standing.held ??= this.#held(principal);
    return standing.held;
  }

  /** The teams that the principal may act in, its own first. */
  teamsOf(principal: SignedIn): Readonly<TeamRecord>[] {
    return teamIdsOf(this.#reader, principal).flatMap((teamId) => {
      const team = this.#reader.get(tables.teams, teamId);
      return team && this.#refusal({ ...principal, teamId }) === null ? [team] : [];
    });
  }

  /** Whether the principal sees an app or a database. A database in trash counts like any other. */
  sees(principal: SignedIn, id: string): boolean {
    const app = this.#reader.get(tables.apps, id);
    if (app !== undefined) return can(this.#reader, principal, null, { kind: 'app', app });
    const record = this.#reader.get(tables.databases, id);
    if (record === undefined) return false;
    const database = { ...record, deletedAtMs: null };
    return can(this.#reader, principal, null, { kind: 'database', database });
  }

  /** The capabilities given to the token itself. Its owner may hold fewer. */
  givenTo(principal: SignedIn): readonly Capability[] {
    if (principal.kind !== 'token') return capabilities;
    return this.#reader.get(tables.tokens, principal.tokenId)?.capabilities ?? [];
  }

  close(): void {
    this.#unsubscribe();
  }

  #standing(principal: SignedIn): Standing {
    const known = this.#standings.get(principal);
    if (known !== undefined) return known;
    const standing: Standing = { refusal: this.#refusal(principal), held: null };
    this.#standings.set(principal, standing);
    return standing;
  }

  #refusal(principal: SignedIn): ServiceError | null {
    const { teamId, userId } = principal;
    if (teamId === null) {
      return new ServiceError('FORBIDDEN', 'The token acts in no team; name one: X-Service-Team.');
    }
    try {
      // The owner's own right, whatever part of it the token was given.
      const owner = { kind: 'person', userId, sessionId: '', teamId } as const;
      authorize(this.#reader, owner, 'manage_mcp', { kind: 'team', teamId });
    } catch (error) {
      if (error instanceof ServiceError) return error;
      throw error;
    }
    if (this.#reader.get(tables.teams, teamId)?.mcpEnabled === true) return null;
    return new ServiceError('MCP_DISABLED', 'MCP is switched off in this team.');
  }

  #held(principal: SignedIn): ReadonlySet<Capability> {
    const given = new Set(this.givenTo(principal));
    const held = new Set<Capability>();
    for (const { id } of this.teamsOf(principal)) {
      for (const capability of capabilitiesIn(this.#reader, principal, id)) held.add(capability);
      const grants = this.#reader.list(tables.folderGrants, 'member', [id, principal.userId]);
      for (const capability of grants.flatMap((grant) => grant.capabilities)) {
        if (given.has(capability)) held.add(capability);
      }
    }
    return held;
  }
}
