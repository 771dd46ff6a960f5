/**
 * Owns what a connection to a git provider may be. Every refusal is BAD_USER_INPUT with a sentence that names
 * the field and what is allowed.
 */
import { connectableKinds } from '../../git/providers/provider.ts';
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import { checkedName } from '../../lib/names.ts';
import { bad } from '../app/settings/validate.ts';
import type { NewConnection } from './protocol.ts';

export interface CheckedConnection extends Omit<NewConnection, 'provider'> {
  provider: (typeof connectableKinds)[number];
}

const urlMax = 512;
const secretMax = 4_096;
const usernameMax = 255;

export function checkConnection(
  input: NewConnection,
  fetch: Pick<GuardedFetch, 'checked'>,
): CheckedConnection {
  const provider = connectableKinds.find((kind) => kind === input.provider.trim().toLowerCase());
  if (provider === undefined) throw bad(`provider must be one of ${connectableKinds.join(', ')}.`);
  const username = input.username?.trim() || null;
  if (username !== null && (username.length > usernameMax || /[\p{Cc}:]/u.test(username))) {
    throw bad('username has at most 255 characters, none of them a control character or ":".');
  }
  return {
    provider,
    username,
    label: checkedName(input.label, 'A label of a connection'),
    baseUrl: checkBaseUrl(input.baseUrl, fetch),
    token: checkSecret('token', input.token),
    webhookSecret: checkSecret('webhookSecret', input.webhookSecret),
  };
}

function checkBaseUrl(given: string, fetch: Pick<GuardedFetch, 'checked'>): string {
  const what = 'baseUrl must be a URL without query, such as "https://gitlab.example.com".';
  if (given.length > urlMax) throw bad(what);
  try {
    const url = fetch.checked(given.trim());
    if (url.search !== '' || url.hash !== '') throw bad(what);
    return url.href.replace(/\/+$/, '');
  } catch (error) {
    if (error instanceof FetchRefused) throw bad(`baseUrl cannot be used: ${error.message}`);
    throw error;
  }
}

function checkSecret(field: string, given: string | null): string | null {
  const secret = given?.trim() || null;
  // It goes into a header.
  if (secret === null || (secret.length <= secretMax && !/\p{Cc}/u.test(secret))) return secret;
  throw bad(`${field} has at most 4,096 characters, on one line.`);
}
