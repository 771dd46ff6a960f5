/**
 * Owns a serving Gangway: the platform, the gateway with every transport, and the way down.
 *
 * 1. The gateway listens before anything heavy is loaded; `/api/health` answers at once.
 * 2. On SIGTERM and SIGINT streams end, requests in flight finish, uploads are refused, actors
 *    finish what they accepted; apps stay up. A second signal ends at once.
 */
import { join } from 'node:path';
import { pino } from 'pino';
import { localServerId } from './actors/app/deps.ts';
import { createAccountReads } from './auth/account-reads.ts';
import type { Accounts, AccountReads } from './auth/accounts-contract.ts';
import { Audit } from './auth/audit.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import type { ClosableAuthenticator } from './auth/authenticator.ts';
import { can } from './auth/authorize.ts';
import { resetsFolder } from './auth/password-resets.ts';
import { newSetupCode } from './auth/setup-code.ts';
import { setVariable } from './config.ts';
import type { Config, ResolvedConfig } from './config.ts';
import type { LineSink } from './gateway/access-log.ts';
import { auditedRoutes } from './gateway/audited.ts';
import { Callers } from './gateway/credentials.ts';
import type { PublicUrl } from './gateway/credentials.ts';
import { singleSample } from './gateway/metrics-text.ts';
import type { MetricFamily } from './gateway/metrics-text.ts';
import { Metrics } from './gateway/metrics.ts';
import { RateLimit } from './lib/rate-limit.ts';
import { createGateway } from './gateway/server.ts';
import type { Gateway } from './gateway/server.ts';
import { GraphqlStreams } from './gateway/transports/graphql-streams.ts';
import { createGraphql } from './graphql/graphql.ts';
import type { Graphql } from './graphql/graphql.ts';
import { systemClock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import { sharesSite } from './lib/same-site.ts';
import { openPlatform } from './platform.ts';
import type { Platform } from './platform.ts';
import { openLogReader } from './store/logs/reader.ts';
import { tables } from './store/tables.ts';
import type { QuerySetup } from './workers/tasks/query.ts';
import { StreamSessions } from './actors/stream-session/sessions.ts';
import type { Route } from './gateway/contract.ts';
import { type ServedMcp, serveMcp } from './serve-mcp.ts';
import { type ServedOAuth, serveOAuth } from './serve-oauth.ts';
import { transportRoutes } from './serve-routes.ts';

const clock = systemClock;
const failedTokensPerMinute = 60;

export async function serve({ config, unknownVariables }: ResolvedConfig): Promise<void> {
  const output = pino.destination({ dest: 1, sync: false, minLength: 8192, periodicFlush: 200 });
  const logger = pino(
    { level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    output,
  );
  const accessLines = logger.isLevelEnabled('info') ? (lines: string) => output.write(lines) : null;
  // What we write is for ourselves; what apps may reach has its modes given.
  process.umask(0o077);
  for (const name of unknownVariables) logger.warn({ name }, 'unknown_variable');
  const platform = await openPlatform(config, logger);
  const server = new Service({ config, logger, accessLines, platform });
  const { port } = await server.listen();
  const panel = new URL(server.publicUrl).hostname;
  if (sharesSite(panel, config.appsDomain)) {
    // Apps could set cookies that the panel's own requests carry.
    logger.warn({ panel, appsDomain: config.appsDomain }, 'apps_share_the_panels_site');
  }
  announce(config, port, server.setupCode);
  server.endOnSignals();
  await server.start();
}

interface Parts {
  config: Config;
  logger: Logger & { flush(): void };
  accessLines: LineSink | null;
  platform: Platform;
}

class Service {
  readonly setupCode: string | null;
  readonly #parts: Parts;
  readonly #gateway: Gateway;
  readonly #authenticator: ClosableAuthenticator;
  readonly #accountReads: AccountReads;
  readonly #audit: Audit;
  readonly #callers: Callers;
  readonly #oauth: ServedOAuth;
  readonly #mcp: ServedMcp;
  readonly #graphql: Graphql;
  readonly #graphqlStreams: GraphqlStreams;
  readonly #sessions: StreamSessions;
  readonly #secret: string;
  #accounts: Promise<Accounts> | null = null;
  #port = 0;
  #ending = false;

  constructor(parts: Parts) {
    const { config, logger, platform } = parts;
    this.#parts = parts;
    this.#port = config.port;
    this.#secret = platform.secrets.derive('session-cookie').toString('base64url');
    this.setupCode = this.#needsSetup() ? newSetupCode() : null;
    this.#accountReads = createAccountReads(platform.store);
    const metrics = new Metrics();
    this.#authenticator = createAuthenticator({
      reader: platform.store,
      subscribe: (listener) => platform.store.subscribe(listener),
      actors: platform.actors,
      clock,
      log: logger,
      secret: this.#secret,
    });
    this.#audit = new Audit({
      causes: platform.causes,
      actors: platform.actors,
      reader: platform.store,
      clock,
      log: logger,
    });
    this.#callers = new Callers({
      authenticator: this.#authenticator,
      renewal: this.#authenticator,
      publicUrl: () => this.#publicUrl(),
      failures: new RateLimit({ burst: failedTokensPerMinute, windowMs: 60_000 }),
      onCaller: (principal) => {
        this.#audit.identify(principal);
      },
    });
    this.#oauth = serveOAuth({
      ...parts,
      callers: this.#callers,
      secret: this.#secret,
      publicUrl: () => this.#publicUrl().url,
      port: () => this.#port,
    });
    this.#graphql = this.#createGraphql();
    this.#graphqlStreams = new GraphqlStreams({ clock, logger });
    this.#sessions = this.#createSessions();
    this.#mcp = serveMcp({
      ...parts,
      authenticator: this.#authenticator,
      callers: this.#callers,
      graphql: this.#graphql,
      publicUrl: () => this.#publicUrl().url,
    });
    this.#gateway = this.#createGateway(metrics);
    metrics.register(() => [...this.#families(), ...this.#mcp.families()]);
    this.#gateway.onDrain(async () => {
      this.#graphqlStreams.drain();
      this.#mcp.drain();
      await this.#sessions.drain();
    });
  }

  #createGateway(metrics: Metrics): Gateway {
    const { config, logger, accessLines } = this.#parts;
    return createGateway({
      host: config.host,
      port: config.port,
      routes: auditedRoutes(this.#routes(metrics), this.#audit),
      logger,
      accessLines,
      limits: {
        headerBytes: config.maxHeaderKb * 1024,
        maxSockets: config.maxSockets,
        idleMs: config.bodyIdleSeconds * 1000,
        drainMs: config.drainSeconds * 1000,
      },
      trustedProxies: config.trustedProxies,
      metrics,
      logBare: config.logLevel === 'debug',
      setVariable,
    });
  }

  /** Where people reach the panel: known once it listens. */
  get publicUrl(): string {
    return this.#publicUrl().url;
  }

  async listen(): Promise<{ port: number }> {
    const { port } = await this.#gateway.listen();
    this.#port = port;
    return { port };
  }

  async start(): Promise<void> {
    await this.#parts.platform.start();
  }

  endOnSignals(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        this.#end(signal).catch((error: unknown) => {
          this.#parts.logger.fatal({ err: error }, 'shutdown_failed');
          this.#exit(1);
        });
      });
    }
  }

  async #end(signal: string): Promise<void> {
    const { logger, platform } = this.#parts;
    if (this.#ending) {
      this.#exit(1);
      return;
    }
    this.#ending = true;
    logger.info({ signal }, 'draining');
    await this.#gateway.drain();
    // It tells actors what was counted.
    await this.#mcp.close();
    await platform.drain();
    await this.#graphql.close();
    this.#authenticator.close();
    this.#oauth.close();
    await (await this.#accounts)?.close();
    await this.#gateway.close();
    await platform.close();
    logger.info({}, 'stopped');
    this.#exit(0);
  }

  #exit(code: number): void {
    this.#parts.logger.flush();
    process.exit(code);
  }

  #routes(metrics: Metrics): Route[] {
    return [
      ...transportRoutes({
        ...this.#parts,
        metrics,
        accounts: () => this.#loadAccounts(),
        accountReads: this.#accountReads,
        needsSetup: () => this.#needsSetup(),
        callers: this.#callers,
        graphql: this.#graphql,
        graphqlStreams: this.#graphqlStreams,
        sessions: this.#sessions,
        publicUrl: () => this.#publicUrl().url,
      }),
      ...this.#oauth.routes,
      ...this.#mcp.routes,
    ];
  }

  #families(): MetricFamily[] {
    const { actors, streams } = this.#parts.platform;
    const { actors: active, waiting } = actors.stats();
    const { channels, feeds, storageFailures } = streams.stats();
    const gauge = (name: string, help: string, value: number): MetricFamily =>
      singleSample(`gangway_${name}`, help, value);
    return [
      gauge('actors', 'Actors known, active or at rest.', active),
      gauge('mailbox_messages', 'Messages that wait for actors.', waiting),
      gauge('log_streams', 'Open log streams.', this.#sessions.size),
      gauge('mcp_streams', 'Open event streams of the MCP endpoint.', this.#mcp.size),
      gauge('graphql_streams', 'Open GraphQL subscriptions.', this.#graphqlStreams.size),
      gauge('live_logs', 'Logs with viewers or a feed.', channels),
      gauge('log_feeds', 'Workloads followed into logs.', feeds),
      gauge('log_storage_failures_total', 'Appends to logs that failed.', storageFailures),
    ];
  }

  #createGraphql(): Graphql {
    const { config, logger, platform } = this.#parts;
    const { store, actors } = platform;
    return createGraphql({
      reader: store,
      logs: openLogReader({ dir: platform.logsDir, reader: store }),
      accountReads: this.#accountReads,
      accounts: () => this.#loadAccounts(),
      actors,
      journal: store,
      streams: platform.streams,
      authenticator: this.#authenticator,
      audit: this.#audit,
      clock,
      logger,
      limits: { inlineCost: config.inlineQueryCost },
      settings: () => ({
        publicUrl: this.#publicUrl().url,
        appsDomain: config.appsDomain,
        edgePort: config.edgePort,
        logMaxDays: config.logMaxDays,
        server: { id: localServerId, name: 'local', runtime: 'process', version: null },
      }),
      pool: async (settings, limits) => {
        const { QueryPool } = await import('./workers/query-pool.ts');
        const reader = store.readerOptions();
        const setup = { reader, logsDir: platform.logsDir, settings, limits } satisfies QuerySetup;
        return new QueryPool({ threads: config.queryThreads, setup, clock, logger });
      },
    });
  }

  #createSessions(): StreamSessions {
    const { config, logger, platform } = this.#parts;
    const { store } = platform;
    const rights: ReadonlySet<string> = new Set(
      [
        tables.auth,
        tables.members,
        tables.roles,
        tables.apps,
        tables.teams,
        tables.folders,
        tables.folderGrants,
      ].map((one) => one.name),
    );
    return new StreamSessions({
      streams: platform.streams,
      logger,
      maxPerPerson: config.maxLogStreamsPerUser,
      stillAllowed: (person, appId) => {
        const app = store.get(tables.apps, appId);
        if (app === undefined || !this.#authenticator.stillValid(person)) return false;
        // Who follows an app that goes to trash sees its last lines, too.
        return can(store, person, 'view_logs', { kind: 'app', app, trashed: true });
      },
      onRightsChange: (callback) =>
        store.subscribe((entry) => {
          if (entry.changes.some((change) => rights.has(change.table))) callback();
        }),
    });
  }

  #loadAccounts(): Promise<Accounts> {
    return (this.#accounts ??= this.#createAccounts());
  }

  async #createAccounts(): Promise<Accounts> {
    const { logger, platform } = this.#parts;
    const { createAccounts } = await import('./auth/accounts.ts');
    return createAccounts({
      reader: platform.store,
      actors: platform.actors,
      clock,
      log: logger,
      secret: this.#secret,
      secrets: platform.secrets,
      resetsDir: join(this.#parts.config.dataDir, resetsFolder),
      setupCode: this.setupCode ?? newSetupCode(),
      publicUrl: this.#publicUrl().url,
      onRefused: this.#audit.signInRefused,
    });
  }

  #needsSetup(): boolean {
    const instance = this.#parts.platform.store.get(tables.instance, 'instance');
    return (instance?.setUpAtMs ?? null) === null;
  }

  #publicUrl(): PublicUrl {
    const { config, platform } = this.#parts;
    const stored = platform.store.get(tables.instance, 'instance')?.publicUrl ?? null;
    const url = stored ?? config.publicUrl;
    if (url !== null) return { url, configured: true };
    return { url: addressOf(config.host, this.#port), configured: false };
  }
}

function addressOf(host: string, port: number): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${String(port)}`;
}

/** The one line of a start, for people; on standard output, whatever the log level. */
function announce(config: Config, port: number, setupCode: string | null): void {
  const url = config.publicUrl ?? addressOf(config.host, port);
  const setup = setupCode === null ? '' : `; set it up at ${url}/setup?code=${setupCode}`;
  process.stdout.write(`Gangway serves on ${url}${setup}\n`);
}
