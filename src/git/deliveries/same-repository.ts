/** Owns whether an app is built from the repository that a delivery is about. */
import type { PushDelivery } from '../providers/provider.ts';

/**
 * `given`: as the app names it, by its full name or by an address that it is cloned from. Providers do not
 * tell upper from lower case in names.
 */
export function isSameRepository(
  given: string,
  { repository, cloneUrls }: Pick<PushDelivery, 'repository' | 'cloneUrls'>,
): boolean {
  const wanted = plain(given);
  return [repository, ...cloneUrls].some((name) => plain(name) === wanted);
}

function plain(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
}
