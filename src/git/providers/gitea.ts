/** Gitea and Forgejo: https://docs.gitea.com/usage/webhooks, https://forgejo.org/docs/latest/user/webhooks/ */
import { deletionOf, pushOf } from './github-payload.ts';
import { at, headerText } from './payload.ts';
import { escapedName } from './github-addresses.ts';
import { mayWrite } from './permission.ts';
import type { AskHeaders, HeaderOf, Provider, PushDelivery } from './provider.ts';
import { cloneUrl, credentialsOf, githubShape, repositoriesOf } from './remote.ts';
import { isSigned } from './signature.ts';

type Common = Pick<Provider, 'remote' | 'repositories' | 'mayPush' | 'report'>;

const common: Common = {
  // The user does not matter beside a token.
  remote: (connection, repository) => ({
    url: cloneUrl(connection.baseUrl, repository),
    credentials: credentialsOf(connection, 'oauth2'),
  }),
  repositories: async ({ baseUrl, token }, search, api) => {
    const query = new URLSearchParams({ q: search, limit: '50', sort: 'updated', order: 'desc' });
    const url = `${baseUrl}/api/v1/repos/search?${query.toString()}`;
    return repositoriesOf(at(await api.json(url, headersOf(token)), 'data'), githubShape);
  },
  // Only an administrator of the repository is told.
  mayPush: async ({ baseUrl, token }, repository, person, api) => {
    const place = `${baseUrl}/api/v1/repos/${escapedName(repository)}/collaborators`;
    const url = `${place}/${encodeURIComponent(person)}/permission`;
    return mayWrite(await api.find(url, headersOf(token)));
  },
  report: ({ baseUrl, token }, repository, sha, { url: target_url, ...status }, api) => {
    const url = `${baseUrl}/api/v1/repos/${escapedName(repository)}/statuses/${sha}`;
    return api.post(url, headersOf(token), {
      ...status,
      ...(target_url !== null && { target_url }),
    });
  },
};

function headersOf(token: string | null): AskHeaders {
  return token === null ? {} : { authorization: `token ${token}` };
}

export const gitea: Provider = {
  kind: 'gitea',
  ...common,
  verify: (header, body, secret) => isSigned(header('x-gitea-signature'), body, secret),
  pushes: (header, body) => pushesOf(header, body, 'gitea'),
};

export const forgejo: Provider = {
  kind: 'forgejo',
  ...common,
  // Older versions sign as Gitea does, newer ones both ways.
  verify: (header, body, secret) =>
    isSigned(header('x-forgejo-signature') || header('x-gitea-signature'), body, secret),
  pushes: (header, body) =>
    pushesOf(header, body, header('x-forgejo-event') === '' ? 'gitea' : 'forgejo'),
};

function pushesOf(header: HeaderOf, body: Uint8Array, name: 'gitea' | 'forgejo'): PushDelivery[] {
  const id = headerText(header(`x-${name}-delivery`));
  switch (header(`x-${name}-event`)) {
    case 'push':
      return pushOf(body, id);
    case 'delete':
      return deletionOf(body, id);
    default:
      return [];
  }
}
