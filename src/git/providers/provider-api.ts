/** Owns the way to a provider's API: bounded, and only to addresses that are admitted. */
import { ServiceError } from '../../lib/errors.ts';
import { FetchRefused, type GuardedAnswer, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { PostingApi } from './provider.ts';

const maxBytes = 8 * 1024 * 1024;
const timeoutMs = 10_000;
// GitHub refuses who does not say what it is.
const common = { accept: 'application/json', 'user-agent': 'gangway' };

export type ProviderFetch = Pick<GuardedFetch, 'get' | 'post'>;

export function providerApi(fetch: ProviderFetch): PostingApi {
  return {
    json: (url, given, refusals) => {
      const headers = { ...common, ...given };
      return read(fetch.get(url, { maxBytes, timeoutMs, headers }), refusals);
    },
    find: async (url, given) => {
      const headers = { ...common, ...given };
      const answer = await answered(fetch.get(url, { maxBytes, timeoutMs, headers }));
      if (answer.status === 404) return undefined;
      return answer.status === 401 || answer.status === 403 ? null : bodyOf(answer);
    },
    post: (url, given, body) => {
      const bytes = Buffer.from(JSON.stringify(body));
      const type = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
      const headers = { ...common, ...type, ...given };
      return read(fetch.post(url, bytes, { maxBytes, timeoutMs, headers }));
    },
  };
}

async function read(
  asking: Promise<GuardedAnswer>,
  refusals: Readonly<Record<number, string>> = {},
): Promise<unknown> {
  const answer = await answered(asking);
  const { status } = answer;
  const refusal = refusals[status];
  if (refusal !== undefined) throw providerFailed(refusal);
  if (status === 401 || status === 403) throw providerFailed('It does not take the token.');
  return bodyOf(answer);
}

function answered(asking: Promise<GuardedAnswer>): Promise<GuardedAnswer> {
  return asking.catch((error: unknown) => {
    if (error instanceof FetchRefused) throw providerFailed(error.message);
    throw error;
  });
}

function bodyOf({ status, body }: GuardedAnswer): unknown {
  if (status === 204) return null;
  if (status !== 200 && status !== 201) {
    throw providerFailed(`It answered with status ${String(status)}.`);
  }
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    throw providerFailed('Its answer is no JSON.');
  }
}

export function providerFailed(reason: string): ServiceError {
  return new ServiceError('GIT_PROVIDER_FAILED', `The git provider cannot be asked. ${reason}`);
}
