/** The pages of who is not signed in: setup, sign-in with its second step, invite, reset, consent. */
import type { Page } from 'playwright-core';
import { enrol } from '../support/authenticator-app.ts';
import { emailOf, join } from '../support/access-world.ts';
import { owner } from '../support/gangway-client.ts';
import { memberRole, outsidePages } from '../support/outside-paths.ts';
import { goTo } from './camera.ts';
import { contextOf, type Studio } from './studio.ts';

const state = 'outside';

/** Begins with an instance that nobody has set up. */
export async function takeOutside(studio: Studio): Promise<void> {
  const { gangway, camera } = studio;
  const nobody = await contextOf(studio, { cookie: '' });
  const page = await nobody.newPage();
  await camera.take(page, state, 'setup', () => goTo(page, '/setup'));
  await gangway.client.setUp();
  const context = await contextOf(studio, gangway.client);
  const ownPage = await context.newPage();
  for (const { name, path, isSignedIn } of outsidePages(gangway)) {
    const at = isSignedIn ? ownPage : page;
    await camera.take(at, state, name, async () => goTo(at, await path()));
  }
  await context.close();
  await camera.take(page, state, 'login-refused', () => signIn(page, 'not the password'));
  if (camera.wants('login-code')) {
    const grace = await join(gangway, ...(await memberRole(gangway)), 'grace');
    await enrol(grace, owner.password);
    await camera.take(page, state, 'login-code', () =>
      signIn(page, owner.password, emailOf('grace')),
    );
  }
  await nobody.close();
}

async function signIn(page: Page, password: string, email = owner.email): Promise<void> {
  await goTo(page, '/login');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').or(page.getByLabel(/^Code/)).first().waitFor();
}
