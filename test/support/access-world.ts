/**
 * One Gangway with everybody who may call it, and the things they call for: two teams with the same
 * things in each, one of which requires two-factor sign-in.
 *
 * Each caller says what it was given, in the words of the one who gave it. What follows from that is
 * the business of the matrix, which knows nothing of how the service decides.
 */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { capabilities } from '../../src/lib/capabilities.ts';
import type { Capability } from '../../src/lib/capabilities.ts';
import { lockOut } from './authenticator-app.ts';
import { beginBackup, endedRun, makeDestination, makeSchedule } from './backups-over-graphql.ts';
import { archiveOf, owner } from './gangway-client.ts';
import type { Client } from './gangway-client.ts';
import { Gangway } from './gangway.ts';

const password = 'correct horse battery';

/** The things of one position in a team: in the folder that is lent, or in another one. */
export interface Things {
  folderId: string;
  /** Never deployed. */
  appId: string;
  hookPath: string;
  /** Of the app. */
  domainId: string;
  /** Finished, of an app that has an upload. */
  deploymentId: string;
  /** An app in trash. */
  trashedId: string;
  /** Stopped, and one in trash. */
  databaseId: string;
  trashedDatabaseId: string;
  /** Of the app. */
  backupRunId: string;
  backupScheduleId: string;
  /** Of the database; nothing was touched, since its artifact was none. */
  restoreRunId: string;
}

export interface Place {
  teamId: string;
  lent: Things;
  kept: Things;
  /** Role and member that nobody else uses. */
  roleId: string;
  memberId: string;
}

export type Position = 'lent' | 'kept';

export interface Caller {
  name: string;
  kind: 'nobody' | 'person' | 'token';
  client: Client;
  headers: Record<string, string>;
  place: Place;
  email: string;
  /** What it may do over the whole team, and at each position; absent: it sees nothing there. */
  team?: readonly Capability[];
  lent?: readonly Capability[];
  kept?: readonly Capability[];
  isOwner: boolean;
  isAdmin: boolean;
  lacksTwoFactor: boolean;
}

const views = capabilities.filter((one) => one.startsWith('view_'));
const ofMember = capabilities.filter(
  (one) =>
    !one.startsWith('delete_') && !['manage_team', 'manage_roles', 'manage_members'].includes(one),
);
const granted: Capability[] = ['create_apps', 'configure_apps', 'deploy_apps', 'manage_folders', 'view_logs', 'create_databases', 'control_databases']; // prettier-ignore
const ofScoped: Capability[] = ['deploy_apps', 'control_apps', 'delete_apps', 'manage_env', 'view_logs', 'manage_members', 'delete_databases', 'configure_databases']; // prettier-ignore
const ofUnscoped: Capability[] = ['create_apps', 'reveal_secrets', 'manage_tokens', 'manage_members', 'manage_team', 'manage_folders']; // prettier-ignore

export interface World {
  gangway: Gangway;
  callers: Caller[];
  /** Signed in as the owner, for what has to be made on the way. */
  maker: Client;
}

export async function openWorld(): Promise<World> {
  const gangway = await Gangway.open({
    // Nobody answers there.
    env: {
      GANGWAY_LOG_LEVEL: 'debug',
      GANGWAY_DNS_RESOLVERS: '127.0.0.1:1',
      GANGWAY_DOCKER_HUB_URL: '',
      GANGWAY_DOCKER_REGISTRY_URL: '',
      GANGWAY_NODE_INDEX_URL: '',
      GANGWAY_NPM_REGISTRY_URL: '',
    },
  });
  const { client: maker } = gangway;
  const { viewerTeam } = await maker.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }');
  const home = await furnish(gangway, viewerTeam.id);
  const callers = await peopleOf(gangway, home);
  const strictTeam = await makeTeam(maker, 'Strict');
  const strict = await furnish(gangway, strictTeam);
  const all = { team: capabilities, lent: capabilities, kept: capabilities, isOwner: true };
  const lateToken = await maker.token({ capabilities, teamIds: [strictTeam] });
  await lockOut(maker, owner.password, inTeam(strictTeam));
  const ownerWith = (name: string, place: Place, more: Partial<Caller>): Promise<Caller> =>
    gangway.signIn().then((client) => ({
      ...nobody(name, client, place),
      kind: 'person' as const,
      email: owner.email,
      isAdmin: true,
      ...all,
      ...more,
    }));
  callers.push(
    await ownerWith('two-factor missing', strict, { lacksTwoFactor: true }),
    {
      ...asToken(nobody('token, two-factor missing', gangway.stranger(), strict), lateToken),
      ...all,
      isOwner: false,
      lacksTwoFactor: true,
    },
    await ownerWith('owner', home, {}),
  );
  return { gangway, callers, maker };
}

export function inTeam(teamId: string): Record<string, string> {
  return { 'x-service-team': teamId };
}

/** A client with a session of its own for the same person. */
export async function signInAgain(gangway: Gangway, caller: Caller): Promise<Client> {
  const client = gangway.stranger();
  await client.must(
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { viewer { id } } }',
    { email: caller.email, password },
  );
  return client;
}

/** Invites a person and lets them join; their client. */
export async function join(
  gangway: Gangway,
  teamId: string,
  roleId: string,
  name: string,
): Promise<Client> {
  const { inviteMember: link } = await gangway.client.must<{ inviteMember: string }>(
    'mutation($email: String!, $roleId: ID!) { inviteMember(email: $email, roleId: $roleId) }',
    { email: emailOf(name), roleId },
    inTeam(teamId),
  );
  const client = gangway.stranger();
  await client.must(
    'mutation($token: String!, $name: String!, $password: String!) { acceptInvite(token: $token, name: $name, password: $password) { viewer { id } } }',
    { token: link.slice(link.lastIndexOf('/') + 1), name, password },
  );
  return client;
}

export function emailOf(name: string): string {
  return `${name}@example.org`;
}

export async function userIdOf(client: Client): Promise<string> {
  return (await client.must<{ me: { id: string } }>('{ me { id } }')).me.id;
}

export async function makeRole(
  client: Client,
  teamId: string,
  name: string,
  held: readonly string[],
): Promise<string> {
  const { createRole } = await client.must<{ createRole: { id: string } }>(
    'mutation($name: String!, $held: [Capability!]!) { createRole(name: $name, capabilities: $held) { id } }',
    { name, held },
    inTeam(teamId),
  );
  return createRole.id;
}

export async function makeFolder(
  client: Client,
  teamId: string,
  name: string,
  parentId: string | null = null,
): Promise<string> {
  const { createFolder } = await client.must<{ createFolder: { id: string } }>(
    'mutation($name: String!, $parentId: ID) { createFolder(name: $name, parentId: $parentId) { id } }',
    { name, parentId },
    inTeam(teamId),
  );
  return createFolder.id;
}

export async function lend(
  client: Client,
  folderId: string,
  userId: string,
  held: readonly string[],
): Promise<void> {
  await client.must(
    'mutation($folderId: ID!, $userId: ID!, $held: [Capability!]!) { setFolderGrant(folderId: $folderId, userId: $userId, capabilities: $held) { userId } }',
    { folderId, userId, held },
  );
}

async function makeTeam(client: Client, name: string): Promise<string> {
  const { createTeam } = await client.must<{ createTeam: { id: string } }>(
    'mutation($name: String!) { createTeam(name: $name) { id } }',
    { name },
  );
  return createTeam.id;
}

/** The built-in role of a team by its name. */
export async function roleNamed(client: Client, teamId: string, name: string): Promise<string> {
  const { roles } = await client.must<{ roles: { id: string; name: string }[] }>(
    '{ roles { id name } }',
    {},
    inTeam(teamId),
  );
  const found = roles.find((role) => role.name === name);
  assert.ok(found, name);
  return found.id;
}

/** Stopped before it has begun to run. */
export async function makeDatabase(
  client: Client,
  name: string,
  folderId: string | null,
): Promise<string> {
  const { createDatabase } = await client.must<{ createDatabase: { id: string } }>(
    'mutation($input: CreateDatabaseInput!) { createDatabase(input: $input) { id } }',
    { input: { name, engine: 'POSTGRES', folderId } },
  );
  await client.must(
    'mutation($id: ID!) { setDatabaseRunning(id: $id, running: false) { id } }',
    createDatabase,
  );
  return createDatabase.id;
}

export async function makeDomain(client: Client, appId: string, host: string): Promise<string> {
  const { addDomain } = await client.must<{ addDomain: { id: string } }>(
    'mutation($appId: ID!, $host: String!) { addDomain(appId: $appId, host: $host) { id } }',
    { appId, host },
  );
  return addDomain.id;
}

async function loseRestore(client: Client, databaseId: string): Promise<string> {
  const path = `/api/backups/restore-upload?database=${databaseId}`;
  const { text } = await client.ask(path, { method: 'POST', body: gzipSync('no backup') });
  return /rst_[0-9a-z]+/.exec(text)?.[0] ?? assert.fail(text);
}

async function furnish(gangway: Gangway, teamId: string): Promise<Place> {
  const { client } = gangway;
  const things = async (name: string): Promise<Things> => {
    const folderId = await makeFolder(client, teamId, name);
    const env = [{ key: 'KEY', value: 'hidden' }];
    const app = await client.createApp(`${name} new`, { folderId, env });
    const old = await client.createApp(`${name} old`, { folderId });
    // Nothing that could be started: its deployment fails at once.
    await client.mustUpload(old.id, archiveOf({ 'notes.txt': 'no app' }));
    const deploymentId = await client.redeploy(old.id);
    assert.equal(await client.finished(deploymentId), 'failed');
    const hookPath = await client.hookPath(app.id);
    const { id: trashedId } = await client.createApp(`${name} gone`, { folderId });
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: trashedId });
    const databaseId = await makeDatabase(client, `${name} data`, folderId);
    const trashedDatabaseId = await makeDatabase(client, `${name} gone data`, folderId);
    await client.must('mutation($id: ID!) { deleteDatabase(id: $id) }', { id: trashedDatabaseId });
    const domainId = await makeDomain(
      client,
      app.id,
      `${name}.${teamId.replace('_', '-')}.example`,
    );
    const apps = { appId: app.id, hookPath, domainId, deploymentId, trashedId };
    const headers = inTeam(teamId);
    const destinationId = await makeDestination(client, name, { headers });
    const of = { appId: app.id, destinationId };
    const { id: backupRunId } = await beginBackup(client, of, headers);
    assert.equal((await endedRun(client, backupRunId, headers)).error, null);
    const backupScheduleId = await makeSchedule(client, of, headers);
    const restoreRunId = await loseRestore(client, databaseId);
    const backups = { backupRunId, backupScheduleId, restoreRunId };
    return { folderId, ...apps, databaseId, trashedDatabaseId, ...backups };
  };
  const lent = await things('Lent');
  const kept = await things('Kept');
  const roleId = await makeRole(client, teamId, 'Spare', []);
  const spare = await join(gangway, teamId, roleId, `spare-${teamId.toLowerCase()}`);
  return { teamId, lent, kept, roleId, memberId: await userIdOf(spare) };
}

async function peopleOf(gangway: Gangway, home: Place): Promise<Caller[]> {
  const { client: maker } = gangway;
  const { teamId } = home;
  const role = (name: string): Promise<string> => roleNamed(maker, teamId, name);
  const person = async (name: string, roleId: string, given: Partial<Caller>): Promise<Caller> => {
    const client = await join(gangway, given.place?.teamId ?? teamId, roleId, name);
    return { ...nobody(name, client, home), kind: 'person', email: emailOf(name), ...given };
  };
  const everywhere = (held: readonly Capability[]) => ({ team: held, lent: held, kept: held });
  const elsewhere = await makeTeam(maker, 'Elsewhere');
  const stranger = await join(
    gangway,
    elsewhere,
    await roleNamed(maker, elsewhere, 'Owner'),
    'stranger',
  );
  const guest = await person('guest', await makeRole(maker, teamId, 'Guest', []), {
    team: [],
    lent: granted,
  });
  await lend(maker, home.lent.folderId, await userIdOf(guest.client), granted);
  const program = (name: string, secret: string, given: Partial<Caller>): Caller => ({
    ...asToken(nobody(name, gangway.stranger(), home), secret),
    ...given,
  });
  const scoped = { capabilities: ofScoped, folderIds: [home.lent.folderId] };
  const unscoped = await maker.token({ capabilities: ofUnscoped }); // prettier-ignore
  return [
    nobody('nobody', gangway.stranger(), home),
    { ...nobody('stranger', stranger, home), kind: 'person', email: emailOf('stranger') },
    await person('viewer', await role('Viewer'), everywhere(views)),
    await person('member', await role('Member'), everywhere(ofMember)),
    guest,
    program('scoped token', await maker.token(scoped), { team: [], lent: ofScoped }),
    program('unscoped token', unscoped, everywhere(ofUnscoped)),
    program('token of a demoted owner', await demoted(gangway, home), everywhere(views)),
  ];
}

/** A token for everything, made by an owner who is a viewer by now. */
async function demoted(gangway: Gangway, { teamId }: Place): Promise<string> {
  const { client: maker } = gangway;
  const person = await join(gangway, teamId, await roleNamed(maker, teamId, 'Owner'), 'demoted');
  const secret = await person.token({ capabilities });
  await maker.must(
    'mutation($userId: ID!, $roleId: ID!) { updateMember(userId: $userId, roleId: $roleId) { userId } }',
    { userId: await userIdOf(person), roleId: await roleNamed(maker, teamId, 'Viewer') },
  );
  return secret;
}

function nobody(name: string, client: Client, place: Place): Caller {
  return {
    name,
    kind: 'nobody',
    client,
    headers: {},
    place,
    email: '',
    isOwner: false,
    isAdmin: false,
    lacksTwoFactor: false,
  };
}

function asToken(caller: Caller, secret: string): Caller {
  return { ...caller, kind: 'token', headers: { authorization: `Bearer ${secret}` } };
}
