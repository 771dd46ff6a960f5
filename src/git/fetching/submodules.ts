/**
 * Owns where the submodules of a commit are fetched from (gitmodules(5)): from the host of the repository alone, with
 * the same credentials.
 */
import { gitFailed, plainLine } from '../git-failure.ts';
import type { GitRemote } from '../providers/provider.ts';
import type { Repository } from '../repositories/repository.ts';

/** Where the submodule at a path is. */
export type RemoteAt = (path: string) => GitRemote;

/** Rejects with GIT_FAILED. */
export async function submodulesOf(
  repository: Repository,
  sha: string,
  remote: GitRemote,
): Promise<RemoteAt> {
  const blob = `${sha}:.gitmodules`;
  const list = (await repository.bytes(['config', '--blob', blob, '-z', '--list'])).toString(
    'latin1',
  );
  const byName = new Map<string, { path?: string; url?: string }>();
  for (const setting of list.split('\0')) {
    const [, name = '', key = '', value = ''] =
      /^submodule\.(.+)\.(path|url)\n(.*)$/s.exec(setting) ?? [];
    if (key !== '') byName.set(name, { ...byName.get(name), [key]: value });
  }
  const urls = new Map([...byName.values()].map(({ path, url }) => [path, url]));
  return (path) => remoteAt(remote, path, urls.get(path));
}

function remoteAt(remote: GitRemote, path: string, url: string | undefined): GitRemote {
  const shown = plainLine(Buffer.from(path, 'latin1').toString());
  if (url === undefined) throw gitFailed(`The submodule ${shown} has no address in .gitmodules.`);
  // Relative ones go on from the repository as if it was a folder.
  const base = `${remote.url.replace(/\/+$/, '')}/`;
  const isRelative = /^\.\.?\//.test(url);
  const found = isRelative || /^https?:/i.test(url) ? URL.parse(url, base) : null;
  const home = new URL(base);
  const isHome = found?.host === home.host && found.protocol === home.protocol;
  if (!isHome || found.username !== '' || found.password !== '') {
    throw gitFailed(
      `The submodule ${shown} is not fetched: its address must be relative, or of ${home.protocol}//${home.host}.`,
    );
  }
  return { url: found.href.replace(/\/+$/, ''), credentials: remote.credentials };
}
