/** Owns which addresses can be the id of a client, as far as the address alone tells. */
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';

// The store's index of fields does not hold longer values.
const addressMax = 256;

/** Whether a client id is meant as the address of a document. */
export function isDocumentAddress(clientId: string): boolean {
  return /^https?:\/\//i.test(clientId);
}

/** Throws FetchRefused for an address that no client may have, before anything is fetched. */
export function checkDocumentAddress(fetch: GuardedFetch, clientId: string): void {
  if (clientId.length > addressMax) throw new FetchRefused('It is too long.');
  const url = fetch.checked(clientId);
  if (url.hash !== '' || clientId.includes('#')) throw new FetchRefused('It has a fragment.');
  if (url.pathname === '/' || url.href !== clientId) {
    throw new FetchRefused('It is no plain address with a path.');
  }
}
