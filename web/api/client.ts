/**
 * Owns the one client of the API in a tab: a normalised cache over `POST /api/graphql`.
 *
 * 1. Every request says the team that the tab acts in, so that two tabs may act in two teams.
 * 2. An answer that says UNAUTHENTICATED is told to `onSignedOut`, wherever it came.
 * 3. Subscriptions of all pages share one WebSocket.
 * 4. What could not be asked is asked again once the server is reached.
 */
import {
  type Client,
  type CombinedError,
  createClient,
  fetchExchange,
  mapExchange,
} from '@urql/core';
import { toApiError } from './errors.ts';
import { cache } from './cache.ts';
import { InFlight } from './in-flight.ts';
import { openLive } from './live.ts';
import { actingTeam } from './team.ts';

export const apiPath = '/api/graphql';

export interface ApiOptions {
  onSignedOut: () => void;
  onReached: (reached: boolean) => void;
}

export interface Api {
  readonly client: Client;
  close: () => void;
}

export function openApi({ onSignedOut, onReached }: ApiOptions): Api {
  const live = openLive(apiPath, onReached);
  const onError = (error: CombinedError): void => {
    if (isSignedOut(error)) onSignedOut();
  };
  const inFlight = new InFlight();
  const client = createClient({
    url: apiPath,
    preferGetMethod: false,
    requestPolicy: 'cache-and-network',
    fetchOptions: () => {
      const team = actingTeam.get();
      return team === null ? {} : { headers: { 'X-Service-Team': team } };
    },
    exchanges: [
      mapExchange({ onError }),
      cache(inFlight),
      inFlight.exchange,
      live.exchange,
      fetchExchange,
    ],
  });
  inFlight.use(client);
  addEventListener('online', inFlight.reached);
  const close = (): void => {
    removeEventListener('online', inFlight.reached);
    live.close();
  };
  return { client, close };
}

/** By an answer, or by how the live connection was closed. */
function isSignedOut(error: CombinedError): boolean {
  const closed = error.networkError as { code?: unknown } | undefined;
  return closed?.code === 4401 || toApiError(error).code === 'UNAUTHENTICATED';
}
