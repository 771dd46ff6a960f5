/**
 * Owns the shapes of what is stored. Times are milliseconds since the epoch. What is absent is
 * `null`, so that a record has one shape and decodes fast.
 */
import type { Capability } from '../../lib/capabilities.ts';
import type { LayerState } from '../../protocol/isolation.ts';
import type { AgentState } from './agent-records.ts';

export type * from './app-records.ts';
export type * from './agent-records.ts';
export * from './backup-records.ts';
export * from './database-records.ts';
export type * from './domain-records.ts';
export type * from './git-records.ts';
export type * from './move-records.ts';

export interface InstanceRecord {
  /** Always `instance`. */
  id: 'instance';
  instanceId: string;
  logMaxDays: number;
  /** Set by `updateInstanceSettings`; null: the value of the configuration counts. */
  publicUrl: string | null;
  createdAtMs: number;
  /** Null until `completeSetup`. */
  setUpAtMs: number | null;
  /** Whether variables that were sealed before `refersTo` existed have got theirs. */
  referencesKnown?: boolean;
}

/**
 * A server of a swarm as it was last seen; one that an agent connects from; or this machine, of which the process runtime
 * tells its isolation.
 */
export interface ServerRecord {
  /** `srv_local`, or `srv_` and what its driver calls it. */
  id: string;
  name: string;
  runtime: 'swarm' | 'process';
  connected: boolean;
  draining: boolean;
  version: string | null;
  /** When its driver last said that it is connected. While it is, this is true to the minute. */
  lastSeenAtMs: number | null;
  /** Of the process runtime. */
  isolation?: readonly LayerState[];
  /** Of a server that somebody added: nothing but removing it ends the record. */
  agent?: AgentState;
}

export interface TeamRecord {
  id: string;
  slug: string;
  name: string;
  requireTwoFactor: boolean;
  /**
   * Until when people without two-factor may still work in the team; null or missing: not any more.
   */
  twoFactorGraceUntilMs?: number | null;
  mcpEnabled: boolean;
  createdAtMs: number;
}

export interface RoleRecord {
  id: string;
  teamId: string;
  name: string;
  capabilities: Capability[];
  builtIn: 'owner' | 'member' | 'viewer' | null;
}

export interface MemberRecord {
  teamId: string;
  userId: string;
  roleId: string;
  joinedAtMs: number;
}

export interface FolderRecord {
  id: string;
  teamId: string;
  name: string;
  parentId: string | null;
}

/** A record of better-auth, kept as the library hands it over (dates as milliseconds in `dates`). */
export interface AuthRecord {
  model: string;
  id: string;
  fields: Record<string, unknown>;
  /** Names of the fields that are dates. */
  dates: string[];
}

export interface TokenRecord {
  id: string;
  name: string;
  userId: string;
  /** SHA-256 of the whole token, hex. */
  hash: string;
  /** What is shown of it: `gwy_` and its first characters. */
  prefix: string;
  capabilities: Capability[];
  /** Made without a scope: it is good for all teams of its owner. */
  allTeams: boolean;
  teamIds: string[];
  folderIds: string[];
  appIds: string[];
  databaseIds: string[];
  /** The team it was made in; where it is listed and where it acts by default. */
  homeTeamId: string;
  createdAtMs: number;
  lastUsedAtMs: number | null;
  expiresAtMs: number | null;
  /** Set on the grant of an OAuth client, whose own tokens come and go with this record. */
  oauth?: OAuthClientRef | null;
}

/** The client of a grant, as it was when the person consented. */
export interface OAuthClientRef {
  clientId: string;
  name: string;
  /** Where the client gets its answers: a host, or the scheme of an application. */
  host: string;
}

/** A registry that images of a team come from. Its login is used for this host alone. */
export interface RegistryRecord {
  id: string;
  teamId: string;
  name: string;
  /** `host` or `host:port`, in lower case. */
  host: string;
  /** Both null where no login is needed. */
  username: string | null;
  /** The password, sealed. */
  sealed: Uint8Array | null;
  createdAtMs: number;
}

export interface TrashRecord {
  id: string;
  teamId: string;
  kind: 'app' | 'database';
  targetId: string;
  name: string;
  deletedAtMs: number;
  purgeAtMs: number;
}

/** A durable alarm of an actor: `message` is told to it at `atMs`, also after a restart. */
export interface AlarmRecord {
  actor: string;
  name: string;
  atMs: number;
  message: unknown;
}

/** What a person may do in a folder, and in everything below it, beyond their role. */
export interface FolderGrantRecord {
  teamId: string;
  folderId: string;
  userId: string;
  /** Never empty: a grant of nothing is removed. */
  capabilities: Capability[];
}

/**
 * A person's second factor. It is being enrolled until it is confirmed, and in force from then on.
 */
export interface TwoFactorRecord {
  userId: string;
  /** Names this enrolment, so that a code is never taken for one of another enrolment. */
  enrolment: string;
  /** The secret behind the codes, sealed. */
  sealed: Uint8Array;
  /** Keyed hashes of the recovery codes that are left, hex. */
  recoveryHashes: string[];
  /** The last time step whose code was used. Codes of this step and of earlier ones are refused. */
  lastStep: number;
  createdAtMs: number;
  /** Null until the first code came. */
  confirmedAtMs: number | null;
}

/**
 * When a session was last used. It has a table of its own, because it changes often and decides
 * nothing.
 */
/** What a public registry answered. */
export interface LookupRecord {
  /** What was asked. */
  id: string;
  fetchedAtMs: number;
  /** JSON. */
  found: string;
}

export interface SightingRecord {
  sessionId: string;
  userId: string;
  lastSeenAtMs: number;
}

/** A place in a team for whoever holds its link. Of the link's token only the hash is stored. */
export interface InviteRecord {
  id: string;
  teamId: string;
  /** In lower case; one open invite for each address in a team. */
  email: string;
  roleId: string;
  /** SHA-256 of the token, hex. */
  hash: string;
  /** Who gives the place. The invite is worth no more than this person may still give. */
  invitedBy: string;
  createdAtMs: number;
  expiresAtMs: number;
}

/**
 * What somebody did, with names as they were then. It is written once, in the commit of the change
 * itself.
 */
export interface ActivityRecord {
  /** In the order of the requests. */
  id: string;
  /** Null: no team sees it. */
  teamId: string | null;
  atMs: number;
  actor: string;
  action: string;
  target: string | null;
  details: Record<string, unknown>;
}
