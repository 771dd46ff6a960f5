/**
 * Owns what the parts of the GraphQL layer hand to each other: settings and limits (plain data, so
 * that they cross threads), and the context every resolver sees.
 *
 * 1. `read` is on every thread; `write` only where the actors are, so a mutation never runs in a
 *    worker.
 * 2. A resolver of a query is synchronous: it reads one state and returns. Few ask others (`gate/documents.ts`), and
 *    run where mutations do.
 */
import type { ConsoleCommands } from '../consoles/commands.ts';
import type { DnsLooks } from '../actors/domains/dns-looks.ts';
import type { ListRepositories } from '../actors/git/repository-lists.ts';
import type { GithubConnects } from '../actors/git/github-connects.ts';
import type { Actors } from '../actors/runtime/actor.ts';
import type { LogStreams } from '../logs/live/log-streams.ts';
import type { Accounts } from '../auth/sign-in/accounts.ts';
import type { AccountReads } from '../auth/callers/account-reads.ts';
import type { Origin } from '../auth/sign-in/sign-in.ts';
import type { Audit } from '../auth/audit.ts';
import type { Principal } from '../auth/callers/principal.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { TeamFeed } from './live/team-feed.ts';
import type { LogReader } from '../logs/files/log.ts';
import type { LogSearches } from '../logs/search/log-searches.ts';
import type { MetricsReader } from '../metrics/metrics-files.ts';

/** What the instance says of itself; plain data. */
export interface GraphqlSettings {
  /** `http(s)://host[:port]` as config says; `updateInstanceSettings` may override it. */
  publicUrl: string;
  appsDomain: string;
  edgePort: number;
  edgeTlsPort: number | null;
  /** What a certificate is ordered for that serves the names of apps; null: none is. */
  appsWildcard: string | null;
  /** Whether it is there; seen in the store. */
  hasAppsCertificate: boolean;
  /** Of config; the instance record overrides it. */
  logMaxDays: number;
  /** What the addresses of git webhooks are made with, hex; a secret. */
  webhookKey: string;
  /** The server that everything is put on: this machine. */
  server: { id: string; name: string; runtime: string; version: string | null };
}

/** How the instance is now. */
export interface InstanceStatus {
  /** Of Gangway, as it runs. */
  version: string;
  /** As it is on the disk: what the next start runs. */
  installedVersion: string;
  nodeVersion: string;
  startedAtMs: number;
  /** Whether the place that runs apps and databases answers; null before anything was deployed. */
  placeAnswers: boolean | null;
  /** Whether the way of visitors to apps answers on its port; null before anything was deployed. */
  edgeAnswers: boolean | null;
  /** Sentences of what is not as safe as it could be. */
  warnings: readonly string[];
  machine: MachineStatus;
}

/** The machine that Gangway runs on. */
export interface MachineStatus {
  name: string;
  system: string;
  cores: number;
  /** Threads that ran or waited for a core, on average of the last minute. */
  load: number;
  memoryBytes: number;
  /** What programs can still get. */
  memoryFreeBytes: number;
  /** Of the disk with the data directory. */
  diskBytes: number;
  diskFreeBytes: number;
}

/** Bounds of one request. Reaching one is COST_LIMIT. */
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
  /** Static cost: one for each field, times what the lists above it may hold. */
  cost: number;
  /** Up to this cost a query runs on the gateway's own thread. */
  inlineCost: number;
  /** Microseconds that others take there in one turn of the loop; what comes beyond goes to workers. */
  inlineTurnUs: number;
  /** Above it a query runs on a thread of its own, where no light one waits behind it. */
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
  /** Records mutations; absent in tests that look at other things. */
  readonly audit?: Pick<Audit, 'during'>;
  /** Runs commands in apps and databases; absent where nothing runs. */
  readonly commands?: Pick<ConsoleCommands, 'run'>;
  /** Asks git providers for their repositories; absent in tests that look at other things. */
  readonly repositories?: ListRepositories;
  /** Searches logs; absent where there are no files of them. */
  readonly searches?: Pick<LogSearches, 'find'>;
  /** Connects teams to GitHub; absent in tests that look at other things. */
  readonly github?: Pick<GithubConnects, 'start'>;
  /** Looks how the instance is; absent in tests that look at other things. */
  readonly instance?: () => Promise<InstanceStatus>;
  /** Looks at the DNS for domains; absent in tests that look at other things. */
  readonly dns?: Pick<DnsLooks, 'own' | 'lookNow'>;
}

/** What there is to follow; the hub behind it is `live/watchers.ts`. */
export interface LiveSource {
  /**
   * Calls `wake(true)` when the app, one of its deployments, or the database changed, and
   * `wake(false)` about twice a second, so that the caller can look whether it may still see it. The returned function
   * ends it.
   */
  watch(id: string, wake: (changed: boolean) => void): () => void;
  /** Follows all of a team; `wake` is called as `watch` calls it. */
  followTeam(teamId: string, wake: (changed: boolean) => void): TeamView;
  /** Whether a thing of any team, or what somebody sees of it, changed behind a position of the journal. */
  changedSince(position: number): boolean;
  readonly streams: Pick<LogStreams, 'attach'>;
  /** Whether the principal would still be resolved. */
  stillValid(principal: Principal): boolean;
}

export interface TeamView {
  readonly feed: Pick<TeamFeed, 'position' | 'after' | 'look' | 'folderOf' | 'leftBehind'>;
  /** Another one as soon as somebody's rights may have changed. */
  rightsVersion(): number;
  leave(): void;
}

/** The HTTP exchange a mutation may set cookies on; absent for calls from within. */
export interface HttpSide {
  readonly origin: Origin;
  /** The request's `Cookie`, '' for none: it carries a sign-in that waits for its second step. */
  readonly cookieHeader: string;
  setCookies(cookies: readonly string[]): void;
  /** Signing in is refused for now: the whole answer is 429, so that any client backs off. */
  tooMany(retryAfterS: number): void;
}

/** Who asks over MCP; plain data. Told in the activity, and trusted in nothing. */
export interface AgentSide {
  readonly address: string;
  readonly userAgent: string;
  /** Name and version, as the client says them; null where it does not. */
  readonly client: string | null;
  readonly tool: string;
}

/** What few resolvers ask for; some of it is made when it is first asked for. */
export interface CallSide {
  readonly http: HttpSide | null;
  /** Where a call came from that has no `http`, for the activity; absent for calls from within. */
  readonly origin?: Pick<Origin, 'address' | 'userAgent'> | null;
  /** Who asks over MCP, for the activity. */
  readonly agent?: AgentSide | null;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal | null;
}

export interface GraphContext {
  readonly read: ReadSide;
  readonly write: WriteSide | null;
  readonly principal: Principal;
  /** Whether a deployment asked for here was asked for through MCP. */
  readonly via: 'http' | 'mcp';
  readonly call: CallSide;
}
