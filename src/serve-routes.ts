/** Owns the list of transports of a serving Gangway, each with what it needs. */
import type { AccountReads, Accounts } from './auth/accounts-contract.ts';
import { authorize } from './auth/authorize.ts';
import type { StreamSessions } from './actors/stream-session/sessions.ts';
import type { Config } from './config.ts';
import type { Route } from './gateway/contract.ts';
import type { Callers } from './gateway/credentials.ts';
import type { Metrics } from './gateway/metrics.ts';
import { deployHookRoutes } from './gateway/transports/deploy-hook.ts';
import type { GraphqlStreams } from './gateway/transports/graphql-streams.ts';
import { graphqlRoutes } from './gateway/transports/graphql.ts';
import { healthRoute } from './gateway/transports/health.ts';
import { inviteRoutes } from './gateway/transports/invite.ts';
import { loginRoutes } from './gateway/transports/login.ts';
import { logRoutes } from './gateway/transports/logs.ts';
import { connectRoutes } from './gateway/transports/mcp-connect.ts';
import { metricsRoute } from './gateway/transports/metrics.ts';
import { resetRoutes } from './gateway/transports/reset.ts';
import { setupRoutes } from './gateway/transports/setup.ts';
import { uploadRoutes } from './gateway/transports/upload.ts';
import type { Graphql } from './graphql/graphql.ts';
import type { Logger } from './lib/log.ts';
import type { Platform } from './platform.ts';

export interface TransportRoutesOptions {
  config: Config;
  platform: Platform;
  logger: Logger;
  metrics: Metrics;
  accounts: () => Promise<Accounts>;
  accountReads: AccountReads;
  needsSetup: () => boolean;
  callers: Callers;
  graphql: Graphql;
  graphqlStreams: GraphqlStreams;
  sessions: StreamSessions;
  publicUrl: () => string;
}

export function transportRoutes(options: TransportRoutesOptions): Route[] {
  const { config, logger, platform, callers, metrics } = options;
  const { store, actors } = platform;
  const refuseCrossSite = callers.refuseCrossSite.bind(callers);
  return [
    healthRoute,
    metricsRoute(metrics, config.metrics),
    ...setupRoutes({
      accounts: options.accounts,
      needsSetup: options.needsSetup,
      refuseCrossSite,
    }),
    ...resetRoutes({ accounts: options.accounts, refuseCrossSite }),
    ...loginRoutes({
      accounts: options.accounts,
      accountReads: options.accountReads,
      needsSetup: options.needsSetup,
      callers: callers,
    }),
    ...inviteRoutes({
      accounts: options.accounts,
      accountReads: options.accountReads,
      callers: callers,
    }),
    ...graphqlRoutes({
      graphql: options.graphql,
      callers: callers,
      streams: options.graphqlStreams,
      logger,
    }),
    ...deployHookRoutes({ reader: store, actors, callers: callers, authorize }),
    ...uploadRoutes({
      bulk: platform.bulk,
      actors,
      reader: store,
      authenticate: (exchange) => callers.cookiePerson(exchange, { changes: true }),
      authorize,
      limits: { archiveBytes: config.maxUploadMb * 2 ** 20 },
      logger,
    }),
    ...logRoutes({
      reader: store,
      sessions: options.sessions,
      authenticate: (exchange) => callers.cookiePerson(exchange, { changes: false }),
      authorize,
      refuseCrossSite,
      logMaxDays: config.logMaxDays,
    }),
    ...connectRoutes({
      reader: store,
      actors,
      causes: platform.causes,
      callers,
      publicUrl: options.publicUrl,
    }),
  ];
}
