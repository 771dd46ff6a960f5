/** Owns the words for git providers: what each takes to be connected, and where its webhook is made. */

export interface ProviderWords {
  readonly name: string;
  /** What is typed when nothing is. */
  readonly baseUrl: string;
  /** What the token has to be. */
  readonly token: string;
  /** Where a webhook is made there. */
  readonly webhook: string;
  /** What to choose in that form besides the address and the secret. */
  readonly choose: string;
}

const scopes = 'It needs to read repositories; to set the status of commits, also that.';

export const providers: Readonly<Record<string, ProviderWords>> = {
  gitlab: {
    name: 'GitLab',
    baseUrl: 'https://gitlab.com',
    token:
      'A personal, group or project access token with the scopes read_api and read_repository.',
    webhook: 'Settings, Webhooks of the project or group',
    choose: 'The secret goes into “Secret token”. Trigger: push events, tag push events.',
  },
  gitea: {
    name: 'Gitea',
    baseUrl: 'https://gitea.example.com',
    token: scopes,
    webhook: 'Settings, Webhooks of the repository or organization, Add webhook, Gitea',
    choose: 'POST, application/json, push events.',
  },
  forgejo: {
    name: 'Forgejo',
    baseUrl: 'https://codeberg.org',
    token: scopes,
    webhook: 'Settings, Webhooks of the repository or organization, Add webhook, Forgejo',
    choose: 'POST, application/json, push events.',
  },
  gogs: {
    name: 'Gogs',
    baseUrl: 'https://gogs.example.com',
    token: scopes,
    webhook: 'Settings, Webhooks of the repository, Add a new webhook, Gogs',
    choose: 'application/json, just the push event.',
  },
  bitbucket: {
    name: 'Bitbucket',
    baseUrl: 'https://bitbucket.org',
    token: 'An access token, or an app password together with the user it belongs to.',
    webhook: 'Repository settings, Webhooks, Add webhook',
    choose: 'Trigger: repository push.',
  },
  generic: {
    name: 'Another git server',
    baseUrl: 'https://git.example.com',
    token: 'What git itself takes as a password.',
    webhook: 'A hook of the server, or a script of your own, that posts to the address',
    choose:
      'JSON with ref, after and repository.full_name. With a secret, X-Hub-Signature-256 signs it.',
  },
};

/** GitHub has its own way, but is told with the others. */
export function providerName(kind: string): string {
  return kind === 'github' ? 'GitHub' : (providers[kind]?.name ?? kind);
}
