/** Owns which addresses can be the id of a client: what can be told without asking anybody. */
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';

// What is longer is not found by the store's index of fields.
const addressMax = 256;

/** Whether a client id is meant as the address of a document. */
export function isDocumentAddress(clientId: string): boolean {
  return /^https?:\/\//i.test(clientId);
}

/** Throws FetchRefused for an address that no client may have, before anybody is asked. */
export function checkDocumentAddress(fetch: GuardedFetch, clientId: string): void {
  if (clientId.length > addressMax) throw new FetchRefused('It is too long.');
  const url = fetch.checked(clientId);
  if (url.hash !== '' || clientId.includes('#')) throw new FetchRefused('It has a fragment.');
  if (url.pathname === '/' || url.href !== clientId) {
    throw new FetchRefused('It is no plain address with a path.');
  }
}
