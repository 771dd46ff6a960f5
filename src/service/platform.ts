/**
 * Owns everything below the gateway: store, actors, logs, driver. These parts are opened in order and
 * closed in reverse.
 *
 * 1. Nothing acts before `start`: until then only reads and routes exist.
 * 2. `close` ends the actors, never the apps: running apps continue without Gangway.
 */
import { rm } from 'node:fs/promises';
import { activityLog } from '../actors/activity/protocol.ts';
import { recordActivity } from '../actors/activity/record.ts';
import { certificatesActor } from '../actors/certificates/protocol.ts';
import { storeReferences } from '../actors/app/settings/stored-references.ts';
import type { DnsLooks } from '../actors/domains/dns-looks.ts';
import { wakeDomains } from '../actors/domains/wake.ts';
import { Leftovers } from '../actors/destination/leftovers.ts';
import { GithubConnections } from '../actors/git/github-connections.ts';
import { wakePreviews } from '../actors/app/previews/wake.ts';
import { wakeDeliveries } from '../actors/git/wake.ts';
import { wakeRestores } from '../actors/restore/wake.ts';
import { Causes } from '../actors/runtime/causes.ts';
import { type TrafficSample, trafficSamples } from '../metrics/traffic-samples.ts';
import { type MetricsSample, usageSamples } from '../metrics/usage-samples.ts';
import { ActorRuntime } from '../actors/runtime/runtime.ts';
import manifest from '../../package.json' with { type: 'json' };
import { AgentAuthority } from '../agents/authority.ts';
import { IsolationWatch } from '../actors/server/isolation-watch.ts';
import { serversActor } from '../actors/server/protocol.ts';
import { ServerWatch } from '../actors/server/watch.ts';
import { LiveLogs } from '../logs/live/live-logs.ts';
import { type Config, hostBuildEnv } from '../config.ts';
import { registerActors } from './actors.ts';
import { ServedAgents } from './agents.ts';
import { AppWays } from './app-ways.ts';
import { BackupParts } from './backup-parts.ts';
import { dnsLooks } from './own-hosts.ts';
import type { LocalDrivers } from './docker-runtime.ts';
import { edgeSettings } from './edge-settings.ts';
import { PlaceWatches } from './place-watches.ts';
import { localPlace } from '../places/local-place.ts';
import type { Machine, Place } from '../places/place.ts';
import { Places } from '../places/places.ts';
import { remotePlace } from '../places/remote-place.ts';
import { thisMachine } from '../places/this-machine.ts';
import { unreachedPlace } from '../places/unreached-place.ts';
import { preparePanelDir } from '../protocol/panel-sockets.ts';
import { type AppTraffic, sumOfTraffic } from '../protocol/traffic.ts';
import { type DataFolders, dataFolders } from './data-folders.ts';
import type { Driver } from '../drivers/driver.ts';
import { type AppsRoot, prepareAppsRoot } from '../drivers/process/apps-root.ts';
import { reasonAgainstIsolation } from '../drivers/process/isolating.ts';
import { createProcessDriver } from '../drivers/process/process-driver.ts';
import { prepareToolchain } from '../drivers/process/toolchain.ts';
import { createRemoteDriver } from '../drivers/remote/remote-driver.ts';
import { AddressPolicy } from '../lib/address-policy.ts';
import { systemClock } from '../lib/clock.ts';
import { GuardedFetch } from '../lib/guarded-fetch.ts';
import type { Logger } from '../lib/log.ts';
import {
  chooseRuntime,
  holdsAny,
  logRuntime,
  type Runtime,
  type RuntimeChoice,
} from './runtime-choice.ts';
import { LogWriter } from '../logs/files/writer.ts';
import { MetricsWriter } from '../metrics/metrics-files.ts';
import { leftSnapshots } from '../backups/sources/instance-source.ts';
import { openSecretBox, type SecretBox } from '../store/secrets.ts';
import { openStore, type Store } from '../store/store.ts';
import { tables } from '../store/records/tables.ts';
import { BulkPool } from '../archives/receiving/bulk-pool.ts';

const clock = systemClock;
const retentionEveryMs = 60_000;
const placeAnswerMs = 2_000;
const dayMs = 24 * 3_600_000;

/**
 * Opens the data directory. Rejects with a StoreRefusal when it must not be opened. `onBroken` is called
 * when its store can take no more commits.
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
    // An earlier process died while it received these.
    const { arrivingUploads, restores, pushes } = dataFolders(dataDir);
    for (const dir of [arrivingUploads, restores, pushes])
      await rm(dir, { recursive: true, force: true });
    const choice = await chooseRuntime({ config, reader: store });
    const drivers = await driversOf(choice.runtime, config, secrets, logger);
    return new Platform({ config, logger, store, secrets, appsRoot, choice, ...drivers });
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Parts extends LocalDrivers {
  config: Config;
  logger: Logger;
  store: Store;
  secrets: SecretBox;
  appsRoot: AppsRoot;
  choice: RuntimeChoice;
}

async function driversOf(
  runtime: Runtime,
  config: Config,
  secrets: SecretBox,
  logger: Logger,
): Promise<LocalDrivers> {
  const runnerKey = secrets.derive('runner');
  if (runtime === 'docker') {
    const { createDockerRuntime } = await import('./docker-runtime.ts');
    return createDockerRuntime({ config, runnerKey, clock, logger });
  }
  if (runtime === 'swarm') {
    const { createSwarmRuntime } = await import('./docker-runtime.ts');
    return createSwarmRuntime({ config, runnerKey, clock, logger });
  }
  const { dataDir, isolationWithout: without } = config;
  const edge = edgeSettings(config);
  const driver = createProcessDriver({ dataDir, edge, logger, runnerKey, without });
  return { driver, host: driver };
}

export class Platform {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly appsRoot: AppsRoot;
  readonly actors: ActorRuntime;
  /** The causes of the requests under way. */
  readonly causes = new Causes();
  readonly streams: LiveLogs;
  readonly places: Places;
  /** That of this machine. */
  readonly driver: Driver;
  /** Who speaks for other servers. */
  readonly agentAuthority: AgentAuthority;
  /** Those that are connected. */
  readonly agents: ServedAgents;
  readonly isolation: IsolationWatch;
  readonly bulk: BulkPool;
  /** The way to addresses that callers name. */
  readonly fetch: GuardedFetch;
  readonly github: GithubConnections;
  readonly dns: DnsLooks;
  /** The gateway's. Until it listens, this is the configured one. */
  port: number;
  readonly folders: DataFolders;
  readonly #parts: Parts;
  readonly #writer;
  readonly #watches = new Map<Place, PlaceWatches>();
  readonly #usage: MetricsWriter<MetricsSample>;
  readonly #visits: MetricsWriter<TrafficSample>;
  readonly #ways: AppWays;
  readonly #servers: ServerWatch;
  readonly #leftovers: Leftovers;
  readonly #backups: BackupParts;
  #cancelRetention: () => void = () => undefined;
  #toolsReady: Promise<unknown> | undefined;
  readonly #asking = new Map<string, Promise<boolean>>();
  #unfollow: () => void = () => undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { config, logger, store } = parts;
    this.#parts = parts;
    this.store = store;
    this.secrets = parts.secrets;
    this.appsRoot = parts.appsRoot;
    this.folders = dataFolders(config.dataDir);
    this.port = config.port;
    const { privateNetworks, edgePort, edgeTlsPort, agentPort } = config;
    const ownPorts = (): number[] => [this.port, edgePort, edgeTlsPort ?? edgePort, agentPort];
    this.fetch = new GuardedFetch({ policy: new AddressPolicy({ privateNetworks, ownPorts }) });
    this.actors = new ActorRuntime({
      store,
      clock,
      logger,
      causes: this.causes,
      recordCause: recordActivity({
        reader: store,
        onMany: (teamId) => this.actors.inside.tell(activityLog, { type: 'trim', teamId }),
      }),
    });
    this.#writer = new LogWriter({ dir: this.folders.logs, logger });
    this.streams = new LiveLogs({ writer: this.#writer, logger });
    this.driver = parts.driver;
    this.agentAuthority = new AgentAuthority({ reader: store, secrets: parts.secrets, clock });
    this.agents = new ServedAgents({
      ...{ config, store, clock, logger, actors: this.actors.inside },
      ...{ authority: this.agentAuthority, version: manifest.version },
    });
    this.bulk = new BulkPool({
      temporaryDir: this.folders.arrivingUploads,
      logger,
      clock,
      lanes: config.bulkThreads,
      extractors: config.bulkThreads,
    });
    const { actors, driver, streams } = this;
    const watching = { driver, actors: actors.inside, logger };
    this.#servers = new ServerWatch({ ...watching, clock });
    this.isolation = new IsolationWatch({ ...watching, unfit: reasonAgainstIsolation() });
    this.#usage = new MetricsWriter(usageSamples, this.folders.metrics);
    this.#visits = new MetricsWriter(trafficSamples, this.folders.metrics);
    const { secrets, fetch } = this;
    const common = { config, reader: store, clock, logger, secrets, fetch };
    this.github = new GithubConnections(common);
    this.#backups = new BackupParts(common);
    const { writing } = this.#backups;
    this.#leftovers = new Leftovers({
      ...{ reader: store, logger, secrets, fetch, writing, roots: config },
    });
    this.dns = dnsLooks(store, config, clock);
    const { appsRoot, github, dns, folders } = this;
    this.places = new Places({
      here: localPlace(driver, this.#machine(), parts.host),
      placeAt: (serverId) => this.#placeAt(serverId),
      store,
    });
    const placeOf = (serverId: string): Place => this.places.of(serverId);
    const dir = (): string => preparePanelDir(config.dataDir);
    this.#ways = new AppWays({ store, placeOf, dir, logger });
    registerActors(actors, {
      ...{ config, clock, logger, driver, host: parts.host, streams, reader: store },
      ...{ secrets, fetch, github, dns, folders, appsRoot, authority: this.agentAuthority },
      backups: this.#backups.deps,
      placeOf,
    });
  }

  #machine(): Machine {
    const { appsRoot, driver, bulk } = this;
    return thisMachine({
      ...{ appsRoot, runs: driver.runs, extractor: bulk, logger: this.#parts.logger },
      ...{ prepareTools: () => this.#tools(), buildEnv: hostBuildEnv() },
    });
  }

  /** Whether a server's place answers within two seconds. Concurrent calls share a question. */
  placeAnswers(serverId: string): Promise<boolean> {
    const known = this.#asking.get(serverId);
    if (known !== undefined) return known;
    const { driver } = this.places.of(serverId);
    const asking = driver.answers(placeAnswerMs).finally(() => this.#asking.delete(serverId));
    this.#asking.set(serverId, asking);
    return asking;
  }

  /** By app, what visitors asked of all edges. Never rejects. */
  async traffic(): Promise<ReadonlyMap<string, AppTraffic>> {
    const watches = [...this.#watches.values()];
    return sumOfTraffic(await Promise.all(watches.map((one) => one.traffic())));
  }

  /** Starts alarms, watches the driver, and resumes what was under way. */
  async start(): Promise<void> {
    const { logger, store, config, choice } = this.#parts;
    logRuntime(choice, config, logger);
    // Apps that are started again, even after a restore, need the tools.
    if (holdsAny(store, tables.apps)) await this.#tools();
    this.actors.start();
    this.actors.inside.tell(activityLog, { type: 'prune' });
    this.actors.inside.tell(serversActor.at('all'), { type: 'agents-away' });
    this.agents.start();
    this.#servers.start();
    await this.#watch(this.places.here).start();
    this.places.start();
    await this.#ways.start();
    this.#unfollow = this.places.each((place) => this.#follow(place));
    this.isolation.start();
    void this.#leftovers.remove();
    this.actors.inside.tell(certificatesActor, { type: 'sweep' });
    await this.#removeSnapshots();
    this.#backups.start(this.actors.inside);
    wakeRestores(store, this.actors.inside);
    wakeDeliveries(store, this.actors.inside);
    wakePreviews(store, this.actors.inside);
    wakeDomains(this.actors.inside);
    this.#retain();
    logger.info({ appsRoot: this.appsRoot.appsRoot }, 'platform_started');
  }

  #watch(place: Place): PlaceWatches {
    const { actors, streams, store } = this;
    const watches = new PlaceWatches({
      ...{ place, actors, streams, store, clock, logger: this.#parts.logger },
      ...{ usage: this.#usage, visits: this.#visits },
    });
    this.#watches.set(place, watches);
    return watches;
  }

  #placeAt(serverId: string): Place {
    if (this.store.get(tables.servers, serverId)?.agent === undefined) {
      return unreachedPlace(serverId);
    }
    const { logger } = this.#parts;
    const link = this.agents.links.of(serverId);
    // Whoever looks at the place knows itself what it is believed.
    const driver = createRemoteDriver({ link, logger, clock, isOwn: () => true });
    return remotePlace({ link, driver, clock });
  }

  /** Watches another server, as long as it is known. Returns what ends that. */
  #follow(place: Place): () => void {
    if (place === this.places.here) return () => undefined;
    const watches = this.#watch(place);
    watches.start().catch((err: unknown) => {
      this.#parts.logger.error({ err, server: place.serverId }, 'place_not_watched');
    });
    return () => {
      this.#watches.delete(place);
      watches.close();
    };
  }

  /** Those that an earlier process left. Resolves when none that is made from now on is among them. */
  async #removeSnapshots(): Promise<void> {
    const remove = await leftSnapshots(this.folders.snapshots);
    remove().catch((err: unknown) => this.#parts.logger.warn({ err }, 'snapshot_not_removed'));
  }

  /** Finishes the accepted work. */
  async drain(): Promise<void> {
    await this.actors.drain();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#cancelRetention();
    this.#unfollow();
    this.#ways.close();
    for (const one of this.#watches.values()) one.close();
    this.#servers.close();
    this.isolation.close();
    this.#leftovers.close();
    await this.agents.close();
    await this.actors.close();
    await this.#backups.close();
    await this.agentAuthority.close();
    await this.#writer.close();
    await this.bulk.close();
    await this.places.close();
    await this.driver.close();
    await this.store.close();
  }

  async #tools(): Promise<void> {
    // Images contain their own tools.
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
      .catch((error: unknown) => logger.error({ err: error }, 'log_retention_failed'))
      .finally(() => {
        this.#cancelRetention = clock.after(retentionEveryMs, () => this.#retain());
      });
  }
}
