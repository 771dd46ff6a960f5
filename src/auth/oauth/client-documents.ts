/**
 * Owns Client ID Metadata Documents: clients whose id is the address of a document about them.
 *
 * 1. A document is fetched only for a request of a signed-in person. Otherwise a known client counts as
 *    it was last read.
 * 2. The number of fetches in a minute is bounded for all callers together.
 * 3. A document speaks only for the address it was read from: its `client_id` is that address.
 * 4. It is read again after an hour. While it cannot be read, the last one counts for a day.
 */
import { registerClientMetadataDocument } from '@better-auth/oauth-provider/internal';
import type { ClientDiscovery, OAuthOptions, Scope } from '@better-auth/oauth-provider';
import { APIError } from 'better-call';
import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import { RateLimit } from '../../lib/rate-limit.ts';
import { checkDocumentAddress, isDocumentAddress } from './document-address.ts';

export interface ClientDocumentsOptions {
  fetch: GuardedFetch;
  clock: Clock;
  /** Whether the request at hand may make us fetch. */
  mayFetch: () => boolean;
  /** The provider's options, which say what a client may register. */
  provider: () => OAuthOptions<Scope[]>;
}

type RegistrationMetadata = Parameters<typeof registerClientMetadataDocument>[2]['metadata'];

export const documentBytesMax = 64 * 1024;
const fetchesPerMinute = 60;
const clientDiscoveryId = 'client-document';
const timeoutMs = 5_000;
const freshMs = 3_600_000;
const usableMs = 24 * freshMs;

const document = z.object({
  client_id: z.string(),
  client_name: z.string().trim().min(1).max(200),
  redirect_uris: z.array(z.string().max(2048)).min(1).max(20),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  token_endpoint_auth_method: z.enum(['none', 'private_key_jwt']).optional(),
  application_type: z.enum(['web', 'native']).optional(),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).optional(),
  jwks_uri: z.url().optional(),
});

export function clientDocuments(options: ClientDocumentsOptions): ClientDiscovery {
  const { fetch, clock, mayFetch, provider } = options;
  const fetches = new RateLimit({ burst: fetchesPerMinute, windowMs: 60_000, clock });
  return {
    id: clientDiscoveryId,
    matches: isDocumentAddress,
    discoveryMetadata: { client_id_metadata_document_supported: true },
    fetchClientMetadataResource: (input: Request | URL | string) => fetchKeys(fetch, input),
    resolve: async (context, clientId, existing) => {
      const ageMs = existing?.updatedAt ? clock.now() - existing.updatedAt.getTime() : Infinity;
      if (ageMs < freshMs || !mayFetch()) return existing;
      try {
        if (fetches.take('all') > 0) throw refused('Too many are asked for; try again.');
        const metadata = await fetchDocument(fetch, clientId);
        const result = await registerClientMetadataDocument(context, provider(), {
          // The library treats absent and undefined alike; its types do not.
          metadata: metadata as RegistrationMetadata,
          clientId,
          clientDiscoveryId,
          ...(existing && { existingClient: existing }),
        });
        return result.client;
      } catch (error) {
        if (existing && ageMs < usableMs) return existing;
        throw error;
      }
    },
  };
}

async function fetchDocument(
  fetch: GuardedFetch,
  clientId: string,
): Promise<z.infer<typeof document>> {
  try {
    checkDocumentAddress(fetch, clientId);
    const headers = { accept: 'application/json' };
    const answer = await fetch.get(clientId, { maxBytes: documentBytesMax, timeoutMs, headers });
    if (answer.status !== 200) {
      throw new FetchRefused(`It was answered with status ${String(answer.status)}.`);
    }
    if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(answer.headers['content-type'] ?? '')) {
      throw new FetchRefused('It is no JSON.');
    }
    return checkedDocument(clientId, answer.body.toString('utf8'));
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error;
    throw refused(error.message);
  }
}

function refused(why: string): APIError {
  return new APIError('BAD_REQUEST', {
    error: 'invalid_client',
    error_description: `The client's metadata document cannot be used. ${why}`,
  });
}

/** Throws FetchRefused. */
export function checkedDocument(clientId: string, text: string): z.infer<typeof document> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw new FetchRefused('It is no JSON.', { cause });
  }
  const parsed = document.safeParse(raw);
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.join('.') ?? '';
    throw new FetchRefused(`Its field "${field}" is missing or wrong.`);
  }
  if (typeof raw === 'object' && raw !== null && 'client_secret' in raw) {
    throw new FetchRefused('It holds a secret.');
  }
  if (parsed.data.client_id !== clientId) throw new FetchRefused('It speaks of another client.');
  return parsed.data;
}

/** The keys of a client that signs its requests, fetched with the same limits as its document. */
async function fetchKeys(fetch: GuardedFetch, input: Request | URL | string): Promise<Response> {
  const address = input instanceof Request ? input.url : input.toString();
  const answer = await fetch.get(address, { maxBytes: documentBytesMax, timeoutMs });
  const type = answer.headers['content-type'] ?? '';
  return new Response(new Uint8Array(answer.body), {
    status: answer.status,
    headers: { 'content-type': type },
  });
}
