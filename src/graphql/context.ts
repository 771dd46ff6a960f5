/**
 * Owns what the parts of the GraphQL layer pass to each other: settings and limits (plain data, so that
 * they cross threads), and the context that every resolver gets.
 *
 * 1. `read` is on every thread; `write` only where the actors are, so a mutation never runs in a worker.
 * 2. A resolver of a query is synchronous: it reads one state and returns.
 */
import type { ConsoleCommands } from '../consoles/commands.ts';
import type { Actors } from '../actors/runtime/actor.ts';
import type { LogStreams } from '../logs/live/log-streams.ts';
import type { Accounts } from '../auth/sign-in/accounts.ts';
import type { AccountReads } from '../auth/callers/account-reads.ts';
import type { Origin } from '../auth/sign-in/sign-in.ts';
import type { Audit } from '../auth/audit.ts';
import type { Principal } from '../auth/callers/principal.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { LogReader } from '../logs/files/log.ts';
import type { MetricsReader } from '../metrics/metrics-files.ts';

/** What the instance reports about itself; plain data. */
export interface GraphqlSettings {
  /** `http(s)://host[:port]` from the configuration; `updateInstanceSettings` may override it. */
  publicUrl: string;
  appsDomain: string;
  edgePort: number;
  /** From the configuration; the instance record overrides it. */
  logMaxDays: number;
  /** The server that everything runs on: this machine. */
  server: { id: string; name: string; runtime: string; version: string | null };
}

/** Limits of one request. A request above a limit is COST_LIMIT. */
export interface GraphqlLimits {
  /** Characters of the document. */
  queryChars: number;
  tokens: number;
  /** Nesting of fields, fragments followed. The introspection query of GraphiQL needs 15. */
  depth: number;
  /** Fields written under another name. */
  aliases: number;
  directives: number;
  /** Fields as written, fragments counted once. */
  fields: number;
  fragments: number;
  /** How often one response key may stand in one selection set. */
  repeats: number;
  /** Variables of one operation. */
  variables: number;
  /** Bytes of the request that are not the document. */
  variablesBytes: number;
  /** Static cost: one for each field, times the possible length of the lists above it. */
  cost: number;
  /** Up to this cost a query runs on the gateway's own thread. */
  inlineCost: number;
  /** Microseconds of queries that this thread runs in one turn of the loop; further queries go to workers. */
  inlineTurnUs: number;
  /** Above this cost a query runs on a thread of its own, so that no light query waits behind it. */
  heavyCost: number;
}

export const defaultLimits: GraphqlLimits = {
  queryChars: 65_536,
  tokens: 4_000,
  depth: 16,
  aliases: 100,
  directives: 50,
  fields: 1_000,
  fragments: 40,
  repeats: 20,
  variables: 100,
  variablesBytes: 786_432,
  cost: 50_000,
  inlineCost: 40,
  inlineTurnUs: 250,
  heavyCost: 2_000,
};

export interface ReadSide {
  readonly reader: Reader;
  readonly logs: LogReader;
  readonly metrics: MetricsReader;
  readonly accounts: AccountReads;
  readonly settings: GraphqlSettings;
}

export interface WriteSide {
  readonly actors: Actors;
  /** Loaded when first needed: signing in is slow and rare. */
  accounts(): Promise<Accounts>;
  readonly live: LiveSource;
  /** Records mutations; absent in tests of other things. */
  readonly audit?: Pick<Audit, 'during'>;
  /** Runs commands in apps and databases; absent where nothing runs. */
  readonly commands?: Pick<ConsoleCommands, 'run'>;
}

/** What subscriptions can follow; the hub behind it is `live/watchers.ts`. */
export interface LiveSource {
  /**
   * Calls `wake(true)` when the app, one of its deployments, or the database changed. Calls `wake(false)`
   * about twice a second, so that the caller can check its rights again. The returned function ends the
   * calls.
   */
  watch(id: string, wake: (changed: boolean) => void): () => void;
  readonly streams: Pick<LogStreams, 'attach'>;
  /** Whether the session or token of the principal is still valid. */
  stillValid(principal: Principal): boolean;
}

/** The HTTP exchange on which a mutation may set cookies; absent for internal calls. */
export interface HttpSide {
  readonly origin: Origin;
  /** The request's `Cookie`, '' for none: it carries a sign-in that waits for its second step. */
  readonly cookieHeader: string;
  setCookies(cookies: readonly string[]): void;
  /** Signing in is refused for now: the whole answer is 429, so that any client backs off. */
  tooMany(retryAfterS: number): void;
}

/** The client that calls over MCP; plain data. The activity shows it, and nothing trusts it. */
export interface AgentSide {
  readonly address: string;
  readonly userAgent: string;
  /** Name and version, in the client's own words; null when it gives none. */
  readonly client: string | null;
  readonly tool: string;
}

/** What few resolvers need; some of it is made on demand. */
export interface CallSide {
  readonly http: HttpSide | null;
  /** The origin of a call that has no `http`, for the activity; absent for internal calls. */
  readonly origin?: Pick<Origin, 'address' | 'userAgent'> | null;
  /** The client that calls over MCP, for the activity. */
  readonly agent?: AgentSide | null;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal | null;
}

export interface GraphContext {
  readonly read: ReadSide;
  readonly write: WriteSide | null;
  readonly principal: Principal;
  /** How a deployment was requested that this call begins. */
  readonly via: 'http' | 'mcp';
  readonly call: CallSide;
}
