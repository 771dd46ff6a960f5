/** Gogs: https://gogs.io/advancing/webhooks */
import { deletionOf, pushOf } from './github-payload.ts';
import { headerText } from './payload.ts';
import type { Provider } from './provider.ts';
import { cloneUrl, credentialsOf, githubShape, repositoriesOf } from './remote.ts';
import { isSigned } from './signature.ts';

export const gogs: Provider = {
  kind: 'gogs',
  verify: (header, body, secret) => isSigned(header('x-gogs-signature'), body, secret),
  pushes: (header, body) => {
    const id = headerText(header('x-gogs-delivery'));
    const event = header('x-gogs-event');
    if (event === 'push') return pushOf(body, id);
    return event === 'delete' ? deletionOf(body, id) : [];
  },
  remote: (connection, repository) => ({
    url: cloneUrl(connection.baseUrl, repository),
    credentials: credentialsOf(connection, 'git'),
  }),
  // It has no search for what a token reaches.
  repositories: async ({ baseUrl, token }, search, api) => {
    const headers = token === null ? {} : { authorization: `token ${token}` };
    return repositoriesOf(
      await api.json(`${baseUrl}/api/v1/user/repos`, headers),
      githubShape,
      search,
    );
  },
  // It tells of those that were added one by one, not of those in a team.
  mayPush: null,
  report: null,
};
