/**
 * Bitbucket Cloud (https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/) and Data Center
 * (https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html). One push may move several
 * branches.
 */
import { createHash } from 'node:crypto';
import {
  at,
  checkedRef,
  cloneUrlsOf,
  commitAt,
  eventOf,
  firstOf,
  flagAt,
  headerText,
  jsonOf,
  listAt,
  pushedCommit,
  refAt,
  repositoryAt,
  textAt,
  checkedRepository,
} from './payload.ts';
import type { GitRepository, Provider, ProviderConnection, PushDelivery } from './provider.ts';
import { cloneUrl, credentialsOf, repositoriesOf } from './remote.ts';
import { isSigned } from './signature.ts';

const cloud = 'https://bitbucket.org';
const cloudApi = 'https://api.bitbucket.org';

export const bitbucket: Provider = {
  kind: 'bitbucket',
  verify: (header, body, secret) => isSigned(header('x-hub-signature'), body, secret, 'sha256='),
  pushes: (header, body) => {
    const event = header('x-event-key');
    // Data Center's own, and Cloud's.
    const id = headerText(header('x-request-id') || header('x-request-uuid'));
    if (event === 'repo:push') return cloudPushes(jsonOf(body), id);
    return event === 'repo:refs_changed' ? serverPushes(jsonOf(body), id) : [];
  },
  remote: (connection, repository) => ({
    url: cloneUrl(isCloud(connection) ? cloud : `${connection.baseUrl}/scm`, repository),
    credentials: credentialsOf(connection, 'x-token-auth'),
  }),
  repositories: async (connection, search, api) => {
    const headers = authorizationOf(connection);
    return isCloud(connection)
      ? cloudRepositories(await api.json(cloudQuery(search), headers))
      : serverRepositories(await api.json(serverQuery(connection, search), headers));
  },
  // Neither tells it of the name of a person to who is no administrator.
  mayPush: null,
  report: async (connection, repository, sha, { context, state, url, description }, api) => {
    // Without an address it takes none.
    if (url === null) return;
    const name = checkedRepository(repository, 'repository');
    const to = isCloud(connection)
      ? `${cloudApi}/2.0/repositories/${name}/commit/${sha}/statuses/build`
      : `${connection.baseUrl}/rest/build-status/1.0/commits/${sha}`;
    const key = createHash('sha256').update(context).digest('hex').slice(0, keyMax);
    const status = { key, state: states[state], name: context, url, description };
    await api.post(to, authorizationOf(connection), status);
  },
};

const keyMax = 40;
const states = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED' } as const;

function isCloud({ baseUrl }: ProviderConnection): boolean {
  return baseUrl === cloud || baseUrl === cloudApi;
}

function cloudPushes(payload: unknown, deliveryId: string | null): PushDelivery[] {
  return listAt(payload, 'push', 'changes').flatMap((change) => {
    const named = at(change, 'new') ?? at(change, 'old');
    const kind = textAt(named, 'type');
    // Data that is no git: other types exist of Mercurial.
    if (kind !== 'branch' && kind !== 'tag') return [];
    const ref = checkedRef(kind, textAt(named, 'name') ?? '');
    const before = commitAt(change, 'old', 'target', 'hash');
    const after = commitAt(change, 'new', 'target', 'hash');
    if (before === after) return [];
    const head = at(change, 'new', 'target');
    const commit = pushedCommit(head, at(head, 'message'), at(head, 'date'));
    const author = firstOf(textAt(head, 'author', 'raw'), textAt(head, 'author', 'display_name'));
    return {
      event: eventOf(ref, after),
      deliveryId,
      repository: repositoryAt(payload, 'repository', 'full_name'),
      cloneUrls: cloneUrlsOf(at(payload, 'repository', 'links', 'html', 'href')),
      ...{ ref, before, after },
      created: before === null,
      forced: flagAt(change, 'forced'),
      commit: commit && { ...commit, author },
      pusher: firstOf(
        textAt(payload, 'actor', 'nickname'),
        textAt(payload, 'actor', 'display_name'),
      ),
      files: null,
    };
  });
}

function serverPushes(payload: unknown, deliveryId: string | null): PushDelivery[] {
  const project = textAt(payload, 'repository', 'project', 'key') ?? '';
  const slug = textAt(payload, 'repository', 'slug') ?? '';
  const repository = checkedRepository(`${project}/${slug}`, 'repository');
  const links = listAt(at(payload, 'repository'), 'links', 'clone');
  return listAt(payload, 'changes').flatMap((change) => {
    const ref = refAt(change, 'ref', 'id');
    const before = commitAt(change, 'fromHash');
    const after = commitAt(change, 'toHash');
    if (ref === null || before === after) return [];
    const head = at(payload, 'toCommit');
    const isHead = at(head, 'id') === after;
    const time = at(head, 'committerTimestamp');
    const commit = isHead ? pushedCommit(head, at(head, 'message'), null) : null;
    return {
      event: eventOf(ref, after),
      deliveryId,
      repository,
      cloneUrls: cloneUrlsOf(...links.map((link) => at(link, 'href'))),
      ...{ ref, before, after },
      created: before === null,
      forced: false,
      commit: commit && { ...commit, atMs: typeof time === 'number' ? time : null },
      pusher: firstOf(textAt(payload, 'actor', 'name'), textAt(payload, 'actor', 'displayName')),
      files: null,
    };
  });
}

/** An app password belongs to a user; an access token is its own. */
function authorizationOf({ username, token }: ProviderConnection): Record<string, string> {
  if (token === null) return {};
  if (username === null) return { authorization: `Bearer ${token}` };
  const basic = Buffer.from(`${username}:${token}`).toString('base64');
  return { authorization: `Basic ${basic}` };
}

function cloudQuery(search: string): string {
  const query = new URLSearchParams({ role: 'member', pagelen: '100', sort: '-updated_on' });
  if (search !== '') query.set('q', `full_name ~ ${JSON.stringify(search)}`);
  return `${cloudApi}/2.0/repositories?${query.toString()}`;
}

function cloudRepositories(answer: unknown): GitRepository[] {
  return repositoriesOf(at(answer, 'values'), {
    name: 'full_name',
    branch: (item) => textAt(item, 'mainbranch', 'name'),
    isPrivate: (item) => at(item, 'is_private') !== false,
  });
}

function serverQuery({ baseUrl }: ProviderConnection, search: string): string {
  const query = new URLSearchParams({ limit: '100' });
  if (search !== '') query.set('name', search);
  return `${baseUrl}/rest/api/1.0/repos?${query.toString()}`;
}

function serverRepositories(answer: unknown): GitRepository[] {
  const named = listAt(answer, 'values').map((item) => ({
    item,
    full: `${textAt(item, 'project', 'key') ?? ''}/${textAt(item, 'slug') ?? ''}`,
  }));
  return repositoriesOf(named, {
    name: 'full',
    // Its list does not say which branch is the default.
    branch: () => null,
    isPrivate: (one) => at(one, 'item', 'public') !== true,
  });
}
