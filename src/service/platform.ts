/**
 * Owns everything below the gateway: store, actors, logs, driver; opened in order, closed in reverse.
 *
 * 1. Nothing acts before `start`: until then only reads and routes exist.
 * 2. `close` ends the actors, never the apps: what runs goes on without us.
 */
import { rm } from 'node:fs/promises';
import { accountActorDefinition } from '../actors/account/actor.ts';
import { activityActorDefinition } from '../actors/activity/actor.ts';
import { activityLog } from '../actors/activity/protocol.ts';
import { recordActivity } from '../actors/activity/record.ts';
import { appDefinition } from '../actors/app/app-actor.ts';
import { appDefaults } from '../actors/app/deps.ts';
import type { AppOptions } from '../actors/app/deps.ts';
import { storeReferences } from '../actors/app/settings/stored-references.ts';
import { AppWatch } from '../actors/app/running/watch.ts';
import { databaseDefinition } from '../actors/database/database-actor.ts';
import { BuildQueue } from '../actors/app/deploying/build-queue.ts';
import { edgeDefinition } from '../actors/edge/edge-actor.ts';
import { instanceActorDefinition } from '../actors/instance/actor.ts';
import { Causes } from '../actors/runtime/causes.ts';
import { UsageSampler } from '../metrics/sampler.ts';
import { ActorRuntime } from '../actors/runtime/runtime.ts';
import { serversDefinition } from '../actors/server/actor.ts';
import { ServerWatch } from '../actors/server/watch.ts';
import { logIndexActor, logIndexDefinition } from '../actors/log-index/actor.ts';
import { createLogStreams } from '../logs/live/log-streams.ts';
import type { LiveLogs } from '../logs/live/log-streams.ts';
import { PlaceWatch } from '../logs/live/place-watch.ts';
import { teamActorDefinition } from '../actors/team/actor.ts';
import { hostBuildEnv, isDefaultNodeImage } from '../config.ts';
import type { Config } from '../config.ts';
import { databaseDeps } from './database-deps.ts';
import { type DataFolders, dataFolders } from './data-folders.ts';
import type { Driver } from '../drivers/driver.ts';
import { prepareAppsRoot } from '../drivers/process/apps-root.ts';
import type { AppsRoot } from '../drivers/process/apps-root.ts';
import { createProcessDriver } from '../drivers/process/process-driver.ts';
import {
  prepareToolchain,
  readStaticServer,
  toolchainPaths,
} from '../drivers/process/toolchain.ts';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { chooseRuntime, logRuntime } from './runtime-choice.ts';
import type { Runtime, RuntimeChoice } from './runtime-choice.ts';
import { openLogWriter } from '../logs/files/writer.ts';
import { MetricsWriter } from '../metrics/metrics-files.ts';
import { openSecretBox } from '../store/secrets.ts';
import type { SecretBox } from '../store/secrets.ts';
import { openStore } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { tables } from '../store/records/tables.ts';
import { BulkPool } from '../archives/receiving/bulk-pool.ts';
import type { Extractor } from '../archives/extracting/extractor.ts';

const clock = systemClock;
const retentionEveryMs = 60_000;
const placeAnswerMs = 2_000;
const dayMs = 24 * 3_600_000;
/** Own uids for apps, above those that people and packages use. */
const appUids = { first: 200_000, last: 299_999 };

export interface Platform {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly actors: ActorRuntime;
  /** Whose request is under way. */
  readonly causes: Causes;
  readonly streams: LiveLogs;
  readonly driver: Driver;
  readonly bulk: BulkPool;
  readonly folders: DataFolders;
  readonly appsRoot: AppsRoot;
  /** Whether the place where things run gives an answer within two seconds. */
  placeAnswers(): Promise<boolean>;
  /** Tells alarms, watches the driver, and takes up what was under way. */
  start(): Promise<void>;
  /** Finishes what was accepted. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the data directory. Rejects with a StoreRefusal when it must not be opened. `onBroken`: its store
 * takes nothing any more, for good.
 */
export async function openPlatform(
  config: Config,
  logger: Logger,
  onBroken: (error: unknown) => void,
): Promise<Platform> {
  const { dataDir } = config;
  const store = await openStore({ dir: dataDir, logger, onBroken });
  try {
    const key = config.instanceKey === null ? {} : { key: config.instanceKey };
    const secrets = openSecretBox({ dir: dataDir, ...key });
    await storeReferences(store, secrets);
    const appsRoot = await prepareAppsRoot({ dataDir, logger });
    // What an earlier process was receiving when it died.
    await rm(dataFolders(dataDir).arrivingUploads, { recursive: true, force: true });
    const choice = await chooseRuntime({ config, reader: store });
    const driver = await driverOf(choice.runtime, config, secrets, logger);
    return new OpenPlatform({ config, logger, store, secrets, appsRoot, driver, choice });
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Parts {
  config: Config;
  logger: Logger;
  store: Store;
  secrets: SecretBox;
  appsRoot: AppsRoot;
  driver: Driver;
  choice: RuntimeChoice;
}

async function driverOf(
  runtime: Runtime,
  config: Config,
  secrets: SecretBox,
  logger: Logger,
): Promise<Driver> {
  const runnerKey = secrets.derive('runner');
  if (runtime === 'docker') {
    const { createDockerRuntime } = await import('./docker-runtime.ts');
    return createDockerRuntime({ config, runnerKey, clock, logger });
  }
  if (runtime === 'swarm') {
    const { createSwarmRuntime } = await import('./docker-runtime.ts');
    return createSwarmRuntime({ config, runnerKey, clock, logger });
  }
  const { dataDir, edgeHost: host, edgePort: port } = config;
  return createProcessDriver({ dataDir, edge: { host, port }, logger, runnerKey });
}

class OpenPlatform implements Platform {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly appsRoot: AppsRoot;
  readonly actors: ActorRuntime;
  readonly causes = new Causes();
  readonly streams: LiveLogs;
  readonly driver: Driver;
  readonly bulk: BulkPool;
  readonly folders: DataFolders;
  readonly #parts: Parts;
  readonly #writer;
  readonly #watch: AppWatch;
  readonly #place: PlaceWatch;
  readonly #servers: ServerWatch;
  readonly #sampler: UsageSampler;
  #cancelRetention: () => void = () => undefined;
  #toolsReady: Promise<unknown> | undefined;
  #asking: Promise<boolean> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { config, logger, store } = parts;
    this.#parts = parts;
    this.store = store;
    this.secrets = parts.secrets;
    this.appsRoot = parts.appsRoot;
    this.folders = dataFolders(config.dataDir);
    this.actors = new ActorRuntime({
      store,
      clock,
      logger,
      causes: this.causes,
      recordCause: recordActivity({
        reader: store,
        onMany: (teamId) => {
          this.actors.inside.tell(activityLog, { type: 'trim', teamId });
        },
      }),
    });
    this.#writer = openLogWriter({
      dir: this.folders.logs,
      reader: store,
      commitIndex: (changes) =>
        this.#closing === undefined
          ? this.actors.inside.ask(logIndexActor.at('segments'), { type: 'commit', changes })
          : // The files say the rest; the next start reads it from them.
            Promise.resolve(),
      logger,
    });
    this.streams = createLogStreams({ writer: this.#writer, logger });
    this.driver = parts.driver;
    this.bulk = new BulkPool({
      temporaryDir: this.folders.arrivingUploads,
      logger,
      clock,
      lanes: config.bulkThreads,
      extractors: config.bulkThreads,
    });
    this.#watch = new AppWatch({ driver: this.driver, actors: this.actors, reader: store, logger });
    const { driver, streams } = this;
    this.#place = new PlaceWatch({ driver, streams, reader: store, clock });
    this.#servers = new ServerWatch({
      driver: this.driver,
      actors: this.actors.inside,
      clock,
      logger,
    });
    const samples = new MetricsWriter(this.folders.metrics);
    this.#sampler = new UsageSampler({ driver: this.driver, writer: samples, clock, logger });
    this.#registerActors();
  }

  /** Who asks while somebody does is told the same. */
  placeAnswers(): Promise<boolean> {
    this.#asking ??= this.driver.answers(placeAnswerMs).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async start(): Promise<void> {
    const { logger, store, config, choice } = this.#parts;
    logRuntime(choice, config, logger);
    // What is started again, after a restore also, needs the tools.
    if (!isEmpty(store.scan(tables.apps))) await this.#tools();
    this.actors.start();
    this.actors.inside.tell(activityLog, { type: 'prune' });
    this.#servers.start();
    this.#place.start();
    await this.driver.open();
    await this.#watch.start();
    await this.#sampler.start();
    this.#retain();
    logger.info({ appsRoot: this.appsRoot.appsRoot }, 'platform_started');
  }

  async drain(): Promise<void> {
    await this.actors.drain();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#cancelRetention();
    this.#watch.close();
    this.#servers.close();
    this.#place.close();
    this.#sampler.close();
    await this.actors.close();
    await this.#writer.close();
    await this.bulk.close();
    await this.driver.close();
    await this.store.close();
  }

  #registerActors(): void {
    const { config, logger, store } = this.#parts;
    const { actors, driver, streams } = this;
    const options = appOptions(config, driver, this.appsRoot, this.folders.uploads);
    actors.register(logIndexDefinition);
    const { activityDays: days, activityMaxPerTeam: perTeamMax } = config;
    actors.register(activityActorDefinition({ reader: store, clock, days, perTeamMax }));
    actors.register(
      accountActorDefinition({ reader: store, clock, logMaxDays: config.logMaxDays }),
    );
    actors.register(teamActorDefinition({ reader: store, clock, secrets: this.secrets }));
    actors.register(instanceActorDefinition({ reader: store }));
    actors.register(serversDefinition({ reader: store, clock }));
    actors.register(
      edgeDefinition({ reader: store, driver, clock, logger, hostOf: options.hostOf }),
    );
    actors.register(
      appDefinition({
        reader: store,
        driver,
        streams,
        extractor: this.#extractor(),
        secrets: this.secrets,
        buildQueue: new BuildQueue({ concurrency: config.buildConcurrency, clock }),
        clock,
        logger,
        options,
      }),
    );
    const { secrets, appsRoot: place } = this;
    const node = async (): Promise<string> => {
      await this.#tools();
      return toolchainPaths(place.appsRoot).node;
    };
    const common = { reader: store, driver, streams, secrets, clock, logger };
    actors.register(databaseDefinition(databaseDeps({ ...common, config, place, node })));
  }

  /** Every release is extracted before anything of it runs: there the tools are made ready. */
  #extractor(): Extractor {
    return {
      extract: async (archive, format, into, options) => {
        await this.#tools();
        return await this.bulk.extract(archive, format, into, options);
      },
    };
  }

  async #tools(): Promise<void> {
    // Images bring their own.
    if (this.driver.runs === 'image') return;
    const { appsRoot } = this.appsRoot;
    this.#toolsReady ??= prepareToolchain({ appsRoot, logger: this.#parts.logger });
    try {
      await this.#toolsReady;
    } catch (error) {
      this.#toolsReady = undefined;
      throw error;
    }
  }

  #retain(): void {
    const { config, logger, store } = this.#parts;
    const days = store.get(tables.instance, 'instance')?.logMaxDays ?? config.logMaxDays;
    const limits = { maxAgeMs: days * dayMs, quotaBytes: config.logQuotaMb * 2 ** 20 };
    this.#writer
      .retain(limits)
      .catch((error: unknown) => {
        logger.error({ err: error }, 'log_retention_failed');
      })
      .finally(() => {
        this.#cancelRetention = clock.after(retentionEveryMs, () => {
          this.#retain();
        });
      });
  }
}

function isEmpty(records: Iterable<unknown>): boolean {
  return records[Symbol.iterator]().next().done === true;
}

function appOptions(
  config: Config,
  driver: Driver,
  { appsRoot, perAppUid }: AppsRoot,
  uploadsRoot: string,
): AppOptions {
  const tools = toolchainPaths(appsRoot);
  const hostOf = (slug: string): string => `${slug}.${config.appsDomain}`;
  return {
    ...appDefaults,
    appsRoot,
    uploadsRoot,
    // In containers they run as whom their image says.
    uids: perAppUid && driver.runs === 'host' ? appUids : null,
    toolchain: {
      path: [
        tools.binDir,
        '/usr/local/sbin',
        '/usr/local/bin',
        '/usr/sbin',
        '/usr/bin',
        '/sbin',
        '/bin',
      ],
      node: tools.node,
      staticServer: tools.staticServer,
      nodeVersion: process.versions.node,
    },
    containers: {
      images: {
        node: config.nodeImage,
        python: config.pythonImage,
        go: config.goImage,
        base: config.baseImage,
      },
      isDefaultNode: isDefaultNodeImage(config),
      staticServer: readStaticServer,
    },
    buildEnv: hostBuildEnv(),
    hostOf,
    urlOf: (slug) => `http://${hostOf(slug)}:${String(config.edgePort)}`,
    buildTimeoutMs: config.buildTimeoutMinutes * 60_000,
    healthTimeoutMs: config.healthTimeoutSeconds * 1000,
    drainMs: config.appDrainSeconds * 1000,
  };
}
