/**
 * Owns what a thread serves by itself: the gateway, and the transports that are fast or stay open.
 *
 * 1. The gateway listens before anything heavy is loaded; `/api/health` answers at once.
 * 2. `drain` ends streams, lets requests in flight finish and refuses uploads; `close` releases everything.
 */
import { openWebhookSecret } from '../actors/git/connection.ts';
import { activityLog } from '../actors/activity/protocol.ts';
import type { Principal } from '../auth/callers/principal.ts';
import { authorize, can } from '../auth/rights/authorize.ts';
import { ArtifactSender } from '../backups/sending/artifact-sender.ts';
import type { ConsoleDoor } from '../consoles/console-door.ts';
import { StreamSessions } from '../logs/viewers/sessions.ts';
import {
  type CloseOutcome,
  OwnStreamRoom,
  type SharedStreams,
  type StreamRoom,
} from '../logs/viewers/stream-room.ts';
import { setVariable } from '../config.ts';
import type { LineSink } from '../gateway/access-log.ts';
import { auditedRoutes } from '../gateway/audited.ts';
import type { Exchange, Route } from '../gateway/transport.ts';
import { type MetricFamily, singleSample } from '../gateway/metrics-text.ts';
import type { Metrics } from '../gateway/metrics.ts';
import type { SocketPlace } from '../gateway/listeners.ts';
import { Gateway, type SharedPort } from '../gateway/server.ts';
import { agentBootstrapRoutes } from '../gateway/transports/agent-bootstrap.ts';
import { agentScriptRoutes } from '../gateway/transports/agent-scripts.ts';
import { avatarRoute } from '../gateway/transports/avatar.ts';
import { attachRoutes } from '../gateway/transports/attach.ts';
import { backupDownloadRoutes } from '../gateway/transports/backup-download.ts';
import { dashboardRoutes } from '../gateway/transports/dashboard.ts';
import { deployHookRoutes } from '../gateway/transports/deploy-hook.ts';
import { gitPushRoutes } from '../gateway/transports/git-push.ts';
import { gitWebhookRoutes } from '../gateway/transports/git-webhooks.ts';
import { GraphqlSockets } from '../gateway/transports/graphql-sockets.ts';
import { GraphqlStreams, graphqlStreamsMax } from '../gateway/transports/graphql-streams.ts';
import { graphqlRoutes } from '../gateway/transports/graphql.ts';
import { healthRoute } from '../gateway/transports/health.ts';
import { logRoutes } from '../gateway/transports/logs.ts';
import { restoreUploadRoutes } from '../gateway/transports/restore-upload.ts';
import { sourceRoutes } from '../gateway/transports/source.ts';
import { takeoverRoutes } from '../gateway/transports/takeover.ts';
import { backupLimits, Transfers } from '../gateway/transports/transfers.ts';
import { uploadRoutes } from '../gateway/transports/upload.ts';
import { DeliveryReader } from '../git/deliveries/delivery-reader.ts';
import type { Graphql } from '../graphql/graphql.ts';
import { systemClock } from '../lib/clock.ts';
import { hasStrangers } from '../lib/processes/strangers.ts';
import { Avatars } from '../workers/avatars/avatars.ts';
import type { Tally } from '../lib/tally.ts';
import type { Config } from '../config.ts';
import type { Core } from './core.ts';
import { agentScripts } from './agent-scripts.ts';
import { Dashboard } from './dashboard.ts';
import { dataFolders } from './data-folders.ts';
import { proveKey } from '../backups/restores/recovery-key.ts';
import type { ReadCounter } from '../mcp/reads.ts';
import { panelSocketOf, preparePanelDir } from '../protocol/panel-sockets.ts';
import { type ServedMcp, serveMcp } from './mcp.ts';
import type { GitConnectionRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';
import manifest from '../../package.json' with { type: 'json' };

/** That have to be drawn, for one network. */
const avatarsPerMinute = 600;

export interface FrontOptions {
  core: Core;
  graphql: Graphql;
  metrics: Metrics;
  accessLines: LineSink | null;
  consoles: ConsoleDoor;
  /** The routes that other parts answer. Their changes are recorded in the activity already. */
  routes: readonly Route[];
  /** Counts reads over MCP. */
  reads: ReadCounter;
  /** Set when other threads serve on the same port. */
  shared?: SharedFront;
}

/** What the fronts of several threads share. */
export interface SharedFront {
  /** Which of the threads it is, from 0. */
  thread: number;
  port: SharedPort;
  logStreams: SharedStreams;
  graphqlStreams: StreamRoom;
  /** Calls, streams and transfers under way, by whose they are. */
  underWay: Tally;
}

export class Front {
  readonly #options: FrontOptions;
  readonly #gateway: Gateway;
  readonly #graphqlStreams: GraphqlStreams;
  readonly #graphqlSockets: GraphqlSockets;
  readonly #sessions: StreamSessions;
  readonly #mcp: ServedMcp;
  readonly #artifacts: ArtifactSender;
  readonly #avatars = new Avatars();
  readonly #dashboard: Dashboard;

  constructor(options: FrontOptions) {
    this.#options = options;
    const { core, graphql, metrics } = options;
    const { shared } = options;
    const { logger, callers, authenticator } = core;
    const room = shared?.graphqlStreams ?? new OwnStreamRoom(graphqlStreamsMax);
    const streams = { clock: systemClock, logger, room };
    this.#graphqlStreams = new GraphqlStreams(streams);
    this.#graphqlSockets = new GraphqlSockets({ ...streams, graphql, callers, authenticator });
    this.#sessions = newSessions(core, shared?.logStreams);
    this.#mcp = serveMcp(core, graphql, options.reads, shared?.underWay);
    this.#artifacts = new ArtifactSender({ logger: core.logger, clock: systemClock });
    const { dataDir } = core.config;
    this.#dashboard = new Dashboard({ logger: core.logger, dataDir });
    this.#gateway = this.#createGateway();
    metrics.register(() => [
      ...this.#families(),
      ...this.#graphqlSockets.families(),
      ...this.#mcp.families(),
    ]);
    this.#gateway.onDrain(async () => {
      this.#graphqlStreams.drain();
      this.#graphqlSockets.drain();
      this.#mcp.drain();
      await this.#sessions.drain();
    });
  }

  async listen(): Promise<{ port: number }> {
    const listening = await this.#gateway.listen();
    this.#dashboard.prepare();
    return listening;
  }

  async drain(): Promise<void> {
    await this.#gateway.drain();
    this.#dashboard.close();
    this.#mcp.close();
  }

  async close(): Promise<void> {
    await this.#gateway.close();
    await this.#artifacts.close();
    await this.#avatars.close();
  }

  /** Closes a log stream of this thread. */
  closeStream(sessionId: string, userId: string): CloseOutcome {
    return this.#sessions.close(sessionId, userId);
  }

  /** Cuts all connections. */
  abort(): Promise<void> {
    this.#dashboard.close();
    this.#gateway.abort();
    return Promise.resolve();
  }

  #createGateway(): Gateway {
    const { core, accessLines, metrics, routes, shared } = this.#options;
    const { config, logger } = core;
    return new Gateway({
      host: config.host,
      port: config.port,
      routes: [
        ...auditedRoutes([...this.#routes(), ...this.#agentRoutes()], core.audit),
        ...routes,
      ],
      webSockets: [this.#graphqlSockets.route],
      logger,
      accessLines,
      limits: {
        headerBytes: config.maxHeaderKb * 1024,
        maxSockets: config.maxSockets,
        answerMs: config.answerSeconds * 1000,
        idleMs: config.bodyIdleSeconds * 1000,
        drainMs: config.drainSeconds * 1000,
      },
      trustedProxies: config.trustedProxies,
      publicUrl: core.publicUrl,
      // Loopback gives a right only as long as nobody has set the instance up.
      ownerAlone: (port) => !core.needsSetup() || !hasStrangers(port),
      metrics,
      logConstant: config.logLevel === 'debug',
      setVariable,
      heldDir: dataFolders(config.dataDir).arrivingUploads,
      edgeSocket: config.edgePanel === 'on' ? edgeSocketOf(config, shared?.thread ?? 0) : null,
      shared: shared?.port ?? null,
      newLimit: core.newLimit,
    });
  }

  #routes(): Route[] {
    const { graphql, core, consoles } = this.#options;
    const { config, ground, callers, logger } = core;
    const { store: reader, actors, bulk } = ground;
    const transfers = new Transfers(this.#options.shared?.underWay);
    return [
      healthRoute,
      this.#avatarRoute(),
      ...this.#pages(),
      ...graphqlRoutes({ graphql, callers, streams: this.#graphqlStreams, logger }),
      ...deployHookRoutes({ reader, actors, callers, authorize }),
      ...this.#pushRoutes(transfers),
      ...this.#gitRoutes(),
      ...uploadRoutes({
        bulk,
        actors,
        reader,
        authenticate: (exchange) => callers.cookiePerson(exchange, { changes: true }),
        authorize,
        archiveBytes: config.maxUploadMb * 2 ** 20,
        transfers,
        logger,
      }),
      ...restoreUploadRoutes({
        bulk,
        actors,
        reader,
        authenticate: (exchange) => callers.cookiePerson(exchange, { changes: true }),
        authorize,
        can,
        proveKey,
        artifactBytes: config.maxRestoreMb * 2 ** 20,
        transfers,
        clock: systemClock,
        logger,
      }),
      ...sourceRoutes({
        bulk,
        uploadsRoot: ground.folders.uploads,
        transfers,
        reader,
        authenticate: (exchange) => callers.cookiePerson(exchange, { changes: false }),
        authorize,
        note: (exchange, principal) =>
          this.#noteRead(exchange, principal, 'read_source', exchange.param('id')),
      }),
      ...backupDownloadRoutes({
        artifacts: this.#artifacts,
        roots: config,
        secrets: ground.secrets,
        transfers: new Transfers(this.#options.shared?.underWay, backupLimits),
        reader,
        authenticate: (exchange) => callers.cookiePerson(exchange, { changes: false }),
        authorize,
        note: (exchange, principal) =>
          this.#noteRead(exchange, principal, 'download_backup', exchange.param('runId')),
      }),
      ...logRoutes({
        reader,
        sessions: this.#sessions,
        authenticate: (exchange) => callers.cookiePerson(exchange, { changes: false }),
        authorize,
        refuseCrossSite: callers.refuseCrossSite.bind(callers),
        logMaxDays: config.logMaxDays,
        placeAnswers: (serverId) => ground.placeAnswers(serverId),
      }),
      ...attachRoutes({ reader, consoles, callers, authorize }),
      ...this.#mcp.routes,
    ];
  }

  #avatarRoute(): Route {
    const { newLimit } = this.#options.core;
    const limit = newLimit('avatars', { burst: avatarsPerMinute, windowMs: 60_000 });
    return avatarRoute({ avatars: this.#avatars, limit });
  }

  #pages(): Route[] {
    const { config, callers, needsSetup } = this.#options.core;
    const formTargets = [new URL(config.githubUrl).origin];
    return dashboardRoutes({ builds: this.#dashboard, callers, needsSetup, formTargets });
  }

  #pushRoutes(transfers: Transfers): Route[] {
    const { callers, ground, logger } = this.#options.core;
    const { store: reader, actors, bulk, folders, streams } = ground;
    return gitPushRoutes({
      ...{ reader, actors, callers, authorize, bulk, transfers, logger },
      pushesRoot: folders.pushes,
      logs: streams.reader,
      clock: systemClock,
    });
  }

  #gitRoutes(): Route[] {
    const { store: reader, actors, secrets } = this.#options.core.ground;
    const secretOf = (connection: Readonly<GitConnectionRecord>): string | null =>
      openWebhookSecret(secrets, connection);
    return gitWebhookRoutes({ reader, actors, deliveries: new DeliveryReader(), secretOf });
  }

  #agentRoutes(): Route[] {
    const { callers, ground, config, publicUrl } = this.#options.core;
    const { store: reader, actors } = ground;
    const common = { reader, actors, callers, clock: systemClock };
    const control = () => ({
      host: new URL(publicUrl()).hostname.replace(/^\[|\]$/g, ''),
      port: config.agentPort,
    });
    return [
      ...agentBootstrapRoutes({ ...common, version: manifest.version, control }),
      ...takeoverRoutes(common),
      ...agentScriptRoutes(agentScripts()),
    ];
  }

  /** Resolves when the activity holds that this request reads what the target is. */
  #noteRead(
    exchange: Exchange,
    principal: Principal,
    action: string,
    targetId: string,
  ): Promise<unknown> {
    const { audit, ground } = this.#options.core;
    const caller = { principal, address: exchange.address, targetId };
    const userAgent = exchange.header('user-agent');
    return audit.during({ action, ...caller, userAgent, always: true }, () =>
      ground.actors.ask(activityLog, { type: 'note' }),
    );
  }

  #families(): MetricFamily[] {
    const gauge = (name: string, help: string, value: number): MetricFamily =>
      singleSample(`gangway_${name}`, help, value);
    const { channels } = this.#options.core.ground.streams.stats();
    return [
      gauge('log_streams', 'Open log streams.', this.#sessions.size),
      gauge('mcp_streams', 'Open event streams of the MCP endpoint.', this.#mcp.size),
      gauge('graphql_streams', 'Open GraphQL subscriptions.', this.#graphqlStreams.size),
      gauge('live_logs', 'Logs with viewers.', channels),
      gauge(
        'graphql_compiled_faults_total',
        'Compiled queries that failed otherwise than they may; graphql-js answered.',
        this.#options.graphql.compiledFaults,
      ),
    ];
  }
}

/** Where the edge brings visitors to a thread. */
function edgeSocketOf({ dataDir }: Config, thread: number): SocketPlace {
  return { dir: preparePanelDir(dataDir), name: panelSocketOf(thread) };
}

function newSessions(
  { config, logger, ground, authenticator, onRightsChange }: Core,
  shared: SharedStreams | undefined,
): StreamSessions {
  const { store, streams } = ground;
  return new StreamSessions({
    streams,
    logger,
    maxPerPerson: config.maxLogStreamsPerUser,
    ...(shared && { shared }),
    stillAllowed: (person, id) => {
      if (!authenticator.stillValid(person)) return false;
      // A viewer of an app that is moved to trash sees its last lines, too.
      const app = store.get(tables.apps, id);
      if (app !== undefined) {
        return can(store, person, 'view_logs', { kind: 'app', app, trashed: true });
      }
      const database = store.get(tables.databases, id);
      if (database === undefined) return false;
      return can(store, person, 'view_logs', { kind: 'database', database, trashed: true });
    },
    onRightsChange,
  });
}
