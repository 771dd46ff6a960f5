/** Owns where GitHub's API is, and what goes with each request. */
import { checkedRepository } from './payload.ts';
import type { AskHeaders } from './provider.ts';

/**
 * Of github.com and of GitHub Enterprise Cloud with a domain of its own (`*.ghe.com`) it is a host beside it; of a
 * GitHub Enterprise Server it is below it. `baseUrl`: without a slash at its end.
 */
export function apiRootOf(baseUrl: string): string {
  const { protocol, host } = new URL(baseUrl);
  const isCloud = host === 'github.com' || host.endsWith('.ghe.com');
  return isCloud ? `${protocol}//api.${host}` : `${baseUrl}/api/v3`;
}

/** `token`: of an installation, or the JWT of an App. */
export function githubHeaders(token: string | null): AskHeaders {
  return {
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
    ...(token !== null && { authorization: `Bearer ${token}` }),
  };
}

/** For a path; throws BAD_USER_INPUT for what is no name. */
export function escapedName(fullName: string): string {
  return checkedRepository(fullName, 'repository').split('/').map(encodeURIComponent).join('/');
}
