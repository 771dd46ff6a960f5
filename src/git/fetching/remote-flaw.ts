/** Owns what is wrong with the address of a repository, as far as that is told without asking anybody. */
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';

/** A sentence for people; null: it may be fetched. */
export function remoteFlaw(url: string, http: Pick<GuardedFetch, 'checked'>): string | null {
  // A connection holds no key, and no host key to know the server by.
  if (/^(git\+)?ssh:/i.test(url)) return 'Repositories are fetched by https, not by ssh.';
  try {
    const { search, hash } = http.checked(url);
    return search === '' && hash === '' ? null : 'It ends with a query or a fragment.';
  } catch (error) {
    if (error instanceof FetchRefused) return error.message;
    throw error;
  }
}
