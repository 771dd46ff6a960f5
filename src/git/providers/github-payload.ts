/** Owns the payload of a push as GitHub made it known, and as Gitea, Forgejo and Gogs have it too. */
import {
  at,
  checkedRef,
  cloneUrlsOf,
  commitAt,
  eventOf,
  filesOf,
  firstOf,
  flagAt,
  jsonOf,
  listAt,
  pushedCommit,
  refAt,
  repositoryAt,
  textAt,
} from './payload.ts';
import type { PushDelivery } from './provider.ts';

/** What moved by a payload of the event `push`. */
export function pushOf(body: Uint8Array, deliveryId: string | null): PushDelivery[] {
  const payload = jsonOf(body);
  const ref = refAt(payload, 'ref');
  const repository = repositoryAt(payload, 'repository', 'full_name');
  const before = commitAt(payload, 'before');
  const after = commitAt(payload, 'after');
  // Gitea and Gogs send the head as it is when somebody tests the webhook.
  if (ref === null || before === after) return [];
  const head = headOf(payload, after);
  const forced = flagAt(payload, 'forced');
  const total = at(payload, 'total_commits');
  // What a push by force took away is in none of its commits; a new branch may begin anywhere.
  const isKnown = before !== null && after !== null && !forced;
  return [
    {
      event: eventOf(ref, after),
      deliveryId,
      repository,
      cloneUrls: urlsOf(payload),
      ...{ ref, before, after },
      created: before === null,
      forced,
      commit: pushedCommit(head, at(head, 'message'), at(head, 'timestamp')),
      pusher: pusherOf(payload),
      files: isKnown ? filesOf(listAt(payload, 'commits'), total) : null,
    },
  ];
}

/** What moved by a payload of the event `delete`, as Gitea, Forgejo and Gogs send it. */
export function deletionOf(body: Uint8Array, deliveryId: string | null): PushDelivery[] {
  const payload = jsonOf(body);
  const kind = textAt(payload, 'ref_type');
  if (kind !== 'branch' && kind !== 'tag') return [];
  const name = (textAt(payload, 'ref') ?? '').replace(/^refs\/(heads|tags)\//, '');
  return [
    {
      event: 'delete',
      deliveryId,
      repository: repositoryAt(payload, 'repository', 'full_name'),
      cloneUrls: urlsOf(payload),
      ref: checkedRef(kind, name),
      ...{ before: null, after: null, created: false, forced: false, commit: null },
      pusher: pusherOf(payload),
      files: null,
    },
  ];
}

function headOf(payload: unknown, after: string | null): unknown {
  const named = at(payload, 'head_commit');
  if (at(named, 'id') === after) return named;
  return listAt(payload, 'commits').find((commit) => at(commit, 'id') === after);
}

function urlsOf(payload: unknown): string[] {
  const repository = at(payload, 'repository');
  const names = ['clone_url', 'ssh_url', 'html_url'];
  return cloneUrlsOf(...names.map((name) => at(repository, name)));
}

function pusherOf(payload: unknown): string | null {
  return firstOf(
    textAt(payload, 'pusher', 'login'),
    textAt(payload, 'pusher', 'username'),
    textAt(payload, 'pusher', 'name'),
    textAt(payload, 'sender', 'login'),
  );
}
