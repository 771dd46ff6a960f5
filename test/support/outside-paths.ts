/** The pages that the service renders itself, for whoever walks through them: sign-in, invites, consent and such. */
import { roleNamed } from './access-world.ts';
import { owner } from './gangway-client.ts';
import type { Gangway } from './gangway.ts';
import * as oauth from './oauth.ts';

export interface OutsidePage {
  name: string;
  /** The module in `src/gateway/transports` that renders it. */
  by: string;
  isSignedIn: boolean;
  path: () => Promise<string>;
}

/** All but the one for setting up, which is gone once that was done, and the explorer. */
export function outsidePages(gangway: Gangway): OutsidePage[] {
  const page = (
    name: string,
    by: string,
    path: string | (() => Promise<string>),
    isSignedIn = false,
  ): OutsidePage => ({
    ...{ name, by, isSignedIn },
    path: typeof path === 'string' ? () => Promise.resolve(path) : path,
  });
  return [
    page('login', 'login', '/login'),
    page('invite', 'invite', () => invitePath(gangway)),
    page('invite-dead', 'invite', '/invite/none'),
    page('reset', 'reset', () => resetPath(gangway)),
    page('reset-dead', 'reset', '/reset/none'),
    page('consent', 'oauth-consent', () => consentPath(gangway), true),
    page('signed-in', 'login', '/login', true),
    page('two-factor', 'two-factor', '/account/two-factor', true),
    page('connect', 'mcp-connect', '/connect', true),
    page('github-refused', 'github-connect', '/api/github/callback?code=none&state=none', true),
    page('consoles', 'console-pages', '/console', true),
  ];
}

/** The owner's team, and the role of its members. */
export async function memberRole({ client }: Gangway): Promise<[teamId: string, roleId: string]> {
  const { viewerTeam } = await client.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }');
  return [viewerTeam.id, await roleNamed(client, viewerTeam.id, 'Member')];
}

async function invitePath(gangway: Gangway): Promise<string> {
  const [, roleId] = await memberRole(gangway);
  const { inviteMember } = await gangway.client.must<{ inviteMember: string }>(
    'mutation($roleId: ID!) { inviteMember(email: "ada.l@example.org", roleId: $roleId) }',
    { roleId },
  );
  return new URL(inviteMember).pathname;
}

async function resetPath(gangway: Gangway): Promise<string> {
  const { text } = await gangway.run(['reset-password', owner.email]);
  const path = /\/reset\/\S+/.exec(text)?.[0];
  if (path === undefined) throw new Error(`no link was printed: ${text}`);
  return path;
}

async function consentPath({ url }: Gangway): Promise<string> {
  const { body } = await oauth.register(url, { client_name: 'Claude on the laptop of Ada' });
  const scope = 'offline_access view_logs deploy_apps delete_apps manage_env';
  const query = oauth.authorizationQuery(body.client_id, oauth.pkce().challenge, { scope });
  return `/api/auth/oauth2/authorize?${query}`;
}
