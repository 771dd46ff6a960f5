/** Owns the list of tables: what is stored, by which key, and how it is found. */
import type {
  ActivityRecord,
  AlarmRecord,
  AppRecord,
  AuthRecord,
  DatabaseRecord,
  DeploymentRecord,
  EnvRecord,
  FolderGrantRecord,
  FolderRecord,
  InstanceRecord,
  InviteRecord,
  MemberRecord,
  RegistryRecord,
  RoleRecord,
  SegmentRecord,
  ServerRecord,
  SightingRecord,
  TeamRecord,
  TokenRecord,
  TrashRecord,
  TwoFactorRecord,
} from './records.ts';
import { table } from './table.ts';

export const tables = {
  instance: table<InstanceRecord>()('instance', (r) => r.id, {}),
  servers: table<ServerRecord>()('servers', (r) => r.id, {}),
  teams: table<TeamRecord>()('teams', (r) => r.id, {
    slug: { of: (r) => [[r.slug]], unique: 'A team with this slug exists.' },
  }),
  roles: table<RoleRecord>()('roles', (r) => r.id, {
    team: { of: (r) => [[r.teamId, r.id]] },
    name: { of: (r) => [[r.teamId, r.name]], unique: 'A role with this name exists in the team.' },
  }),
  members: table<MemberRecord>()('members', (r) => [r.teamId, r.userId], {
    user: { of: (r) => [[r.userId, r.joinedAtMs, r.teamId]] },
    team: { of: (r) => [[r.teamId, r.joinedAtMs, r.userId]] },
    role: { of: (r) => [[r.roleId, r.userId]] },
  }),
  folders: table<FolderRecord>()('folders', (r) => r.id, {
    team: { of: (r) => [[r.teamId, r.name, r.id]] },
    name: {
      of: (r) => [[r.teamId, r.parentId, r.name]],
      unique: 'A folder with this name exists here.',
    },
  }),
  auth: table<AuthRecord>()('auth', (r) => [r.model, r.id], {
    model: { of: (r) => [[r.model, r.id]] },
    field: {
      of: (r) =>
        Object.entries(r.fields).flatMap(([name, value]) =>
          typeof value === 'string' && value.length <= 256 ? [[r.model, name, value, r.id]] : [],
        ),
    },
    email: {
      of: (r) =>
        r.model === 'user' && typeof r.fields['email'] === 'string'
          ? [[r.fields['email'].toLowerCase()]]
          : [],
      unique: 'An account with this address exists.',
    },
    sessionToken: {
      of: (r) =>
        r.model === 'session' && typeof r.fields['token'] === 'string' ? [[r.fields['token']]] : [],
      unique: 'A session with this token exists.',
    },
  }),
  tokens: table<TokenRecord>()('tokens', (r) => r.id, {
    hash: { of: (r) => [[r.hash]], unique: 'This token exists.' },
    team: { of: (r) => [[r.homeTeamId, r.id]] },
    user: { of: (r) => [[r.userId, r.id]] },
    // What OAuth clients were granted, by when it ends.
    grants: { of: (r) => (r.oauth ? [[r.expiresAtMs, r.id]] : []) },
  }),
  apps: table<AppRecord>()('apps', (r) => r.id, {
    // A slug stays taken while its app is in trash, so that it can come back.
    slug: { of: (r) => [[r.slug]], unique: 'An app with this slug exists.' },
    uid: { of: (r) => (r.uid > 0 ? [[r.uid]] : []), unique: 'This uid is taken.' },
    team: { of: (r) => (r.deletedAtMs === null ? [[r.teamId, r.id]] : []) },
    folder: { of: (r) => (r.deletedAtMs === null ? [[r.teamId, r.folderId, r.id]] : []) },
    // What has something running, or should have: few of very many.
    runs: { of: (r) => (hasRun(r) ? [[r.id]] : []) },
  }),
  databases: table<DatabaseRecord>()('databases', (r) => r.id, {
    uid: { of: (r) => (r.uid > 0 ? [[r.uid]] : []), unique: 'This uid is taken.' },
    team: { of: (r) => (r.deletedAtMs === null ? [[r.teamId, r.id]] : []) },
    folder: { of: (r) => (r.deletedAtMs === null ? [[r.teamId, r.folderId, r.id]] : []) },
    // What has something running, or should have.
    runs: { of: (r) => (databaseRuns(r) ? [[r.id]] : []) },
  }),
  env: table<EnvRecord>()('env', (r) => [r.appId, r.key], {
    app: { of: (r) => [[r.appId, r.key]] },
    database: { of: (r) => (r.refersTo ?? []).map((id) => [id, r.appId, r.key]) },
  }),
  deployments: table<DeploymentRecord>()('deployments', (r) => r.id, {
    app: { of: (r) => [[r.appId, r.id]] },
    open: {
      of: (r) =>
        r.status === 'queued' || r.status === 'building' || r.status === 'starting'
          ? [[r.appId, r.id]]
          : [],
    },
    // In the order of their making: where a deployment stands in the queue.
    queued: { of: (r) => (r.status === 'queued' ? [[r.id]] : []) },
  }),
  registries: table<RegistryRecord>()('registries', (r) => r.id, {
    team: { of: (r) => [[r.teamId, r.id]] },
    host: { of: (r) => [[r.teamId, r.host]], unique: 'The team has a registry of this host.' },
  }),
  trash: table<TrashRecord>()('trash', (r) => r.id, {
    team: { of: (r) => [[r.teamId, r.deletedAtMs, r.id]] },
    target: { of: (r) => [[r.targetId]], unique: 'This is in trash already.' },
  }),
  alarms: table<AlarmRecord>()('alarms', (r) => [r.actor, r.name], {
    due: { of: (r) => [[r.atMs, r.actor, r.name]] },
    actor: { of: (r) => [[r.actor, r.name]] },
  }),
  segments: table<SegmentRecord>()('segments', (r) => [r.log, r.firstOffset], {
    log: { of: (r) => [[r.log, r.firstOffset]] },
    age: { of: (r) => [[r.lastAtMs, r.log, r.firstOffset]] },
  }),
  folderGrants: table<FolderGrantRecord>()('folderGrants', (r) => [r.folderId, r.userId], {
    folder: { of: (r) => [[r.folderId, r.userId]] },
    member: { of: (r) => [[r.teamId, r.userId, r.folderId]] },
  }),
  twoFactor: table<TwoFactorRecord>()('twoFactor', (r) => r.userId, {}),
  sightings: table<SightingRecord>()('sightings', (r) => r.sessionId, {
    user: { of: (r) => [[r.userId, r.sessionId]] },
  }),
  invites: table<InviteRecord>()('invites', (r) => r.id, {
    hash: { of: (r) => [[r.hash]], unique: 'This invite exists.' },
    team: { of: (r) => [[r.teamId, r.id]] },
    address: { of: (r) => [[r.teamId, r.email]], unique: 'This address is invited already.' },
    role: { of: (r) => [[r.roleId, r.id]] },
  }),
  activity: table<ActivityRecord>()('activity', (r) => r.id, {
    // By id, which is by time: the oldest first, and none with what no team sees under null.
    team: { of: (r) => [[r.teamId, r.id]] },
    // What was read over MCP, which is counted by the day and by who read.
    reads: {
      of: ({ id, action, details: { day, tokenId, userId } }) =>
        action === 'mcp_reads' ? [[String(day), String(tokenId ?? userId), id]] : [],
    },
  }),
} as const;

/** It should run, or an instance of it is on its way in or out. */
function hasRun({ desired, deletedAtMs, run }: AppRecord): boolean {
  const wanted = desired === 'running' && deletedAtMs === null;
  return wanted || run.next !== null || run.draining.length > 0;
}

function databaseRuns({ desired, deletedAtMs, run }: DatabaseRecord): boolean {
  const wanted = desired === 'running' && deletedAtMs === null;
  return wanted || run.next !== null || run.initJob !== null || run.ending.length > 0;
}
