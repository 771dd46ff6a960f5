/** Gitea and Forgejo: https://docs.gitea.com/usage/webhooks, https://forgejo.org/docs/latest/user/webhooks/ */
import { deletionOf, pushOf } from './github-payload.ts';
import { at, headerText } from './payload.ts';
import type { HeaderOf, Provider, PushDelivery } from './provider.ts';
import { cloneUrl, credentialsOf, githubShape, repositoriesOf } from './remote.ts';
import { isSigned } from './signature.ts';

type Common = Pick<Provider, 'remote' | 'repositories'>;

const common: Common = {
  // The user does not matter beside a token.
  remote: (connection, repository) => ({
    url: cloneUrl(connection.baseUrl, repository),
    credentials: credentialsOf(connection, 'oauth2'),
  }),
  repositories: async ({ baseUrl, token }, search, api) => {
    const query = new URLSearchParams({ q: search, limit: '50', sort: 'updated', order: 'desc' });
    const headers = token === null ? {} : { authorization: `token ${token}` };
    const answer = await api.json(`${baseUrl}/api/v1/repos/search?${query.toString()}`, headers);
    return repositoriesOf(at(answer, 'data'), githubShape);
  },
};

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
