/**
 * Any other host, or a script of one's own: a payload as GitHub's, of which `ref`, `after` and
 * `repository.full_name` are needed. Without a secret the unguessable address alone counts.
 */
import { pushOf } from './github-payload.ts';
import { headerText } from './payload.ts';
import type { Provider } from './provider.ts';
import { cloneUrl, credentialsOf } from './remote.ts';
import { isSigned } from './signature.ts';

export const generic: Provider = {
  kind: 'generic',
  verify: (header, body, secret) =>
    secret === null || isSigned(header('x-hub-signature-256'), body, secret, 'sha256='),
  pushes: (header, body) => {
    const event = header('x-github-event');
    if (event !== '' && event !== 'push') return [];
    return pushOf(body, headerText(header('x-github-delivery')));
  },
  remote: (connection, repository) => ({
    url: cloneUrl(connection.baseUrl, repository),
    credentials: credentialsOf(connection, 'git'),
  }),
  // There is no API that it could be asked by.
  repositories: () => Promise.resolve([]),
  mayPush: null,
  report: null,
};
