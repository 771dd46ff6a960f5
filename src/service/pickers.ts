/** Owns what people pick versions and images from, as the configuration names its sources. */
import { lookupsActor } from '../actors/lookups/protocol.ts';
import { pickerEngines } from '../gateway/transports/picker-engines.ts';
import { pickerRoutes } from '../gateway/transports/pickers.ts';
import type { Route } from '../gateway/transport.ts';
import { KeptAnswers } from '../registries/kept-answers.ts';
import type { GuardedFetch } from '../lib/guarded-fetch.ts';
import { Pickers } from '../registries/pickers.ts';
import { RegistryThread } from '../registries/registry-thread.ts';
import type { Core } from './core.ts';

export interface ServedPickers {
  routes: readonly Route[];
  close(): Promise<void>;
}

/** Of one person, beyond what is kept. */
const lookUpsPerMinute = 60;

export function servePickers(core: Core, fetch: Pick<GuardedFetch, 'rules'>): ServedPickers {
  const { config, ground, logger, callers } = core;
  const { dockerHubUrl, dockerRegistryUrl, nodeIndexUrl, npmRegistryUrl } = config;
  const sources = { dockerHubUrl, dockerRegistryUrl, nodeIndexUrl, npmRegistryUrl };
  const thread = new RegistryThread(() => ({ sources, rules: fetch.rules }));
  const answers = new KeptAnswers({
    ask: thread.ask,
    sources,
    reader: ground.store,
    keep: (lookup) => ground.actors.ask(lookupsActor, { type: 'keep', lookup }),
    logger,
  });
  const routes = pickerRoutes({
    pickers: new Pickers(answers),
    engines: pickerEngines(config.databaseImages),
    callers,
    isKept: (question) => answers.isKept(question),
    limit: core.newLimit('look-ups', { burst: lookUpsPerMinute, windowMs: 60_000 }),
  });
  return { routes, close: () => thread.close() };
}
