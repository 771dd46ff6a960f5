/**
 * Fills a Gangway with what a team has after a while, for pictures of the dashboard and walks through it: apps that
 * are well and that are not, deployments, logs, curves, databases, backups, people, tokens and a trash.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join as joined } from 'node:path';
import { promisify } from 'node:util';
import {
  inTeam,
  join,
  lend,
  makeDatabase,
  makeDomain,
  makeFolder,
  makeRole,
  roleNamed,
  userIdOf,
} from './access-world.ts';
import { beginBackup, endedRun, makeDestination, makeSchedule } from './backups-over-graphql.ts';
import { until } from './eventually.ts';
import type { AppInfo, Client } from './gangway-client.ts';
import type { Gangway } from './gangway.ts';
import { git } from './git-server.ts';
import { tempDir } from './runner.ts';
import { ending, shop, site, unbuildable } from './shown-apps.ts';
import { writeCurves } from './shown-curves.ts';

const run = promisify(execFile);

/** What the paths of pages name. */
export interface Shown {
  appId: string;
  deploymentId: string;
  databaseId: string;
}

/** 100 characters, which names have at most: without a space, and with what is no Latin. */
const longName = `${'Quarterly-'.repeat(6)}משרד-${'報告'.repeat(8)}-final`.padEnd(100, '-v2');

interface Team {
  client: Client;
  teamId: string;
  folders: { website: string; tools: string };
}

export interface Furnished {
  full: Shown;
  /** Its app is one whose last deployment failed. */
  failing: Shown;
  /** Who has nothing but the folder of that app and of the one that is full, to deploy in it and read its logs. */
  guest: Client;
}

/** The team of the owner, full. */
export async function furnish(gangway: Gangway): Promise<Furnished> {
  const { client } = gangway;
  const { viewerTeam } = await client.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }');
  const teamId = viewerTeam.id;
  const website = await makeFolder(client, teamId, 'Website');
  const tools = await makeFolder(client, teamId, 'Internal tools');
  await makeFolder(client, teamId, 'Reports', tools);
  const team: Team = { client, teamId, folders: { website, tools } };
  const [shopApp, failing, databaseId, guest] = await Promise.all([
    pushedShop(gangway, team),
    failingApps(team),
    databases(team),
    people(gangway, team),
    otherApps(team),
    tokensAndSuch(gangway, team),
  ]);
  await Promise.all([visits(gangway, shopApp), backups(team, shopApp.id, databaseId)]);
  writeCurves(gangway.dataDir, [shopApp.id], [databaseId, failing.appId]);
  const { app } = await client.must<{ app: { latestDeployment: { id: string } } }>(
    'query($id: ID!) { app(id: $id) { latestDeployment { id } } }',
    { id: shopApp.id },
  );
  const full = { appId: shopApp.id, deploymentId: app.latestDeployment.id, databaseId };
  return { full, failing: { ...failing, databaseId }, guest };
}

/** Waits for the backups that `furnish` began: they give way to everything else, which takes long on a busy machine. */
export async function backupsEnded({ client }: Gangway): Promise<void> {
  const { backupRuns } = await client.must<{ backupRuns: { nodes: { id: string }[] } }>(
    '{ backupRuns { nodes { id } } }',
  );
  for (const { id } of backupRuns.nodes) await endedRun(client, id);
}

/** Sessions of the owner in two new teams: one with nothing, one with an app and a database that never ran. */
export async function furnishEmpty(
  gangway: Gangway,
): Promise<{ nothing: Client; started: Client; shown: Shown }> {
  const inNewTeam = async (name: string): Promise<Client> => {
    const client = await gangway.signIn();
    const { createTeam } = await client.must<{ createTeam: { id: string } }>(
      'mutation($name: String!) { createTeam(name: $name) { id } }',
      { name },
    );
    await client.must('mutation($id: ID!) { switchTeam(teamId: $id) { id } }', createTeam);
    return client;
  };
  const [nothing, started] = [await inNewTeam('Fresh'), await inNewTeam('Just begun')];
  const { id: appId } = await started.createApp('New app');
  const databaseId = await makeDatabase(started, 'New database', null);
  return { nothing, started, shown: { appId, deploymentId: '', databaseId } };
}

/** Three pushes by git, settings of all kinds. */
async function pushedShop(gangway: Gangway, team: Team): Promise<AppInfo> {
  const { client, folders } = team;
  const app = await client.createApp('Shop', {
    source: 'GIT',
    git: { repository: 'push', branch: 'main' },
    folderId: folders.website,
    resources: { memoryMb: 512, cpus: 1 },
    env: [
      { key: 'STRIPE_KEY', value: 'sk_live_0123456789' },
      { key: 'CURRENCY', value: 'EUR', isSecret: false },
      { key: 'A_VERY_LONG_VALUE', value: 'x'.repeat(400), isSecret: false },
    ],
  });
  const token = await client.token({ name: 'Push from the laptop', capabilities: ['deploy_apps'] });
  const folder = tempDir();
  const gitEnv = { PATH: process.env['PATH'], HOME: folder, GIT_TERMINAL_PROMPT: '0' };
  try {
    git(folder, 'init', '--quiet', '--initial-branch=main');
    for (const [name, text] of Object.entries(shop)) writeFileSync(joined(folder, name), text);
    const to = `${gangway.url.replace('://', `://me:${token}@`)}/git/${app.slug}.git`;
    for (const message of [
      'First version',
      'Show prices with tax',
      'Keep the cart while somebody signs in',
    ]) {
      git(folder, 'add', '--all');
      git(folder, 'commit', '--quiet', '--allow-empty', '-m', message);
      await run('git', ['push', '--quiet', to, 'main'], { cwd: folder, env: gitEnv });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  await makeDomain(client, app.id, 'shop.example.com');
  await makeDomain(client, app.id, 'www.shop.example.com');
  return app;
}

async function failingApps({ client, folders }: Team): Promise<Omit<Shown, 'databaseId'>> {
  const app = await client.runningApp('Checkout', site(), { folderId: folders.website });
  await client.mustUpload(app.id, unbuildable());
  const deploymentId = await client.redeploy(app.id);
  assert.equal(await client.finished(deploymentId), 'failed');
  return { appId: app.id, deploymentId };
}

async function otherApps({ client, folders }: Team): Promise<void> {
  const worker = await client.createApp('Mail worker', { folderId: folders.tools });
  await client.mustUpload(worker.id, ending());
  assert.equal(await client.finished(await client.redeploy(worker.id)), 'failed');
  await client.runningApp('Landing page', site(), { folderId: folders.website });
  const wiki = await client.runningApp('Wiki', site(), { folderId: folders.tools });
  await client.must('mutation($id: ID!) { stopApp(id: $id) { id } }', { id: wiki.id });
  await client.createApp(longName, { folderId: folders.tools });
  await client.createApp('Prototype');
  for (const name of ['Old site', 'Experiment']) {
    const { id } = await client.createApp(name);
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id });
  }
}

async function databases({ client, folders }: Team): Promise<string> {
  const { createDatabase } = await client.must<{ createDatabase: { id: string } }>(
    'mutation($in: ID) { createDatabase(input: { name: "Orders", engine: POSTGRES, folderId: $in }) { id } }',
    { in: folders.website },
  );
  await makeDatabase(client, 'Analytics', folders.tools);
  const gone = await makeDatabase(client, 'Old orders', null);
  await client.must('mutation($id: ID!) { deleteDatabase(id: $id) }', { id: gone });
  const status = 'query($id: ID!) { database(id: $id) { status } }';
  await until('the database runs', 90_000, async () => {
    const { database } = await client.must<{ database: { status: string } }>(
      status,
      createDatabase,
    );
    return database.status === 'running';
  });
  return createDatabase.id;
}

async function people(gangway: Gangway, { client, teamId, folders }: Team): Promise<Client> {
  const member = await roleNamed(client, teamId, 'Member');
  const viewer = await roleNamed(client, teamId, 'Viewer');
  const support = await makeRole(client, teamId, 'Support', [
    'view_logs',
    'view_metrics',
    'control_apps',
  ]);
  await join(gangway, teamId, member, 'ada');
  await join(gangway, teamId, support, 'grace');
  const guest = await join(gangway, teamId, await makeRole(client, teamId, 'Guest', []), 'linus');
  await lend(client, folders.website, await userIdOf(guest), ['deploy_apps', 'view_logs']);
  for (const [email, roleId] of [
    ['barbara@example.org', member],
    [`${'long.'.repeat(12)}name@example.org`, viewer],
  ]) {
    await client.must(
      'mutation($email: String!, $roleId: ID!) { inviteMember(email: $email, roleId: $roleId) }',
      { email, roleId },
      inTeam(teamId),
    );
  }
  return guest;
}

async function tokensAndSuch(gangway: Gangway, { client }: Team): Promise<void> {
  await client.token({ name: 'CI', capabilities: ['deploy_apps', 'view_logs'] });
  await client.token({
    name: 'Nightly report',
    capabilities: ['view_metrics'],
    expiresAt: new Date(Date.now() + 30 * 86_400_000),
  });
  await client.must(
    'mutation { addRegistry(host: "ghcr.io", name: "GitHub packages", username: "acme", password: "hidden") { id } }',
  );
  await gangway.signIn();
}

async function visits({ client }: Gangway, { slug }: AppInfo): Promise<void> {
  for (let i = 0; i < 20; i++) await client.visit(slug, i % 7 === 0 ? '/broken' : '/');
}

async function backups({ client }: Team, appId: string, databaseId: string): Promise<void> {
  const disk = await makeDestination(client, 'Disk', { encrypt: true });
  await makeDestination(client, 'Second disk', { path: 'second' });
  await makeSchedule(client, { databaseId, destinationId: disk, cron: '0 3 * * *', keep: 7 });
  await makeSchedule(client, { instance: true, destinationId: disk, cron: '30 4 * * 0', keep: 4 });
  await beginBackup(client, { databaseId, destinationId: disk });
  await beginBackup(client, { appId, destinationId: disk });
}
