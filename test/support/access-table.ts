/**
 * What every field of the API asks of its caller: with `access-routes.ts` the declaration that the access
 * matrix is generated from. A field or a route without a line fails it, and so does a line without a field
 * or a route.
 */
import type { Capability } from '../../src/lib/capabilities.ts';
import { beginBackup, endedRun, makeSchedule } from './backups-over-graphql.ts';
import {
  emailOf,
  inTeam,
  join,
  makeDatabase,
  makeDomain,
  makeRole,
  userIdOf,
} from './access-world.ts';
import type { Caller, Place, Things, World } from './access-world.ts';

/**
 * A capability; null for seeing the thing; `signedIn` for any caller that is somebody; `person` for
 * one by cookie; `owner` for one of the team in person; `admin` of the instance; `anybody`.
 */
export type Need = Capability | null | 'signedIn' | 'person' | 'owner' | 'admin' | 'anybody';

/** What a line is about: the acting team, a thing in one of two folders, or neither. */
export type Subject = 'team' | 'thing' | 'none';

export interface Ask {
  world: World;
  caller: Caller;
  place: Place;
  /** Those of the position that is asked about. */
  things: Things;
  /** Different in each call. */
  unique: string;
}

export interface FieldLine {
  field: string;
  need: Need;
  on: Subject;
  /** The operation behind its keyword: `apps { totalCount }`. */
  ask: (ask: Ask) => string;
  /** Where it is allowed: makes what the operation uses up. The text that replaces `$fresh`. */
  fresh?: (ask: Ask) => Promise<string>;
  /** The code by which an allowed call shows that it passed the gate; default success. */
  past?: string;
  /** A look-up that answers null for what is not seen. */
  nullable?: true;
  /** What nobody gets where anybody may ask. */
  anonymous?: string;
  /** What a token gets, whatever it holds. */
  tokens?: string;
  /** Whether each caller signs in anew for it, since it ends the session. */
  ownSession?: true;
}

const app =
  (field: string, more = '') =>
  ({ things }: Ask): string =>
    `${field}(id: "${things.appId}"${more}) { id }`;

const spareApp = async ({ world, things, unique }: Ask): Promise<string> =>
  (await world.maker.createApp(`Spare ${unique}`, { folderId: things.folderId })).id;

const trashedApp = async (ask: Ask): Promise<string> => {
  const id = await spareApp(ask);
  await ask.world.maker.must('mutation($id: ID!) { deleteApp(id: $id) }', { id });
  return id;
};

const tokenMade = async ({ world, place, unique }: Ask): Promise<string> => {
  const { createToken } = await world.maker.must<{ createToken: { token: { id: string } } }>(
    'mutation($input: CreateTokenInput!) { createToken(input: $input) { token { id } } }',
    { input: { name: unique, teamIds: [place.teamId] } },
    inTeam(place.teamId),
  );
  return createToken.token.id;
};

const registryMade = async ({ world, place, unique }: Ask): Promise<string> => {
  const { addRegistry } = await world.maker.must<{ addRegistry: { id: string } }>(
    'mutation($name: String!, $host: String!) { addRegistry(name: $name, host: $host) { id } }',
    { name: unique, host: `${unique.replaceAll('_', '-').toLowerCase()}.example` },
    inTeam(place.teamId),
  );
  return addRegistry.id;
};

/** Of a provider that is asked for nothing. */
const connectionMade = async ({ world, place, unique }: Ask): Promise<string> => {
  const { connectGitProvider } = await world.maker.must<{ connectGitProvider: { id: string } }>(
    'mutation($label: String!) { connectGitProvider(input: { provider: "generic", label: $label, baseUrl: "https://git.example.com" }) { id } }',
    { label: unique },
    inTeam(place.teamId),
  );
  return connectGitProvider.id;
};

const destinationMade = async ({ world, place, unique }: Ask): Promise<string> => {
  const { createDestination } = await world.maker.must<{ createDestination: { id: string } }>(
    'mutation($name: String!) { createDestination(input: { name: $name, kind: server }) { id } }',
    { name: unique },
    inTeam(place.teamId),
  );
  return createDestination.id;
};

const backupSchedule = async (ask: Ask): Promise<string> => {
  const { things, place, world } = ask;
  const of = { appId: things.appId, destinationId: await destinationMade(ask) };
  return await makeSchedule(world.maker, of, inTeam(place.teamId));
};

/** A backup that has ended. */
const backupRun = async (ask: Ask): Promise<string> => {
  const { things, place, world } = ask;
  const header = inTeam(place.teamId);
  const of = { appId: things.appId, destinationId: await destinationMade(ask) };
  const { id } = await beginBackup(world.maker, of, header);
  return (await endedRun(world.maker, id, header)).id;
};

/** A backup that failed, because its database does not run. */
const lostBackup = async (ask: Ask): Promise<string> => {
  const { things, place, world } = ask;
  const header = inTeam(place.teamId);
  const of = { databaseId: things.databaseId, destinationId: await destinationMade(ask) };
  const { id } = await beginBackup(world.maker, of, header);
  return (await endedRun(world.maker, id, header)).id;
};

const domainMade = ({ world, things, unique }: Ask): Promise<string> =>
  makeDomain(world.maker, things.appId, hostOf(unique));

const hostOf = (unique: string): string =>
  `${unique.replaceAll('_', '-').toLowerCase()}.domains.example`;

const inviteMade = async ({ world, place, unique }: Ask): Promise<string> => {
  const { maker } = world;
  const header = inTeam(place.teamId);
  const email = emailOf(unique);
  await maker.must(
    'mutation($email: String!, $roleId: ID!) { inviteMember(email: $email, roleId: $roleId) }',
    { email, roleId: place.roleId },
    header,
  );
  const { invites } = await maker.must<{ invites: { id: string; email: string }[] }>(
    '{ invites { id email } }',
    {},
    header,
  );
  return invites.find((one) => one.email === email)?.id ?? '';
};

const database =
  (field: string, more = '') =>
  ({ things }: Ask): string =>
    `${field}(id: "${things.databaseId}"${more})`;

const spareDatabase = ({ world, things, unique }: Ask): Promise<string> =>
  makeDatabase(world.maker, `Spare ${unique}`, things.folderId);

const trashedDatabase = async (ask: Ask): Promise<string> => {
  const id = await spareDatabase(ask);
  await ask.world.maker.must('mutation($id: ID!) { deleteDatabase(id: $id) }', { id });
  return id;
};

/** Sorted by topic; one line a field, or one for each kind of thing it may be asked about. */
// prettier-ignore
export const fields: readonly FieldLine[] = [
  // Who is calling.
  { field: 'Query.needsSetup', need: 'anybody', on: 'none', ask: () => 'needsSetup' },
  { field: 'Query.me', need: 'anybody', on: 'none', ask: () => 'me { id }', anonymous: 'ok, null' },
  { field: 'Query.position', need: 'signedIn', on: 'none', ask: () => 'position' },
  { field: 'Query.myTeams', need: 'signedIn', on: 'none', ask: () => 'myTeams { id }' },
  { field: 'Query.viewerTeam', need: null, on: 'team', ask: () => 'viewerTeam { id capabilities }' },
  { field: 'Mutation.completeSetup', need: 'anybody', on: 'none', past: 'CONFLICT', ask: () => 'completeSetup(email: "a@example.org", password: "correct horse", name: "A", teamName: "A") { requiresTwoFactor }' },
  { field: 'Mutation.login', need: 'anybody', on: 'none', past: 'UNAUTHENTICATED', ask: ({ unique }) => `login(email: "${unique}@example.org", password: "wrong password") { requiresTwoFactor }` },
  { field: 'Mutation.logout', need: 'anybody', on: 'none', tokens: 'FORBIDDEN', ownSession: true, ask: () => 'logout' },
  { field: 'Mutation.switchTeam', need: 'person', on: 'none', past: 'FORBIDDEN', ask: () => 'switchTeam(teamId: "team_none") { id }' },
  { field: 'Mutation.acceptInvite', need: 'anybody', on: 'none', past: 'NOT_FOUND', tokens: 'FORBIDDEN', ask: () => 'acceptInvite(token: "none") { requiresTwoFactor }' },

  { field: 'Mutation.verifyTwoFactorLogin', need: 'anybody', on: 'none', past: 'UNAUTHENTICATED', ask: () => 'verifyTwoFactorLogin(code: "000000") { requiresTwoFactor }' },
  { field: 'Mutation.changePassword', need: 'person', on: 'none', past: 'BAD_USER_INPUT', ask: () => 'changePassword(currentPassword: "correct horse battery", newPassword: "short")' },
  { field: 'Mutation.startTwoFactorEnrolment', need: 'person', on: 'none', past: 'FORBIDDEN', ask: () => 'startTwoFactorEnrolment(password: "wrong password") { uri }' },
  { field: 'Mutation.confirmTwoFactorEnrolment', need: 'person', on: 'none', past: 'CONFLICT', ask: () => 'confirmTwoFactorEnrolment(code: "000000")' },
  { field: 'Mutation.disableTwoFactor', need: 'person', on: 'none', past: 'CONFLICT', ask: () => 'disableTwoFactor(password: "wrong password", code: "000000")' },
  { field: 'Query.mySessions', need: 'person', on: 'none', ask: () => 'mySessions { id }' },
  { field: 'Mutation.revokeSession', need: 'person', on: 'none', past: 'NOT_FOUND', ask: () => 'revokeSession(id: "none")' },
  { field: 'Query.myGrants', need: 'person', on: 'none', ask: () => 'myGrants { id }' },
  { field: 'Mutation.revokeGrant', need: 'person', on: 'none', past: 'NOT_FOUND', ask: () => 'revokeGrant(id: "none")' },

  // Teams, people, roles.
  { field: 'Mutation.createTeam', need: 'person', on: 'none', ask: ({ unique }) => `createTeam(name: "${unique}") { id }` },
  { field: 'Mutation.updateTeam', need: 'manage_team', on: 'team', ask: () => 'updateTeam { id }' },
  { field: 'Mutation.deleteTeam', need: 'owner', on: 'team', past: 'CONFLICT', ask: ({ place }) => `deleteTeam(id: "${place.teamId}")` },
  { field: 'Query.members', need: null, on: 'team', ask: () => 'members { userId role { id } }' },
  { field: 'Query.roles', need: null, on: 'team', ask: () => 'roles { id }' },
  { field: 'Query.invites', need: 'manage_members', on: 'team', ask: () => 'invites { id }' },
  { field: 'Mutation.inviteMember', need: 'manage_members', on: 'team', ask: ({ place, unique }) => `inviteMember(email: "${unique}@example.org", roleId: "${place.roleId}")` },
  { field: 'Mutation.revokeInvite', need: 'manage_members', on: 'team', fresh: inviteMade, ask: () => 'revokeInvite(id: "$fresh")' },
  { field: 'Mutation.updateMember', need: 'manage_members', on: 'team', ask: ({ place }) => `updateMember(userId: "${place.memberId}", roleId: "${place.roleId}") { userId }` },
  { field: 'Mutation.removeMember', need: 'manage_members', on: 'team', ask: () => 'removeMember(userId: "$fresh")', fresh: async ({ world, place, unique }) => userIdOf(await join(world.gangway, place.teamId, place.roleId, unique)) },
  { field: 'Mutation.createRole', need: 'manage_roles', on: 'team', ask: ({ unique }) => `createRole(name: "${unique}", capabilities: []) { id }` },
  { field: 'Mutation.updateRole', need: 'manage_roles', on: 'team', ask: ({ place }) => `updateRole(id: "${place.roleId}") { id }` },
  { field: 'Mutation.deleteRole', need: 'manage_roles', on: 'team', ask: () => 'deleteRole(id: "$fresh")', fresh: ({ world, place, unique }) => makeRole(world.maker, place.teamId, unique, []) },

  { field: 'Query.activity', need: 'view_activity', on: 'team', ask: () => 'activity { nodes { id } }' },

  // Folders.
  { field: 'Query.folders', need: null, on: 'team', ask: () => 'folders { id parentId }' },
  { field: 'Query.folderGrants', need: 'manage_members', on: 'thing', ask: ({ things }) => `folderGrants(folderId: "${things.folderId}") { userId }` },
  { field: 'Mutation.setFolderGrant', need: 'manage_members', on: 'thing', ask: ({ things, place }) => `setFolderGrant(folderId: "${things.folderId}", userId: "${place.memberId}", capabilities: []) { userId }` },
  { field: 'Mutation.createFolder', need: 'manage_folders', on: 'team', ask: ({ unique }) => `createFolder(name: "${unique}") { id }` },
  { field: 'Mutation.createFolder', need: 'manage_folders', on: 'thing', ask: ({ things, unique }) => `createFolder(name: "${unique}", parentId: "${things.folderId}") { id }` },
  { field: 'Mutation.deleteFolder', need: 'manage_folders', on: 'thing', past: 'CONFLICT', ask: ({ things }) => `deleteFolder(id: "${things.folderId}")` },

  // Apps.
  { field: 'Query.apps', need: null, on: 'team', ask: () => 'apps { totalCount nodes { id } }' },
  { field: 'Query.app', need: null, on: 'thing', nullable: true, ask: app('app') },
  { field: 'Mutation.createApp', need: 'create_apps', on: 'team', ask: ({ unique }) => `createApp(input: {name: "${unique}", source: UPLOAD}) { id }` },
  { field: 'Mutation.createApp', need: 'create_apps', on: 'thing', ask: ({ things, unique }) => `createApp(input: {name: "${unique}", source: UPLOAD, folderId: "${things.folderId}"}) { id }` },
  { field: 'Mutation.updateApp', need: 'configure_apps', on: 'thing', ask: app('updateApp') },
  { field: 'Mutation.deleteApp', need: 'delete_apps', on: 'thing', fresh: spareApp, ask: ({ things }) => `deleteApp(id: "$fresh|${things.appId}")` },
  { field: 'Mutation.addDomain', need: 'configure_apps', on: 'thing', ask: ({ things, unique }) => `addDomain(appId: "${things.appId}", host: "${hostOf(unique)}") { id }` },
  { field: 'Mutation.verifyDomain', need: 'configure_apps', on: 'thing', ask: ({ things }) => `verifyDomain(id: "${things.domainId}") { id }` },
  { field: 'Mutation.setPrimaryDomain', need: 'configure_apps', on: 'thing', ask: ({ things }) => `setPrimaryDomain(id: "${things.domainId}") { id }` },
  { field: 'Mutation.uploadCertificate', need: 'configure_apps', on: 'thing', past: 'CERTIFICATE_INVALID', ask: ({ things }) => `uploadCertificate(domainId: "${things.domainId}", certificate: "none", privateKey: "none") { id }` },
  { field: 'Mutation.removeDomain', need: 'configure_apps', on: 'thing', fresh: domainMade, ask: ({ things }) => `removeDomain(id: "$fresh|${things.domainId}")` },
  { field: 'Mutation.startApp', need: 'control_apps', on: 'thing', past: 'NOT_DEPLOYABLE', ask: app('startApp') },
  { field: 'Mutation.stopApp', need: 'control_apps', on: 'thing', ask: app('stopApp') },
  { field: 'Mutation.restartApp', need: 'control_apps', on: 'thing', past: 'NOT_DEPLOYABLE', ask: app('restartApp') },
  { field: 'Mutation.moveApp', need: 'configure_apps', on: 'thing', past: 'CONFLICT', ask: ({ things }) => `moveApp(id: "${things.appId}", serverId: "srv_local") { id move { phase } }` },
  { field: 'Query.trash', need: null, on: 'team', ask: () => 'trash { id }' },
  { field: 'Mutation.restoreFromTrash', need: 'delete_apps', on: 'thing', fresh: trashedApp, ask: ({ things }) => `restoreFromTrash(id: "$fresh|${things.trashedId}")` },
  { field: 'Mutation.purgeFromTrash', need: 'delete_apps', on: 'thing', fresh: trashedApp, ask: ({ things }) => `purgeFromTrash(id: "$fresh|${things.trashedId}")` },
  { field: 'Mutation.restoreFromTrash', need: 'delete_databases', on: 'thing', fresh: trashedDatabase, ask: ({ things }) => `restoreFromTrash(id: "$fresh|${things.trashedDatabaseId}")` },
  { field: 'Mutation.purgeFromTrash', need: 'delete_databases', on: 'thing', fresh: trashedDatabase, ask: ({ things }) => `purgeFromTrash(id: "$fresh|${things.trashedDatabaseId}")` },
  { field: 'Subscription.teamChanges', need: null, on: 'team', ask: () => 'teamChanges { kind id }' },
  { field: 'Subscription.appStatus', need: null, on: 'thing', ask: app('appStatus') },

  // Databases. None of them ever has an address: they are stopped before they have run.
  { field: 'Query.databases', need: null, on: 'team', ask: () => 'databases { id connectionStringMasked usedBy { id } }' },
  { field: 'Query.database', need: null, on: 'thing', nullable: true, ask: (ask) => `${database('database')(ask)} { id }` },
  { field: 'Mutation.createDatabase', need: 'create_databases', on: 'team', past: 'ENGINE_NOT_AVAILABLE', ask: ({ unique }) => `createDatabase(input: {name: "${unique}", engine: MONGODB}) { id }` },
  { field: 'Mutation.createDatabase', need: 'create_databases', on: 'thing', past: 'ENGINE_NOT_AVAILABLE', ask: ({ things, unique }) => `createDatabase(input: {name: "${unique}", engine: MONGODB, folderId: "${things.folderId}"}) { id }` },
  { field: 'Mutation.setDatabaseRunning', need: 'control_databases', on: 'thing', ask: (ask) => `${database('setDatabaseRunning', ', running: false')(ask)} { id }` },
  { field: 'Mutation.moveDatabase', need: 'configure_databases', on: 'thing', past: 'CONFLICT', ask: ({ things }) => `moveDatabase(id: "${things.databaseId}", serverId: "srv_local") { id move { phase } }` },
  { field: 'Mutation.deleteDatabase', need: 'delete_databases', on: 'thing', fresh: spareDatabase, ask: ({ things }) => `deleteDatabase(id: "$fresh|${things.databaseId}")` },
  { field: 'Mutation.revealConnection', need: 'reveal_secrets', on: 'thing', past: 'NOT_RUNNING', ask: database('revealConnection') },
  { field: 'Mutation.rotateDatabasePassword', need: 'configure_databases', on: 'thing', past: 'NOT_RUNNING', ask: database('rotateDatabasePassword') },
  { field: 'Query.logs', need: 'view_logs', on: 'thing', ask: ({ things }) => `logs(databaseId: "${things.databaseId}") { nodes { text } }` },
  { field: 'Query.searchLogs', need: 'view_logs', on: 'thing', ask: ({ things }) => `searchLogs(databaseId: "${things.databaseId}", text: "a") { complete }` },
  { field: 'Subscription.databaseStatus', need: null, on: 'thing', ask: (ask) => `${database('databaseStatus')(ask)} { id }` },

  // Commands. Nothing of it runs.
  { field: 'Mutation.execConsole', need: 'open_app_console', on: 'thing', past: 'NOT_RUNNING', ask: ({ things }) => `execConsole(appId: "${things.appId}", command: "ls") { exitCode }` },
  { field: 'Mutation.execDatabaseConsole', need: 'open_database_console', on: 'thing', past: 'NOT_RUNNING', ask: ({ things }) => `execDatabaseConsole(databaseId: "${things.databaseId}", command: "select 1") { exitCode }` },

  // Variables and the hook.
  { field: 'Query.env', need: 'manage_env', on: 'thing', ask: ({ things }) => `env(appId: "${things.appId}") { key value }` },
  { field: 'Mutation.upsertEnv', need: 'manage_env', on: 'thing', ask: ({ things }) => `upsertEnv(appId: "${things.appId}", entries: [{key: "OTHER", value: "1"}]) { key }` },
  { field: 'Mutation.deleteEnv', need: 'manage_env', on: 'thing', ask: ({ things }) => `deleteEnv(appId: "${things.appId}", key: "NONE")` },
  { field: 'Mutation.revealEnv', need: 'reveal_secrets', on: 'thing', ask: ({ things }) => `revealEnv(appId: "${things.appId}", key: "KEY")` },
  { field: 'Mutation.revealAppDeployHook', need: 'configure_apps', on: 'thing', ask: ({ things }) => `revealAppDeployHook(id: "${things.appId}")` },
  { field: 'Mutation.rotateAppDeployHook', need: 'configure_apps', on: 'thing', fresh: spareApp, ask: ({ things }) => `rotateAppDeployHook(id: "$fresh|${things.appId}")` },
  { field: 'Mutation.setAppDeployHookEnabled', need: 'configure_apps', on: 'thing', ask: app('setAppDeployHookEnabled', ', enabled: true') },

  // Deployments and logs.
  { field: 'Query.deployment', need: null, on: 'thing', nullable: true, ask: ({ things }) => `deployment(id: "${things.deploymentId}") { id log { nodes { text } } }` },
  { field: 'Mutation.redeploy', need: 'deploy_apps', on: 'thing', past: 'NOT_DEPLOYABLE', ask: ({ things }) => `redeploy(appId: "${things.appId}") { id }` },
  { field: 'Mutation.cancelDeployment', need: 'deploy_apps', on: 'thing', ask: ({ things }) => `cancelDeployment(id: "${things.deploymentId}")` },
  { field: 'Mutation.rollbackDeployment', need: 'deploy_apps', on: 'thing', past: 'NOT_DEPLOYABLE', ask: ({ things }) => `rollbackDeployment(deploymentId: "${things.deploymentId}") { id }` },
  { field: 'Query.metrics', need: 'view_metrics', on: 'thing', ask: ({ things }) => `metrics(databaseId: "${things.databaseId}") { cpu }` },
  { field: 'Query.metrics', need: 'view_metrics', on: 'thing', ask: ({ things }) => `metrics(appId: "${things.appId}") { cpu }` },
  { field: 'Query.traffic', need: 'view_metrics', on: 'thing', ask: ({ things }) => `traffic(appId: "${things.appId}") { requests }` },
  { field: 'Query.logs', need: 'view_logs', on: 'thing', ask: ({ things }) => `logs(appId: "${things.appId}") { nodes { text } }` },
  { field: 'Query.searchLogs', need: 'view_logs', on: 'thing', ask: ({ things }) => `searchLogs(appId: "${things.appId}", text: "a") { complete }` },
  { field: 'Subscription.deploymentLog', need: null, on: 'thing', ask: ({ things }) => `deploymentLog(id: "${things.deploymentId}") { text }` },

  // Access for programs.
  { field: 'Query.apiTokens', need: 'manage_tokens', on: 'team', ask: () => 'apiTokens { id }' },
  { field: 'Mutation.createToken', need: 'manage_tokens', on: 'team', ask: ({ unique }) => `createToken(input: {name: "${unique}"}) { secret }` },
  { field: 'Mutation.revokeToken', need: 'manage_tokens', on: 'team', fresh: tokenMade, ask: () => 'revokeToken(id: "$fresh")' },
  { field: 'Query.mcpSettings', need: null, on: 'team', ask: () => 'mcpSettings { enabled }' },
  { field: 'Mutation.setMcpSettings', need: 'manage_team', on: 'team', ask: () => 'setMcpSettings(enabled: true) { enabled }' },

  // Backups.
  { field: 'Query.backupRuns', need: null, on: 'team', ask: () => 'backupRuns { nodes { id } }' },
  { field: 'Query.backupRun', need: null, on: 'thing', fresh: backupRun, nullable: true, ask: ({ things }) => `backupRun(id: "$fresh|${things.backupRunId}") { id }` },
  { field: 'Query.backupSchedules', need: null, on: 'team', ask: () => 'backupSchedules { id }' },
  { field: 'Mutation.runBackup', need: 'manage_backups', on: 'thing', fresh: destinationMade, ask: ({ things }) => `runBackup(appId: "${things.appId}", destinationId: "$fresh") { id }` },
  { field: 'Mutation.runBackup', need: 'manage_backups', on: 'thing', fresh: destinationMade, ask: ({ things }) => `runBackup(databaseId: "${things.databaseId}", destinationId: "$fresh") { id }` },
  { field: 'Mutation.runInstanceBackup', need: 'admin', on: 'none', past: 'NOT_FOUND', ask: () => 'runInstanceBackup(destinationId: "dst_none") { id }' },
  { field: 'Mutation.createBackupSchedule', need: 'admin', on: 'none', past: 'NOT_FOUND', ask: () => 'createBackupSchedule(input: { instance: true, destinationId: "dst_none", cron: "@yearly" }) { id }' },
  { field: 'Mutation.cancelBackupRun', need: 'manage_backups', on: 'thing', fresh: backupRun, ask: ({ things }) => `cancelBackupRun(id: "$fresh|${things.backupRunId}")` },
  { field: 'Mutation.deleteBackupRun', need: 'manage_backups', on: 'thing', fresh: backupRun, ask: ({ things }) => `deleteBackupRun(runId: "$fresh|${things.backupRunId}")` },
  { field: 'Mutation.createBackupSchedule', need: 'manage_backups', on: 'thing', fresh: destinationMade, ask: ({ things }) => `createBackupSchedule(input: { appId: "${things.appId}", destinationId: "$fresh", cron: "@yearly" }) { id }` },
  { field: 'Mutation.updateBackupSchedule', need: 'manage_backups', on: 'thing', fresh: backupSchedule, ask: ({ things }) => `updateBackupSchedule(id: "$fresh|${things.backupScheduleId}", keep: 3) { id }` },
  { field: 'Mutation.deleteBackupSchedule', need: 'manage_backups', on: 'thing', fresh: backupSchedule, ask: ({ things }) => `deleteBackupSchedule(id: "$fresh|${things.backupScheduleId}")` },
  { field: 'Query.restoreRun', need: null, on: 'thing', nullable: true, ask: ({ things }) => `restoreRun(id: "${things.restoreRunId}") { id log }` },
  { field: 'Mutation.restoreBackup', need: 'restore_backups', on: 'thing', fresh: lostBackup, past: 'ARTIFACT_GONE', ask: ({ things }) => `restoreBackup(runId: "$fresh|${things.backupRunId}") { id }` },
  // Destinations of backups.
  { field: 'Query.backupDestinations', need: null, on: 'team', ask: () => 'backupDestinations { id endpoint }' },
  { field: 'Mutation.createDestination', need: 'manage_backup_destinations', on: 'team', ask: ({ unique }) => `createDestination(input: { name: "${unique}", kind: server }) { id }` },
  { field: 'Mutation.testDestination', need: 'manage_backup_destinations', on: 'team', fresh: destinationMade, ask: () => 'testDestination(id: "$fresh") { ok }' },
  { field: 'Mutation.deleteDestination', need: 'manage_backup_destinations', on: 'team', fresh: destinationMade, ask: () => 'deleteDestination(id: "$fresh")' },
  { field: 'Mutation.destinationRecoveryKey', need: 'manage_backup_destinations', on: 'team', fresh: destinationMade, ask: () => 'destinationRecoveryKey(id: "$fresh")' },

  // Registries.
  { field: 'Query.registries', need: 'manage_registries', on: 'team', ask: () => 'registries { id username }' },
  { field: 'Mutation.addRegistry', need: 'manage_registries', on: 'team', ask: ({ unique }) => `addRegistry(name: "${unique}", host: "${unique.replaceAll('_', '-')}.example:5000", username: "u", password: "p") { id }` },
  { field: 'Mutation.removeRegistry', need: 'manage_registries', on: 'team', fresh: registryMade, ask: () => 'removeRegistry(id: "$fresh")' },

  // Git.
  { field: 'Query.gitConnections', need: 'manage_git', on: 'team', ask: () => 'gitConnections { id webhookUrl }' },
  { field: 'Query.gitRepositories', need: 'manage_git', on: 'team', fresh: connectionMade, ask: () => 'gitRepositories(connectionId: "$fresh") { fullName }' },
  { field: 'Query.gitDeliveries', need: 'view_activity', on: 'thing', ask: ({ things }) => `gitDeliveries(appId: "${things.appId}") { id }` },
  { field: 'Mutation.connectGitProvider', need: 'manage_git', on: 'team', ask: ({ unique }) => `connectGitProvider(input: { provider: "generic", label: "${unique}", baseUrl: "https://git.example.com" }) { id }` },
  { field: 'Mutation.startGithubConnect', need: 'manage_git', on: 'team', tokens: 'FORBIDDEN', ask: () => 'startGithubConnect(org: "acme") { state }' },
  { field: 'Mutation.removeGitConnection', need: 'manage_git', on: 'team', fresh: connectionMade, ask: () => 'removeGitConnection(id: "$fresh")' },
  { field: 'Mutation.replayGitDelivery', need: 'signedIn', on: 'none', past: 'NOT_FOUND', ask: () => 'replayGitDelivery(id: "dlv_none") { id }' },

  { field: 'Query.previews', need: null, on: 'thing', ask: ({ things }) => `previews(appId: "${things.appId}") { id }` },
  { field: 'Mutation.approvePreview', need: 'signedIn', on: 'none', past: 'NOT_FOUND', ask: () => 'approvePreview(id: "app_none") { id }' },
  { field: 'Mutation.closePreview', need: 'signedIn', on: 'none', past: 'NOT_FOUND', ask: () => 'closePreview(id: "app_none") { id }' },

  // The instance.
  { field: 'Query.servers', need: null, on: 'team', ask: () => 'servers { id isolation { layer } }' },
  { field: 'Mutation.addServer', need: 'admin', on: 'none', ask: ({ unique }) => `addServer(name: "${unique}") { server { id } }` },
  { field: 'Mutation.drainServer', need: 'admin', on: 'none', past: 'NOT_FOUND', ask: () => 'drainServer(id: "srv_none", drain: true) { id }' },
  { field: 'Mutation.reissueServerBootstrap', need: 'admin', on: 'none', past: 'NOT_FOUND', ask: () => 'reissueServerBootstrap(id: "srv_none") { server { id } }' },
  { field: 'Mutation.removeServer', need: 'admin', on: 'none', past: 'NOT_FOUND', ask: () => 'removeServer(id: "srv_none")' },
  { field: 'Query.instanceSettings', need: 'signedIn', on: 'none', ask: () => 'instanceSettings { logMaxDays }' },
  { field: 'Query.instanceStatus', need: 'admin', on: 'none', ask: () => 'instanceStatus { version }' },
  { field: 'Mutation.updateInstanceSettings', need: 'admin', on: 'none', ask: () => 'updateInstanceSettings { logMaxDays }' },
];
