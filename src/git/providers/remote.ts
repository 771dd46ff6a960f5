/** Owns what providers have in common of the way to their repositories. */
import { at, checkedRepository, textAt } from './payload.ts';
import type { GitRemote, GitRepository, ProviderConnection } from './provider.ts';

const repositoriesMax = 100;

/** Each part of the name is escaped: none leads elsewhere. Throws BAD_USER_INPUT. */
export function cloneUrl(root: string, repository: string): string {
  const parts = checkedRepository(repository, 'repository').split('/');
  return `${root}/${parts.map(encodeURIComponent).join('/')}.git`;
}

/** `username`: where the connection names none. */
export function credentialsOf(
  { username: given, token }: ProviderConnection,
  username: string,
): GitRemote['credentials'] {
  return token === null ? null : { username: given ?? username, secret: token };
}

interface RepositoryShape {
  /** The field of the full name. */
  name: string;
  branch: (item: unknown) => string | null;
  isPrivate: (item: unknown) => boolean;
}

/** The repositories of an answer that is a list; what has no name is left out. */
export function repositoriesOf(
  list: unknown,
  shape: RepositoryShape,
  search = '',
): GitRepository[] {
  const wanted = search.toLowerCase();
  const found = (Array.isArray(list) ? list : []).flatMap((item: unknown) => {
    const fullName = textAt(item, shape.name);
    if (!fullName?.toLowerCase().includes(wanted)) return [];
    const defaultBranch = shape.branch(item) ?? 'main';
    return [{ fullName, defaultBranch, private: shape.isPrivate(item) }];
  });
  return found.slice(0, repositoriesMax);
}

/** As GitHub, Gitea, Forgejo and Gogs tell theirs. */
export const githubShape: RepositoryShape = {
  name: 'full_name',
  branch: (item) => textAt(item, 'default_branch'),
  isPrivate: (item) => at(item, 'private') !== false,
};
