/** GitHub and GitHub Enterprise: https://docs.github.com/en/webhooks/webhook-events-and-payloads#push */
import { apiRootOf, escapedName, githubHeaders } from './github-addresses.ts';
import { pushOf } from './github-payload.ts';
import { headerText, listAt } from './payload.ts';
import type { GitRepository, Provider } from './provider.ts';
import { mayWrite } from './permission.ts';
import { cloneUrl, credentialsOf, githubShape, repositoriesOf } from './remote.ts';
import { isSigned } from './signature.ts';

const pageSize = 100;
const pagesMax = 10;

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
  /** `token`: of an installation. GitHub cannot search in them. */
  repositories: async ({ baseUrl, token }, search, api) => {
    const url = `${apiRootOf(baseUrl)}/installation/repositories?per_page=${String(pageSize)}`;
    const found: GitRepository[] = [];
    for (let page = 1; page <= pagesMax && found.length < pageSize; page++) {
      const answer = await api.json(`${url}&page=${String(page)}`, githubHeaders(token));
      const list = listAt(answer, 'repositories');
      found.push(...repositoriesOf(list, githubShape, search));
      if (list.length < pageSize) break;
    }
    return found.slice(0, pageSize);
  },
  mayPush: async ({ baseUrl, token }, repository, person, api) => {
    const place = `${apiRootOf(baseUrl)}/repos/${escapedName(repository)}/collaborators`;
    const url = `${place}/${encodeURIComponent(person)}/permission`;
    return mayWrite(await api.find(url, githubHeaders(token)));
  },
  // Its App does (`github-api.ts`).
  report: null,
};
