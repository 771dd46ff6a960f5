/**
 * Owns the composition of OAuth: what a person does (`provider`), what clients do (`endpoints`), and
 * what was granted (`grants`). The library is loaded when it is first needed, and again when the public
 * URL changes, which is part of everything it says.
 */
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Journal, Reader } from '../../store/reader-and-journal.ts';
import { OAuthEndpoints } from './endpoints.ts';
import { OAuthGrants } from './grants.ts';
import type { OAuthLibrary } from './library.ts';
import { OAuthProvider } from './provider.ts';

export interface OAuthOptions {
  reader: Reader;
  actors: Actors;
  subscribe: Journal['subscribe'];
  clock: Clock;
  log: Logger;
  /** What session cookies are signed with. */
  secret: string;
  publicUrl: () => string;
  fetch: GuardedFetch;
}

export interface OAuth {
  provider: OAuthProvider;
  endpoints: OAuthEndpoints;
  close(): void;
}

export function createOAuth(options: OAuthOptions): OAuth {
  const grants = new OAuthGrants(options);
  let open: { publicUrl: string; library: Promise<OAuthLibrary> } | null = null;
  const library = (): Promise<OAuthLibrary> => {
    const publicUrl = options.publicUrl();
    if (open?.publicUrl !== publicUrl) {
      const opening = import('./library.ts').then(({ openOAuthLibrary }) =>
        openOAuthLibrary({ ...options, publicUrl }),
      );
      open = { publicUrl, library: opening };
      opening.catch(() => {
        // The caller gets the error; the next one tries again.
        open = null;
      });
    }
    return open.library;
  };
  const parts = { ...options, grants, library };
  return {
    provider: new OAuthProvider(parts),
    endpoints: new OAuthEndpoints(parts),
    close: () => grants.close(),
  };
}
