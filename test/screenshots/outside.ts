/** The pages of who is not signed in: setup, sign-in with its second step, invite, reset, consent. */
import type { Page } from 'playwright-core';
import { enrol } from '../support/authenticator-app.ts';
import { emailOf, join, roleNamed } from '../support/access-world.ts';
import { owner } from '../support/gangway-client.ts';
import type { Gangway } from '../support/gangway.ts';
import * as oauth from '../support/oauth.ts';
import { goTo } from './camera.ts';
import { contextOf, type Studio } from './studio.ts';

const state = 'outside';

/** Begins with an instance that nobody has set up. */
export async function takeOutside(studio: Studio): Promise<void> {
  const { gangway, camera } = studio;
  const nobody = await contextOf(studio, { cookie: '' });
  const page = await nobody.newPage();
  const take = (name: string, path: string) =>
    camera.take(page, state, name, () => goTo(page, path));
  await take('setup', '/setup');
  await gangway.client.setUp();
  await take('login', '/login');
  await camera.take(page, state, 'login-refused', () => signIn(page, 'not the password'));
  await take('invite', await inviteOf(gangway));
  await take('invite-dead', '/invite/none');
  if (camera.wants('reset')) {
    const { text } = await gangway.run(['reset-password', owner.email]);
    await take('reset', /\/reset\/\S+/.exec(text)?.[0] ?? '/reset/none');
    await take('reset-dead', '/reset/none');
  }
  await takeSignedIn(studio);
  if (camera.wants('login-code')) {
    const grace = await join(gangway, ...(await teamAndRole(gangway)), 'grace');
    await enrol(grace, owner.password);
    await camera.take(page, state, 'login-code', () =>
      signIn(page, owner.password, emailOf('grace')),
    );
  }
  await nobody.close();
}

/** Pages of who is signed in that are no part of the dashboard. */
async function takeSignedIn(studio: Studio): Promise<void> {
  const { gangway, camera } = studio;
  const context = await contextOf(studio, gangway.client);
  const page = await context.newPage();
  const take = (name: string, path: string) =>
    camera.take(page, state, name, () => goTo(page, path));
  await take('consent', await consentPath(gangway));
  await take('signed-in', '/login');
  await take('two-factor', '/account/two-factor');
  await take('connect', '/connect');
  await context.close();
}

async function signIn(page: Page, password: string, email = owner.email): Promise<void> {
  await goTo(page, '/login');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').or(page.getByLabel(/^Code/)).first().waitFor();
}

async function teamAndRole({ client }: Gangway): Promise<[teamId: string, roleId: string]> {
  const { viewerTeam } = await client.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }');
  return [viewerTeam.id, await roleNamed(client, viewerTeam.id, 'Member')];
}

async function inviteOf(gangway: Gangway): Promise<string> {
  const [, roleId] = await teamAndRole(gangway);
  const { inviteMember } = await gangway.client.must<{ inviteMember: string }>(
    'mutation($roleId: ID!) { inviteMember(email: "ada@example.org", roleId: $roleId) }',
    { roleId },
  );
  return new URL(inviteMember).pathname;
}

async function consentPath({ url }: Gangway): Promise<string> {
  const { body } = await oauth.register(url, { client_name: 'Claude on the laptop of Ada' });
  const scope = 'offline_access view_logs deploy_apps delete_apps manage_env';
  const query = oauth.authorizationQuery(body.client_id, oauth.pkce().challenge, { scope });
  return `/api/auth/oauth2/authorize?${query}`;
}
