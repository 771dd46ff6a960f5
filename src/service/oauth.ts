/** Owns how OAuth is put together in a serving Gangway: what it may reach, and how often. */
import { capabilitiesIn, teamIdsOf } from '../auth/rights/authorize.ts';
import { createOAuth } from '../auth/oauth/oauth.ts';
import type { Route } from '../gateway/transport.ts';
import { oauthRoutes } from '../gateway/transports/oauth.ts';
import { AddressPolicy } from '../lib/address-policy.ts';
import { systemClock } from '../lib/clock.ts';
import { GuardedFetch } from '../lib/guarded-fetch.ts';
import { RateLimit } from '../lib/rate-limit.ts';
import type { Core } from './core.ts';
import { tables } from '../store/records/tables.ts';

export interface ServedOAuth {
  routes: Route[];
  close(): void;
}

const registrationsPerHour = 10;

export function serveOAuth(core: Core): ServedOAuth {
  const { config, ground, callers, logger, secret, publicUrl } = core;
  const { store, actors } = ground;
  const policy = new AddressPolicy({
    privateNetworks: config.privateNetworks,
    ownPorts: () => [core.port, config.edgePort],
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
