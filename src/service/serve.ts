/**
 * Owns a serving Gangway: its parts, and the order in which they end.
 *
 * On SIGTERM and SIGINT streams end, requests in flight finish, uploads are refused, and actors finish the
 * accepted work; apps stay up. A later signal ends the process at once. When the store is broken the
 * process ends with exit code 1, so that its supervisor starts it again.
 */
import { addressOf, type Config, type ResolvedConfig } from '../config.ts';
import { auditedRoutes } from '../gateway/audited.ts';
import type { LineSink } from '../gateway/access-log.ts';
import { type MetricFamily, singleSample } from '../gateway/metrics-text.ts';
import { Metrics } from '../gateway/metrics.ts';
import { trafficFamilies } from '../gateway/traffic-families.ts';
import type { Graphql } from '../graphql/graphql.ts';
import { systemClock } from '../lib/clock.ts';
import { collectWhenIdle } from './idle-collection.ts';
import type { Logger } from '../lib/log.ts';
import { LogSearches } from '../logs/search/log-searches.ts';
import { openFilesMax } from '../lib/open-files.ts';
import { serveFirst } from '../lib/processes/go-first.ts';
import { type LimitMemory, newLimitMemory, ThreadLimits } from '../threads/shared-limits.ts';
import { LastResort } from './uncaught-errors.ts';
import { localServerId } from '../places/local-place.ts';
import { openPlatform, type Platform } from './platform.ts';
import { Core } from './core.ts';
import { Front } from './front.ts';
import { serveGraphql } from './graphql.ts';
import { serveConsoles, type ServedConsoles } from './consoles.ts';
import { panelRoute } from './panel-route.ts';
import { PanelExposure, sharesSite } from './panel-exposure.ts';
import { repositoryLists } from '../actors/git/repository-lists.ts';
import { GithubConnects } from '../actors/git/github-connects.ts';
import { Home } from './home.ts';
import { LogOutput, newLogger, wantsAccessLines } from './log-output.ts';
import { instanceStatus } from './instance-status.ts';
import { stopOnSignals } from './signals.ts';
import { GatewayThreads } from './gateway-threads.ts';

/** How long the end may take after the time for requests in flight. */
const endMs = 20_000;

export async function serve({ config, unknownVariables }: ResolvedConfig): Promise<void> {
  const output = new LogOutput();
  const logger = newLogger(config, output);
  const writeLog: LineSink = (lines) => output.write(lines);
  // Files are for us alone; those that apps may reach get their modes explicitly.
  process.umask(0o077);
  for (const name of unknownVariables) logger.warn({ name }, 'unknown_variable');
  const broken = Promise.withResolvers<unknown>();
  const platform = await openPlatform(config, logger, broken.resolve);
  // From here on, `auto` is the runtime that was chosen.
  const settled: Config = {
    ...config,
    runtime: platform.driver.name === 'remote' ? 'process' : platform.driver.name,
    maxSockets: Math.min(config.maxSockets, socketsMax()),
  };
  const service = new Service({ config: settled, logger, output, writeLog, platform });
  // All that is started before is as anybody's: threads of the pool, and what V8 has.
  serveFirst();
  try {
    const { port } = await service.listen();
    const { maxSockets } = settled;
    // Before it listens, a start that cannot be says one line alone.
    if (maxSockets < config.maxSockets) logger.warn({ maxSockets }, 'sockets_limited');
    const panel = new URL(service.publicUrl).hostname;
    if (sharesSite(panel, config.appsDomain)) {
      // Apps could set cookies that the panel's own requests carry.
      logger.warn({ panel, appsDomain: config.appsDomain }, 'apps_share_the_panels_site');
    }
    if (config.edgePanel === 'on' && panelRoute(platform.store, config) === null) {
      const detail = 'The public URL has to be https, and of a host with a name.';
      logger.warn({ publicUrl: service.publicUrl, detail }, 'panel_not_at_edge');
    }
    // This comes before the announcement, because a reader of that may send signals.
    service.endOnSignals();
    void broken.promise.then((error) => service.endBroken(error));
    announce(config, port, service.setupCode);
    await platform.start();
    service.exposure.start();
  } catch (error) {
    if (service.isEnding) {
      // The end closed parts that were still starting, and so their start failed.
      logger.warn({ err: error }, 'start_cut_short');
      return;
    }
    // The process ends now.
    await service.abort();
    throw error;
  }
}

/** Any length will do: the timer only keeps the process alive. */
const heldMs = 60_000;

interface Parts {
  config: Config;
  logger: Logger;
  output: LogOutput;
  writeLog: LineSink;
  platform: Platform;
}

/** What serves: a front on this thread, or gateway threads. */
type Serving = Pick<Front, 'listen' | 'drain' | 'close' | 'abort'>;

class Service {
  readonly exposure: PanelExposure;
  readonly #parts: Parts;
  readonly #core: Core;
  readonly #home: Home;
  readonly #searches: LogSearches;
  readonly #graphql: Graphql;
  readonly #consoles: ServedConsoles;
  readonly #serving: Serving;
  readonly #lastResort: LastResort;
  #phase: 'up' | 'ending' | 'exiting' = 'up';

  constructor(parts: Parts) {
    const { config, platform, logger } = parts;
    const startedAtMs = systemClock.now();
    this.#parts = parts;
    this.#lastResort = new LastResort(logger);
    const metrics = new Metrics();
    metrics.register(() => this.#lastResort.families());
    metrics.register(() => platformFamilies(platform));
    metrics.registerRemote(async () => trafficFamilies(await platform.traffic()));
    const limits = config.gatewayThreads === 1 ? null : newLimitMemory();
    const shared = limits && { newLimit: new ThreadLimits(limits).newLimit };
    this.#core = new Core({ config, logger, ground: platform, ...shared });
    const { publicUrl } = this.#core;
    const { driver } = platform;
    const trustsProxies = config.trustedProxies.length > 0 || config.edgePanel === 'on';
    this.exposure = new PanelExposure({ driver, publicUrl, trustsProxies, logger });
    const { fetch, store: reader, actors } = platform;
    const { githubUrl } = config;
    const github = new GithubConnects({
      ...{ reader, actors, clock: systemClock, fetch, githubUrl, publicUrl },
    });
    const warnings = (): string[] =>
      [this.exposure, platform.isolation].flatMap((one) => one.warning() ?? []);
    this.#home = new Home({
      ...{ core: this.#core, metrics, fetch, warnings },
      github: { connects: github, connections: platform.github },
    });
    this.#consoles = serveConsoles(this.#core, platform);
    metrics.register(() => [consoleFamily(this.#consoles)]);
    this.#searches = new LogSearches({ dir: platform.folders.logs, clock: systemClock, logger });
    this.#graphql = serveGraphql(this.#core, {
      commands: this.#consoles.commands,
      repositories: repositoryLists({
        reader: platform.store,
        secrets: platform.secrets,
        fetch: platform.fetch,
        github: platform.github,
      }),
      searches: this.#searches,
      github,
      dns: platform.dns,
      instance: () =>
        instanceStatus({
          ...{ config, reader, startedAtMs, warnings },
          placeAnswers: () => platform.placeAnswers(localServerId),
        }),
      accounts: this.#home.accounts,
      queryThreads: config.queryThreads,
    });
    this.#serving = this.#newServing(metrics, limits);
  }

  /** `limits`: shared by several threads; null for one thread. */
  #newServing(metrics: Metrics, limits: LimitMemory | null): Serving {
    const { config, platform, logger, writeLog } = this.#parts;
    const core = this.#core;
    const graphql = this.#graphql;
    const { reads } = this.#home;
    const { consoles } = this.#consoles;
    const routes = auditedRoutes(this.#home.routes, core.audit);
    if (limits === null) {
      const accessLines = wantsAccessLines(config) ? writeLog : null;
      return new Front({ core, graphql, consoles, metrics, accessLines, routes, reads });
    }
    const onLost = (err: Error): void => {
      logger.fatal({ err }, 'gateway_thread_lost');
      void this.#exitNow();
    };
    const shared = { platform, graphql, consoles, routes, metrics, limits, reads };
    return new GatewayThreads({ ...shared, config, logger, writeLog, onLost });
  }

  get setupCode(): string | null {
    return this.#home.setupCode;
  }

  /** Whether the process is being ended. */
  get isEnding(): boolean {
    return this.#phase !== 'up';
  }

  /** The address where people reach the panel: known once it listens. */
  get publicUrl(): string {
    return this.#core.publicUrl();
  }

  async listen(): Promise<{ port: number }> {
    const { port } = await this.#serving.listen();
    this.#lastResort.listen();
    this.#core.port = port;
    this.#parts.platform.port = port;
    collectWhenIdle({ clock: systemClock });
    return { port };
  }

  /** Cuts all connections, so that the process may end. */
  abort(): Promise<void> {
    return this.#serving.abort();
  }

  endOnSignals(): void {
    stopOnSignals({
      drain: (signal) => this.#endOr(() => this.#end(signal)),
      endNow: () => void this.#exitNow(),
    });
  }

  /** Ends the process because nothing can be stored any more. */
  endBroken(error: unknown): void {
    this.#parts.logger.fatal({ err: error }, 'store_broken');
    this.#endOr(async () => {
      await this.#drain('store_broken');
      // The actors could store nothing, so they are not drained.
      await this.#exitNow();
    });
  }

  #endOr(end: () => Promise<void>): void {
    const { logger, config } = this.#parts;
    // Nothing that hangs, such as a runner or a daemon, may delay a restart.
    systemClock.after(config.drainSeconds * 1000 + endMs, () => {
      logger.fatal({}, 'shutdown_late');
      void this.#exitNow();
    });
    end().catch((error: unknown) => {
      // Another exit may be the cause of this failure.
      if (this.#phase === 'exiting') return;
      logger.fatal({ err: error }, 'shutdown_failed');
      void this.#exitNow();
    });
  }

  async #end(signal: string): Promise<void> {
    const { logger, platform } = this.#parts;
    await this.#drain(signal);
    await platform.drain();
    await this.#graphql.close();
    await this.#searches.close();
    this.#core.authenticator.close();
    await this.#home.close();
    await this.#serving.close();
    await platform.close();
    if (this.#phase !== 'exiting') logger.info({}, 'stopped');
    await this.#exit(0);
  }

  async #drain(why: string): Promise<void> {
    if (this.#phase === 'up') this.#phase = 'ending';
    // The timers of actors do not keep the process alive: without this it would end before their work is
    // done.
    setInterval(() => undefined, heldMs);
    this.#parts.logger.info({ why }, 'draining');
    this.#consoles.consoles.drain();
    await this.#serving.drain();
    // The last counts of reads go to an actor, so they are written before the actors end.
    await this.#home.reads.close();
  }

  async #exitNow(): Promise<void> {
    if (this.#phase === 'up') this.#phase = 'ending';
    await this.abort();
    await this.#exit(1);
  }

  /** The first call decides the code. */
  async #exit(code: number): Promise<void> {
    if (this.#phase === 'exiting') return;
    this.#phase = 'exiting';
    await this.#parts.output.end();
    process.exit(code);
  }
}

function consoleFamily({ consoles }: ServedConsoles): MetricFamily {
  return singleSample('gangway_consoles', 'Open consoles.', consoles.size);
}

function platformFamilies({ actors, streams }: Platform): MetricFamily[] {
  const { actors: active, waiting } = actors.stats();
  const { feeds, storageFailures } = streams.stats();
  const gauge = (name: string, help: string, value: number): MetricFamily =>
    singleSample(`gangway_${name}`, help, value);
  return [
    gauge('actors', 'Actors known, active or at rest.', active),
    gauge('mailbox_messages', 'Messages that wait for actors.', waiting),
    gauge('log_feeds', 'Workloads followed into logs.', feeds),
    gauge('log_storage_failures_total', 'Appends to logs that failed.', storageFailures),
  ];
}

/** The store, logs and uploads need files, too: who opens connections must leave them some. */
function socketsMax(): number {
  return Math.floor((openFilesMax() * 3) / 4);
}

/** The one line of a start, for people; on standard output, whatever the log level. */
function announce(config: Config, port: number, setupCode: string | null): void {
  const url = config.publicUrl ?? addressOf(config.host, port);
  const setup = setupCode === null ? '' : `; set it up at ${url}/setup?code=${setupCode}`;
  process.stdout.write(`Gangway serves on ${url}${setup}\n`);
}
