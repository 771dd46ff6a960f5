/** Owns how OAuth is put together in a serving Gangway: what it may reach, and how often. */
import { capabilitiesIn, teamIdsOf } from './auth/authorize.ts';
import { createOAuth } from './auth/oauth/oauth.ts';
import type { Config } from './config.ts';
import type { Route } from './gateway/contract.ts';
import type { Callers } from './gateway/credentials.ts';
import { oauthRoutes } from './gateway/transports/oauth.ts';
import { AddressPolicy } from './lib/address-policy.ts';
import { systemClock } from './lib/clock.ts';
import { GuardedFetch } from './lib/guarded-fetch.ts';
import type { Logger } from './lib/log.ts';
import { RateLimit } from './lib/rate-limit.ts';
import type { Platform } from './platform.ts';
import { tables } from './store/tables.ts';

export interface ServeOAuthOptions {
  config: Config;
  platform: Pick<Platform, 'store' | 'actors'>;
  callers: Callers;
  logger: Logger;
  /** What session cookies are signed with. */
  secret: string;
  publicUrl: () => string;
  /** The gateway's own, known once it listens. */
  port: () => number;
}

export interface ServedOAuth {
  routes: Route[];
  close(): void;
}

const registrationsPerHour = 10;

export function serveOAuth(options: ServeOAuthOptions): ServedOAuth {
  const { config, platform, callers, logger, secret, publicUrl, port } = options;
  const { store, actors } = platform;
  const policy = new AddressPolicy({
    privateNetworks: config.privateNetworks,
    ownPorts: () => [port(), config.edgePort],
  });
  const oauth = createOAuth({
    reader: store,
    actors,
    clock: systemClock,
    log: logger,
    secret,
    publicUrl,
    subscribe: (listener) => store.subscribe(listener),
    fetch: new GuardedFetch({ policy }),
  });
  const routes = oauthRoutes({
    oauth,
    callers,
    publicUrl,
    registrations: new RateLimit({ burst: registrationsPerHour, windowMs: 3_600_000 }),
    teamsOf: (person) =>
      teamIdsOf(store, person).flatMap((id) => store.get(tables.teams, id) ?? []),
    capabilitiesIn: (person, teamId) => capabilitiesIn(store, person, teamId),
  });
  return {
    routes,
    close: () => {
      oauth.close();
    },
  };
}
