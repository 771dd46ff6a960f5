/** GitHub and GitHub Enterprise: https://docs.github.com/en/webhooks/webhook-events-and-payloads#push */
import { pushOf } from './github-payload.ts';
import { at, headerText } from './payload.ts';
import type { Provider } from './provider.ts';
import { cloneUrl, credentialsOf, githubShape, repositoriesOf } from './remote.ts';
import { isSigned } from './signature.ts';

const publicHost = 'https://github.com';
const publicApi = 'https://api.github.com';

export const github: Provider = {
  kind: 'github',
  verify: (header, body, secret) =>
    isSigned(header('x-hub-signature-256'), body, secret, 'sha256='),
  pushes: (header, body) =>
    header('x-github-event') === 'push'
      ? pushOf(body, headerText(header('x-github-delivery')))
      : [],
  remote: (connection, repository) => ({
    url: cloneUrl(connection.baseUrl, repository),
    credentials: credentialsOf(connection, 'x-access-token'),
  }),
  /** `token`: of an installation. */
  repositories: async ({ baseUrl, token }, search, api) => {
    const root = baseUrl === publicHost ? publicApi : `${baseUrl}/api/v3`;
    const headers = {
      accept: 'application/vnd.github+json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
    const answer = await api.json(`${root}/installation/repositories?per_page=100`, headers);
    return repositoriesOf(at(answer, 'repositories'), githubShape, search);
  },
};
