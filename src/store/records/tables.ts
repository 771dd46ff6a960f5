/** Owns the list of tables: what is stored, by which key, and how it is found. */
import type * as stored from './records.ts';
import { table } from './table.ts';

export const tables = {
  instance: table<stored.InstanceRecord>()('instance', (r) => r.id, {}),
  servers: table<stored.ServerRecord>()('servers', (r) => r.id, {
    // By the hash of the token that its agent, or the installer of a takeover, comes with.
    bootstrap: {
      keys: (r) => (r.agent?.bootstrap ? [[r.agent.bootstrap.tokenHash]] : []),
      unique: 'This token exists.',
    },
    // Those that somebody added, by name.
    added: {
      keys: (r) => (r.agent ? [[r.name]] : []),
      unique: 'A server with this name exists.',
    },
  }),
  agentAuthority: table<stored.AgentAuthorityRecord>()('agentAuthority', (r) => r.id, {}),
  teams: table<stored.TeamRecord>()('teams', (r) => r.id, {
    slug: { keys: (r) => [[r.slug]], unique: 'A team with this slug exists.' },
  }),
  roles: table<stored.RoleRecord>()('roles', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.id]] },
    name: {
      keys: (r) => [[r.teamId, r.name]],
      unique: 'A role with this name exists in the team.',
    },
  }),
  members: table<stored.MemberRecord>()('members', (r) => [r.teamId, r.userId], {
    user: { keys: (r) => [[r.userId, r.joinedAtMs, r.teamId]] },
    team: { keys: (r) => [[r.teamId, r.joinedAtMs, r.userId]] },
    role: { keys: (r) => [[r.roleId, r.userId]] },
  }),
  folders: table<stored.FolderRecord>()('folders', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.name, r.id]] },
    name: {
      keys: (r) => [[r.teamId, r.parentId, r.name]],
      unique: 'A folder with this name exists here.',
    },
  }),
  auth: table<stored.AuthRecord>()('auth', (r) => [r.model, r.id], {
    model: { keys: (r) => [[r.model, r.id]] },
    field: {
      keys: (r) =>
        Object.entries(r.fields).flatMap(([name, value]) =>
          typeof value === 'string' && value.length <= 256 ? [[r.model, name, value, r.id]] : [],
        ),
    },
    email: {
      keys: (r) =>
        r.model === 'user' && typeof r.fields['email'] === 'string'
          ? [[r.fields['email'].toLowerCase()]]
          : [],
      unique: 'An account with this address exists.',
    },
    sessionToken: {
      keys: (r) =>
        r.model === 'session' && typeof r.fields['token'] === 'string' ? [[r.fields['token']]] : [],
      unique: 'A session with this token exists.',
    },
  }),
  tokens: table<stored.TokenRecord>()('tokens', (r) => r.id, {
    hash: { keys: (r) => [[r.hash]], unique: 'This token exists.' },
    team: { keys: (r) => [[r.homeTeamId, r.id]] },
    user: { keys: (r) => [[r.userId, r.id]] },
    // Grants of OAuth clients, by the time they end.
    grants: { keys: (r) => (r.oauth ? [[r.expiresAtMs, r.id]] : []) },
  }),
  apps: table<stored.AppRecord>()('apps', (r) => r.id, {
    // A slug stays taken while its app is in trash, so that it can come back.
    slug: { keys: (r) => [[r.slug]], unique: 'An app with this slug exists.' },
    uid: { keys: (r) => (r.uid > 0 ? [[r.uid]] : []), unique: 'This uid is taken.' },
    team: { keys: (r) => (isListed(r) ? [[r.teamId, r.id]] : []) },
    folder: { keys: (r) => (isListed(r) ? [[r.teamId, r.folderId, r.id]] : []) },
    // Those that are built from a repository of a connection.
    connection: {
      keys: (r) => (isListed(r) && r.git?.connectionId ? [[r.git.connectionId, r.id]] : []),
    },
    // Apps of which something runs, or should run: few of very many.
    runs: { keys: (r) => (hasRun(r) ? [[r.id]] : []) },
    // Those with domains.
    hosts: { keys: (r) => (r.hosts?.length ? [[r.id]] : []) },
    // Those on other servers, also in trash.
    server: { keys: onAnother },
    // Those with a move under way, by both of its servers.
    moving: { keys: moveEnds },
  }),
  databases: table<stored.DatabaseRecord>()('databases', (r) => r.id, {
    uid: { keys: (r) => (r.uid > 0 ? [[r.uid]] : []), unique: 'This uid is taken.' },
    team: { keys: (r) => (r.deletedAtMs === null ? [[r.teamId, r.id]] : []) },
    folder: { keys: (r) => (r.deletedAtMs === null ? [[r.teamId, r.folderId, r.id]] : []) },
    // Databases of which something runs, or should run.
    runs: { keys: (r) => (databaseRuns(r) ? [[r.id]] : []) },
    server: { keys: onAnother },
    moving: { keys: moveEnds },
  }),
  domains: table<stored.DomainRecord>()('domains', (r) => r.id, {
    app: { keys: (r) => [[r.appId, r.id]] },
    claim: { keys: (r) => [[r.teamId, r.host]], unique: 'The team uses this host already.' },
    // The one domain of a host that leads anywhere.
    host: {
      keys: (r) => (r.verifiedAtMs === null ? [] : [[r.host]]),
      unique: 'This host belongs to another team.',
    },
    // Those that something is to be tried for, the earliest first.
    due: { keys: (r) => (r.nextTryAtMs === null ? [] : [[r.status, r.nextTryAtMs, r.id]]) },
    certificate: { keys: (r) => (r.certificateId === null ? [] : [[r.certificateId, r.id]]) },
  }),
  certificates: table<stored.CertificateRecord>()('certificates', (r) => r.id, {
    name: { keys: (r) => r.names.map((name) => [name, r.id]) },
  }),
  acmeAccounts: table<stored.AcmeAccountRecord>()('acmeAccounts', (r) => r.id, {}),
  certificateOrders: table<stored.CertificateOrderRecord>()('certificateOrders', (r) => r.id, {}),
  env: table<stored.EnvRecord>()('env', (r) => [r.appId, r.key], {
    app: { keys: (r) => [[r.appId, r.key]] },
    database: { keys: (r) => (r.refersTo ?? []).map((id) => [id, r.appId, r.key]) },
  }),
  deployments: table<stored.DeploymentRecord>()('deployments', (r) => r.id, {
    app: { keys: (r) => [[r.appId, r.id]] },
    open: {
      keys: (r) =>
        r.status === 'queued' || r.status === 'building' || r.status === 'starting'
          ? [[r.appId, r.id]]
          : [],
    },
    // In the order in which they build, which tells a deployment's place in the queue.
    queueOrder: { keys: (r) => (r.status === 'queued' ? [[r.buildTurn ?? 0, r.id]] : []) },
  }),
  registries: table<stored.RegistryRecord>()('registries', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.id]] },
    host: { keys: (r) => [[r.teamId, r.host]], unique: 'The team has a registry of this host.' },
  }),
  gitConnections: table<stored.GitConnectionRecord>()('gitConnections', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.id]] },
    hook: { keys: (r) => [[r.hookHash]], unique: 'This webhook exists.' },
    // Two GitHub Enterprises may number their Apps alike.
    githubApp: { keys: (r) => (r.github ? [[r.github.appId, r.id]] : []) },
  }),
  gitDeliveries: table<stored.GitDeliveryRecord>()('gitDeliveries', (r) => r.id, {
    app: { keys: (r) => [[r.appId, r.id]] },
    connection: { keys: (r) => [[r.connectionId, r.id]] },
    // By what the provider calls a delivery, and the ref: one may tell of several refs.
    seen: {
      keys: ({ connectionId, deliveryId, refKind, refName, id }) =>
        deliveryId === null ? [] : [[connectionId, deliveryId, refKind, refName, id]],
    },
    // Those that their app has not looked at.
    open: { keys: (r) => (r.outcome === 'received' ? [[r.connectionId, r.id]] : []) },
  }),
  previews: table<stored.PreviewRecord>()('previews', (r) => r.id, {
    app: { keys: (r) => [[r.appId, r.id]] },
    pending: { keys: (r) => (r.isPending ? [[r.appId, r.id]] : []) },
  }),
  backupRuns: table<stored.BackupRunRecord>()('backupRuns', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.id]] },
    target: { keys: (r) => [[r.targetId, r.id]] },
    destination: { keys: (r) => [[r.destinationId, r.id]] },
    // Those that can be restored, of a schedule, the oldest first.
    kept: {
      keys: (r) => (r.status === 'success' && r.scheduleId !== null ? [[r.scheduleId, r.id]] : []),
    },
    // Those that ended without an artifact.
    lost: {
      keys: (r) => (r.status === 'failed' || r.status === 'canceled' ? [[r.targetId, r.id]] : []),
    },
    // Those that somebody has to bring to their end.
    open: { keys: (r) => (isOpen(r) ? [[r.targetId, r.id]] : []) },
  }),
  restoreRuns: table<stored.RestoreRunRecord>()('restoreRuns', (r) => r.id, {
    target: { keys: (r) => [[r.targetId, r.id]] },
    // Those under way; after a start, those that an earlier process left.
    open: { keys: (r) => (r.status === 'running' ? [[r.targetId, r.id]] : []) },
  }),
  backupSchedules: table<stored.BackupScheduleRecord>()('backupSchedules', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.id]] },
    target: { keys: (r) => [[r.targetId, r.id]] },
    destination: { keys: (r) => [[r.destinationId, r.id]] },
  }),
  destinations: table<stored.DestinationRecord>()('destinations', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.id]] },
  }),
  trash: table<stored.TrashRecord>()('trash', (r) => r.id, {
    team: { keys: (r) => [[r.teamId, r.deletedAtMs, r.id]] },
    target: { keys: (r) => [[r.targetId]], unique: 'This is in trash already.' },
  }),
  alarms: table<stored.AlarmRecord>()('alarms', (r) => [r.actor, r.name], {
    due: { keys: (r) => [[r.atMs, r.actor, r.name]] },
    actor: { keys: (r) => [[r.actor, r.name]] },
  }),
  folderGrants: table<stored.FolderGrantRecord>()('folderGrants', (r) => [r.folderId, r.userId], {
    folder: { keys: (r) => [[r.folderId, r.userId]] },
    member: { keys: (r) => [[r.teamId, r.userId, r.folderId]] },
  }),
  twoFactor: table<stored.TwoFactorRecord>()('twoFactor', (r) => r.userId, {}),
  sightings: table<stored.SightingRecord>()('sightings', (r) => r.sessionId, {
    user: { keys: (r) => [[r.userId, r.sessionId]] },
  }),
  lookups: table<stored.LookupRecord>()('lookups', (r) => r.id, {
    age: { keys: (r) => [[r.fetchedAtMs, r.id]] },
  }),
  invites: table<stored.InviteRecord>()('invites', (r) => r.id, {
    hash: { keys: (r) => [[r.hash]], unique: 'This invite exists.' },
    team: { keys: (r) => [[r.teamId, r.id]] },
    address: { keys: (r) => [[r.teamId, r.email]], unique: 'This address is invited already.' },
    role: { keys: (r) => [[r.roleId, r.id]] },
  }),
  activity: table<stored.ActivityRecord>()('activity', (r) => r.id, {
    // By id, which is by time, the oldest first. What no team sees stands under null.
    team: { keys: (r) => [[r.teamId, r.id]] },
    // Reads over MCP, which are counted by day and by reader.
    reads: {
      keys: ({ id, action, details: { day, tokenId, userId } }) =>
        action === 'mcp_reads' ? [[String(day), String(tokenId ?? userId), id]] : [],
    },
  }),
} as const;

/** Most are on this machine, of which nobody asks what is there. */
function onAnother({ id, serverId }: { id: string; serverId: string }): string[][] {
  return serverId === 'srv_local' ? [] : [[serverId, id]];
}

function moveEnds({ id, move }: { id: string; move?: stored.MoveRecord }): string[][] {
  if (move?.endedAtMs !== null) return [];
  return [move.fromServerId, move.toServerId].map((serverId) => [serverId, id]);
}

/** Previews stand with the app that they are of. */
function isListed({ deletedAtMs, previewOf }: stored.AppRecord): boolean {
  return deletedAtMs === null && previewOf === undefined;
}

/** Whether it should run, or an instance of it is starting or ending. */
function hasRun({ desired, deletedAtMs, run }: stored.AppRecord): boolean {
  const wanted = desired === 'running' && deletedAtMs === null;
  return wanted || run.next !== null || run.draining.length > 0;
}

function databaseRuns({ desired, deletedAtMs, run }: stored.DatabaseRecord): boolean {
  const wanted = desired === 'running' && deletedAtMs === null;
  return wanted || run.next !== null || run.initJob !== null || run.ending.length > 0;
}

/** Whether the run is under way, or what it left has to be removed. */
function isOpen({ status, artifact }: stored.BackupRunRecord): boolean {
  return status === 'running' || status === 'verifying' || artifact === 'leaving';
}
