/** GitLab: https://docs.gitlab.com/user/project/integrations/webhooks/ */
import {
  at,
  checkedRepository,
  cloneUrlsOf,
  commitAt,
  eventOf,
  filesOf,
  firstOf,
  headerText,
  jsonOf,
  listAt,
  pushedCommit,
  refAt,
  repositoryAt,
  textAt,
} from './payload.ts';
import type { AskHeaders, Provider, ProviderConnection, PushDelivery } from './provider.ts';
import { cloneUrl, credentialsOf, repositoriesOf } from './remote.ts';
import { isSecret } from './signature.ts';

const events: ReadonlySet<string> = new Set(['Push Hook', 'Tag Push Hook', 'System Hook']);

export const gitlab: Provider = {
  kind: 'gitlab',
  // It sends the secret itself and signs nothing.
  verify: (header, _body, secret) => isSecret(header('x-gitlab-token'), secret),
  pushes: (header, body) => {
    if (!events.has(header('x-gitlab-event'))) return [];
    // The first is the same in every try; older versions have the other alone.
    const id = headerText(header('idempotency-key') || header('x-gitlab-event-uuid'));
    return pushOf(jsonOf(body), id);
  },
  remote: (connection, repository) => ({
    url: cloneUrl(connection.baseUrl, repository),
    credentials: credentialsOf(connection, 'oauth2'),
  }),
  repositories: async ({ baseUrl, token }, search, api) => {
    const query = new URLSearchParams({
      simple: 'true',
      per_page: '100',
      order_by: 'last_activity_at',
    });
    if (token !== null) query.set('membership', 'true');
    if (search !== '') query.set('search', search);
    const url = `${baseUrl}/api/v4/projects?${query.toString()}`;
    return repositoriesOf(await api.json(url, headersOf(token)), {
      name: 'path_with_namespace',
      branch: (project) => textAt(project, 'default_branch'),
      isPrivate: (project) => (textAt(project, 'visibility') ?? 'private') !== 'public',
    });
  },
  mayPush: async (connection, repository, person, api) => {
    const headers = headersOf(connection.token);
    const query = new URLSearchParams({ username: person });
    const users = await api.find(`${connection.baseUrl}/api/v4/users?${query.toString()}`, headers);
    if (users === null) return null;
    const isNamed = (user: unknown): boolean =>
      textAt(user, 'username')?.toLowerCase() === person.toLowerCase();
    const id = at((Array.isArray(users) ? users : []).find(isNamed), 'id');
    if (typeof id !== 'number') return false;
    const member = await api.find(
      `${projectOf(connection, repository)}/members/all/${String(id)}`,
      headers,
    );
    const level = at(member, 'access_level');
    return member === null ? null : typeof level === 'number' && level >= developerLevel;
  },
  report: (connection, repository, sha, { context, url, state, description }, api) => {
    const status = { state: states[state], name: context, description };
    const address = url === null ? {} : { target_url: url };
    const to = `${projectOf(connection, repository)}/statuses/${sha}`;
    return api.post(to, headersOf(connection.token), { ...status, ...address });
  },
};

/** Those from this one on may push. */
const developerLevel = 30;
const states = { pending: 'running', success: 'success', failure: 'failed' } as const;

function headersOf(token: string | null): AskHeaders {
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** A project is named as a whole. */
function projectOf({ baseUrl }: ProviderConnection, repository: string): string {
  return `${baseUrl}/api/v4/projects/${encodeURIComponent(checkedRepository(repository, 'repository'))}`;
}

function pushOf(payload: unknown, deliveryId: string | null): PushDelivery[] {
  const kind = textAt(payload, 'object_kind') ?? textAt(payload, 'event_name');
  if (kind !== 'push' && kind !== 'tag_push') return [];
  const ref = refAt(payload, 'ref');
  const before = commitAt(payload, 'before');
  const after = commitAt(payload, 'after');
  if (ref === null || before === after) return [];
  const head = listAt(payload, 'commits').find((commit) => at(commit, 'id') === after);
  const project = at(payload, 'project');
  return [
    {
      event: eventOf(ref, after),
      deliveryId,
      repository: repositoryAt(payload, 'project', 'path_with_namespace'),
      cloneUrls: cloneUrlsOf(at(project, 'git_http_url'), at(project, 'git_ssh_url')),
      ...{ ref, before, after },
      created: before === null,
      forced: false,
      commit: pushedCommit(head, at(head, 'message'), at(head, 'timestamp')),
      pusher: firstOf(textAt(payload, 'user_username'), textAt(payload, 'user_name')),
      files:
        before === null || after === null
          ? null
          : filesOf(listAt(payload, 'commits'), at(payload, 'total_commits_count')),
    },
  ];
}
