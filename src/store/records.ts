/**
 * Owns the shapes of what is stored. Times are milliseconds since the epoch; absent is `null`, so
 * that a record has one shape and decodes fast.
 */
import type { Capability } from '../lib/capabilities.ts';

export interface InstanceRecord {
  /** Always `instance`. */
  id: 'instance';
  instanceId: string;
  logMaxDays: number;
  /** Set by `updateInstanceSettings`; null: what config says. */
  publicUrl: string | null;
  createdAtMs: number;
  /** Null until `completeSetup`. */
  setUpAtMs: number | null;
}

export interface TeamRecord {
  id: string;
  slug: string;
  name: string;
  requireTwoFactor: boolean;
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
  /** Made without naming a scope: all teams of its owner. */
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
  /** Set on what an OAuth client was granted: its own tokens come and go with this record. */
  oauth?: OAuthClientRef | null;
}

/** The client of a grant, as it was when the person consented. */
export interface OAuthClientRef {
  clientId: string;
  name: string;
  /** Where its answers go: a host, or the scheme of an application. */
  host: string;
}

export type DeploySource = 'UPLOAD' | 'GIT' | 'IMAGE' | 'COMPOSE';
export type AppStatus = 'idle' | 'queued' | 'building' | 'active' | 'stopped' | 'error';

export interface BuildConfig {
  buildCommand: string | null;
  startCommand: string | null;
  dockerfile: string | null;
  outputDir: string | null;
  nodeVersion: string | null;
  port: number | null;
  healthPath: string | null;
}

export interface Resources {
  memoryMb: number | null;
  cpus: number | null;
  pids: number | null;
  replicas: number;
}

export interface GitSource {
  connectionId: string | null;
  repository: string;
  branch: string;
  path: string | null;
}

export interface StoredUpload {
  filename: string;
  sizeBytes: number;
  sha256: string;
  format: 'tar' | 'tar.gz' | 'zip';
  uploadedAtMs: number;
  /** File name below the app's upload folder. */
  blob: string;
}

export interface AppRecord {
  id: string;
  teamId: string;
  slug: string;
  name: string;
  source: DeploySource;
  status: AppStatus;
  folderId: string | null;
  serverId: string;
  upload: StoredUpload | null;
  git: GitSource | null;
  image: string | null;
  compose: string | null;
  build: BuildConfig;
  resources: Resources;
  previewBranches: string[];
  autoDeploy: boolean;
  deployHookEnabled: boolean;
  /** SHA-256 of the hook's URL token, hex, and the token itself, sealed. */
  hookHash: string;
  hookSealed: Uint8Array;
  latestDeploymentId: string | null;
  /** The deployment whose release is current: it takes the traffic while the app runs. */
  liveDeploymentId: string | null;
  /** What runs of it. */
  run: AppRun;
  /** Whether it should run: false after `stopApp`. */
  desired: 'running' | 'stopped';
  /** Own uid of its processes, where the instance runs as root. */
  uid: number;
  createdAtMs: number;
  updatedAtMs: number;
  /** In trash since; null when it is not. */
  deletedAtMs: number | null;
}

/** One start of a release: what the driver runs under `workloadId`. */
export interface Instance {
  deploymentId: string;
  /** Never used twice, so that log and exit code of one start are never taken for another's. */
  workloadId: string;
  host: string;
  port: number;
  startedAtMs: number;
  /** What it runs in, for people; absent: programs of the machine. */
  image?: string;
  /** Of a stack: the name of the service that takes the traffic. */
  service?: string;
  /** Of a stack: its other services, in the order of their start. */
  parts?: InstancePart[];
}

export interface InstancePart {
  service: string;
  workloadId: string;
  image: string;
}

/** The instances of an app, journaled before the driver is told of them. */
export interface AppRun {
  /** Counts the instances ever named. */
  seq: number;
  /** Takes the traffic. */
  live: Instance | null;
  /** Is being started; takes over once it is healthy. */
  next: Instance | null;
  /** Took the traffic before; stopped at `stopAtMs`. */
  draining: (Instance & { stopAtMs: number })[];
  /** The live instance ended by itself and does not listen again yet. */
  crashing: boolean;
}

// prettier-ignore
export const databaseEngines = [
  'POSTGRES', 'MYSQL', 'MARIADB', 'MONGODB', 'REDIS', 'CLICKHOUSE',
] as const;
export type DatabaseEngine = (typeof databaseEngines)[number];
export type DatabaseStatus = 'provisioning' | 'running' | 'stopped' | 'error';

export interface DatabaseRecord {
  id: string;
  teamId: string;
  name: string;
  engine: DatabaseEngine;
  /** Of the engine, as it was made: on a driver of containers the tag of its image. */
  version: string;
  status: DatabaseStatus;
  /** A sentence on what keeps it from running; null while nothing does. */
  error: string | null;
  folderId: string | null;
  serverId: string;
  resources: Resources;
  /** Empty where the engine has none. */
  databaseName: string;
  username: string;
  passwordSealed: Uint8Array;
  /** On its way into the server; null when it is not. */
  nextPasswordSealed: Uint8Array | null;
  /** Of the engine's own administrator, which nobody is told. */
  adminSealed: Uint8Array;
  run: DatabaseRun;
  desired: 'running' | 'stopped';
  /** Own uid of its processes, where the instance runs as root. */
  uid: number;
  createdAtMs: number;
  updatedAtMs: number;
  /** In trash since; null when it is not. */
  deletedAtMs: number | null;
}

/** What runs of a database, journaled before the driver is told of it. */
export interface DatabaseRun {
  /** Counts the workloads ever named. */
  seq: number;
  /** Its files, its user and its database are there. Until then each start begins anew. */
  made: boolean;
  /** The job that makes its files. */
  initJob: string | null;
  /** Answers its clients. */
  live: string | null;
  /** Is being started. */
  next: string | null;
  /** Workloads on their way out. */
  ending: string[];
  /** The port of this machine it is reached at, kept over restarts; null before the first. */
  port: number | null;
  /** On a driver of containers, what it runs in, as the driver named it; null before. */
  image: string | null;
  /** Ended by itself and does not answer again yet. */
  crashing: boolean;
}

export type EnvTarget = 'production' | 'preview';

export interface EnvRecord {
  id: string;
  appId: string;
  key: string;
  isSecret: boolean;
  /** The value when it is no secret, else null. */
  value: string | null;
  /** The secret value, sealed; else null. */
  sealed: Uint8Array | null;
  masked: string;
  targets: EnvTarget[];
  updatedAtMs: number;
}

// prettier-ignore
export type DeploymentStatus =
  | 'queued' | 'building' | 'starting' | 'ready' | 'failed' | 'canceled' | 'superseded';
export type DeploymentTrigger =
  'dashboard' | 'api' | 'deploy_hook' | 'git_push' | 'mcp' | 'rollback';

export interface DeploymentRecord {
  id: string;
  appId: string;
  teamId: string;
  status: DeploymentStatus;
  trigger: DeploymentTrigger;
  url: string | null;
  commitSha: string | null;
  commitMessage: string | null;
  branch: string | null;
  error: string | null;
  /** The upload it was built from. */
  upload: StoredUpload | null;
  /** For a rollback: the deployment whose release runs again. */
  rollbackOf: string | null;
  /** The release kept on disk: its folder's name; null once it is gone. */
  release: string | null;
  /** How the release starts, once detected. */
  plan: ReleasePlan | null;
  /** The workload that builds it; journaled before it starts. */
  buildJob: string | null;
  createdAtMs: number;
  startedAtMs: number | null;
  finishedAtMs: number | null;
}

/** How a release is started; decided by build detection and kept for restart and rollback. */
export interface ReleasePlan {
  kind:
    | 'node'
    | 'static'
    | 'procfile'
    | 'python'
    | 'go'
    | 'command'
    | 'dockerfile'
    | 'image'
    | 'compose';
  /**
   * A shell command line, run in the release's folder, or in its image; null: files served from
   * `staticDir`, or what the image says itself.
   */
  startCommand: string | null;
  /** Folder of static files, relative to the release. */
  staticDir: string | null;
  /** Absent: the release is a folder, and runs as programs of the machine. */
  image?: ReleaseImage;
  /** Of a compose file; `image` is that of its main service. */
  stack?: ReleaseStack;
}

export interface ReleaseStack {
  /** The text, as it was deployed. */
  compose: string;
  /** The service that takes the traffic. */
  main: string;
  /** By service. */
  images: Record<string, Omit<ReleaseImage, 'port'>>;
}

/** What a release runs in, on a driver of containers. */
export interface ReleaseImage {
  /** As the driver named it. */
  name: string;
  /** What people know it as: what was asked for, or the name. */
  label: string;
  /** The port its program listens on inside; null: the one that is chosen at its start. */
  port: number | null;
  /** Where it was pulled, by its digest where the registry said it; null: it was built here. */
  pulled: string | null;
}

/** Where images of a team come from; its login is for this host alone. */
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

/** One segment of a log: a plain append-only file below the data directory's `logs`. */
export interface SegmentRecord {
  /** `app:<id>`, `build:<deployment id>`, later `db:<id>`. */
  log: string;
  generation: string;
  firstOffset: number;
  firstAtMs: number;
  lastAtMs: number;
  /** Lines in it, as far as the index knows; the file of the last segment may hold more. */
  lines: number;
  sizeBytes: number;
  file: string;
}

/** What one person holds in a folder, and in everything below it, besides their role. */
export interface FolderGrantRecord {
  teamId: string;
  folderId: string;
  userId: string;
  /** Never empty: what gives nothing is removed. */
  capabilities: Capability[];
}

/** A person's second factor: being enrolled until it is confirmed, then on. */
export interface TwoFactorRecord {
  userId: string;
  /** Names this enrolment, so that a code is never taken for one of another. */
  enrolment: string;
  /** The secret behind the codes, sealed. */
  sealed: Uint8Array;
  /** Keyed hashes of the recovery codes that are left, hex. */
  recoveryHashes: string[];
  /** The last time step whose code was used; neither it nor an earlier one is good again. */
  lastStep: number;
  createdAtMs: number;
  /** Null until the first code came. */
  confirmedAtMs: number | null;
}

/** When a session was last used; apart from it, because it changes often and decides nothing. */
export interface SightingRecord {
  sessionId: string;
  userId: string;
  lastSeenAtMs: number;
}

/** A place in a team, kept for whoever holds its link; the link's token is stored as a hash only. */
export interface InviteRecord {
  id: string;
  teamId: string;
  /** In lower case; one open invite for each address in a team. */
  email: string;
  roleId: string;
  /** SHA-256 of the token, hex. */
  hash: string;
  /** Who gives the place; the invite is worth no more than what this person may still give. */
  invitedBy: string;
  createdAtMs: number;
  expiresAtMs: number;
}

/** What somebody did, with names as they were; written once, in the commit of what it tells of. */
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
