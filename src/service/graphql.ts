/** Owns how GraphQL is put together in a serving Gangway. */
import type { ConsoleCommands } from '../consoles/commands.ts';
import type { DnsLooks } from '../actors/domains/dns-looks.ts';
import type { ListRepositories } from '../actors/git/repository-lists.ts';
import type { GithubConnects } from '../actors/git/github-connects.ts';
import { localServerId } from '../places/local-place.ts';
import type { Accounts } from '../auth/sign-in/accounts.ts';
import { webhookKeyPurpose } from '../git/deliveries/webhook-token.ts';
import type { InstanceStatus } from '../graphql/context.ts';
import { Graphql } from '../graphql/graphql.ts';
import { systemClock } from '../lib/clock.ts';
import type { MutationDoor } from '../graphql/execution/lanes.ts';
import { appsWildcard } from './acme-settings.ts';
import type { Core } from './core.ts';
import { LogFiles } from '../logs/files/reader.ts';
import type { LogSearches } from '../logs/search/log-searches.ts';
import { openMetricsReader } from '../metrics/metrics-files.ts';
import type { QuerySetup } from '../workers/tasks/query.ts';

export interface ServeGraphqlOptions {
  accounts: () => Promise<Accounts>;
  /** The number of threads that answer queries. */
  queryThreads: number;
  /** Runs commands in apps and databases. */
  commands?: ConsoleCommands;
  /** Asks git providers for their repositories. */
  repositories?: ListRepositories;
  /** Searches logs. */
  searches?: LogSearches;
  /** Connects teams to GitHub. */
  github?: GithubConnects;
  /** Looks how the instance is. */
  instance?: () => Promise<InstanceStatus>;
  /** Looks at the DNS for domains. */
  dns?: DnsLooks;
  /** Runs mutations where the actors are, when they are on another thread. */
  mutations?: MutationDoor;
}

export function serveGraphql(core: Core, options: ServeGraphqlOptions): Graphql {
  const { config, logger, ground, publicUrl } = core;
  const { store, actors, streams, folders } = ground;
  return new Graphql({
    read: {
      reader: store,
      logs: new LogFiles(folders.logs),
      metrics: openMetricsReader(folders.metrics),
      accounts: core.accountReads,
    },
    write: {
      actors,
      accounts: options.accounts,
      audit: core.audit,
      ...(options.commands && { commands: options.commands }),
      ...(options.repositories && { repositories: options.repositories }),
      ...(options.searches && { searches: options.searches }),
      ...(options.github && { github: options.github }),
      ...(options.instance && { instance: options.instance }),
      ...(options.dns && { dns: options.dns }),
    },
    live: { journal: store, streams, authenticator: core.authenticator, clock: systemClock },
    ...(options.mutations && { mutations: options.mutations }),
    logger,
    limits: { inlineCost: config.inlineQueryCost },
    settings: () => ({
      publicUrl: publicUrl(),
      appsDomain: config.appsDomain,
      edgePort: config.edgePort,
      edgeTlsPort: config.edgeTlsPort,
      appsWildcard: appsWildcard(config),
      hasAppsCertificate: false,
      logMaxDays: config.logMaxDays,
      webhookKey: ground.secrets.derive(webhookKeyPurpose).toString('hex'),
      server: { id: localServerId, name: 'local', runtime: config.runtime, version: null },
    }),
    pool: async (settings, limits, onFault) => {
      const { QueryPool } = await import('../workers/query-pool.ts');
      const setup = {
        reader: store.readerOptions(),
        logsDir: folders.logs,
        metricsDir: folders.metrics,
        settings,
        limits,
      } satisfies QuerySetup;
      return new QueryPool({
        threads: options.queryThreads,
        setup,
        clock: systemClock,
        logger,
        onFault,
      });
    },
  });
}
