/**
 * Owns the manifest by which somebody makes an App at GitHub:
 * https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
 */
import { randomBytes } from 'node:crypto';

/** As GitHub names accounts. */
const orgPattern = /^[a-z\d](?:[a-z\d]|-(?=[a-z\d])){0,38}$/i;
/** GitHub's names of Apps end at 34. */
const slugMax = 20;

export function isOrg(name: string): boolean {
  return orgPattern.test(name);
}

/** Where the manifest is posted to, as the field `manifest` of a form. `org`: null for one's own account. */
export function manifestTarget(baseUrl: string, org: string | null, state: string): string {
  const place = org === null ? '' : `/organizations/${org}`;
  return `${baseUrl}${place}/settings/apps/new?state=${state}`;
}

/** JSON. The App may read what it is installed on and set the status of commits; it tells of pushes. */
export function manifestOf(publicUrl: string, teamSlug: string): string {
  // Names are taken over all of GitHub; people may change it there.
  const name = `gangway-${teamSlug.slice(0, slugMax)}-${randomBytes(2).toString('hex')}`;
  return JSON.stringify({
    name,
    url: publicUrl,
    hook_attributes: { url: `${publicUrl}/api/github/webhook`, active: true },
    redirect_url: `${publicUrl}/api/github/callback`,
    setup_url: `${publicUrl}/api/github/setup`,
    setup_on_update: true,
    public: false,
    default_permissions: { contents: 'read', metadata: 'read', statuses: 'write' },
    default_events: ['push'],
  });
}
