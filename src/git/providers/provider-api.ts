/** Owns the way to a provider's API: bounded, and only to addresses that are admitted. */
import { ServiceError } from '../../lib/errors.ts';
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { ProviderApi } from './provider.ts';

const maxBytes = 8 * 1024 * 1024;
const timeoutMs = 10_000;

export function providerApi(fetch: Pick<GuardedFetch, 'get'>): ProviderApi {
  return {
    json: async (url, headers) => {
      const { status, body } = await fetch
        .get(url, { maxBytes, timeoutMs, headers: { accept: 'application/json', ...headers } })
        .catch((error: unknown) => {
          if (error instanceof FetchRefused) throw failed(error.message);
          throw error;
        });
      if (status === 401 || status === 403) throw failed('It does not take the token.');
      if (status !== 200) throw failed(`It answered with status ${String(status)}.`);
      try {
        return JSON.parse(body.toString('utf8')) as unknown;
      } catch {
        throw failed('Its answer is no JSON.');
      }
    },
  };
}

function failed(reason: string): ServiceError {
  return new ServiceError('GIT_PROVIDER_FAILED', `The git provider cannot be asked. ${reason}`);
}
