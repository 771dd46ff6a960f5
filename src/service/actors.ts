/** Owns the list of actors, and what each of them is given. */
import { join } from 'node:path';
import { accountActorDefinition } from '../actors/account/actor.ts';
import { activityActorDefinition } from '../actors/activity/actor.ts';
import { appDefinition } from '../actors/app/app-actor.ts';
import { lookupsDefinition } from '../actors/lookups/actor.ts';
import { type AppDeps, appDefaults, type GitDeps } from '../actors/app/deps.ts';
import { remoteOf } from '../actors/app/build/remote.ts';
import { backupsDefinition } from '../actors/backup/backups-actor.ts';
import type { BackupDeps } from '../actors/backup/deps.ts';
import { sourceOf } from '../actors/backup/sources.ts';
import { BuildQueue } from '../actors/app/deploying/build-queue.ts';
import { databaseDefinition } from '../actors/database/database-actor.ts';
import { type DatabaseDeps, databaseDefaults } from '../actors/database/deps.ts';
import { engines } from '../actors/database/engines/engines.ts';
import { destinationActorDefinition } from '../actors/destination/actor.ts';
import { certificatesDefinition } from '../actors/certificates/actor.ts';
import { domainsDefinition } from '../actors/domains/actor.ts';
import type { DnsLooks } from '../actors/domains/dns-looks.ts';
import { urlsOf } from '../actors/edge/app-urls.ts';
import { hasAppsCertificate } from '../actors/edge/apps-certificate.ts';
import { edgeDefinition } from '../actors/edge/edge-actor.ts';
import { gitDefinition } from '../actors/git/actor.ts';
import { mayPush } from '../actors/git/collaborators.ts';
import { CommitStatuses } from '../actors/git/commit-statuses.ts';
import type { GithubConnections } from '../actors/git/github-connections.ts';
import { instanceActorDefinition } from '../actors/instance/actor.ts';
import { pushDefinition } from '../actors/push/actor.ts';
import type { RestoreDeps } from '../actors/restore/deps.ts';
import type { ActorRuntime } from '../actors/runtime/runtime.ts';
import { serversDefinition } from '../actors/server/actor.ts';
import { teamActorDefinition } from '../actors/team/actor.ts';
import type { DepsAt } from '../actors/workload/core.ts';
import type { WorkloadDeps } from '../actors/workload/deps.ts';
import type { AgentAuthority } from '../agents/authority.ts';
import { type Config, isDefaultNodeImage } from '../config.ts';
import type { Driver } from '../drivers/driver.ts';
import type { AppsRoot } from '../drivers/process/apps-root.ts';
import { readStaticServer } from '../drivers/process/toolchain.ts';
import type { Clock } from '../lib/clock.ts';
import { GitFetch } from '../git/fetching/fetch.ts';
import { remoteFlaw } from '../git/fetching/remote-flaw.ts';
import { GitPushes } from '../git/pushes/pushes.ts';
import { Repositories } from '../git/repositories/repository.ts';
import { webhookKeyPurpose } from '../git/deliveries/webhook-token.ts';
import type { GuardedFetch } from '../lib/guarded-fetch.ts';
import type { Logger } from '../lib/log.ts';
import type { EdgeRoute } from '../protocol/workload.ts';
import { gitUids } from '../lib/processes/program-uids.ts';
import type { Place } from '../places/place.ts';
import type { LiveLogs } from '../logs/live/live-logs.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { AppRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';
import type { SecretBox } from '../store/secrets.ts';
import { acmeSettings, appsWildcard } from './acme-settings.ts';
import type { DataFolders } from './data-folders.ts';
import { ownHosts } from './own-hosts.ts';
import { panelRoute } from './panel-route.ts';
import { restoreDeps } from './restores.ts';

/** What actors may be given. */
export interface ActorParts {
  config: Config;
  reader: Reader;
  clock: Clock;
  logger: Logger;
  driver: Driver;
  /** Runs programs of this machine for the service itself. */
  host: Pick<Driver, 'start' | 'pipe' | 'remove'>;
  streams: LiveLogs;
  secrets: SecretBox;
  /** Where what has this server runs. */
  placeOf: (serverId: string) => Place;
  folders: DataFolders;
  appsRoot: AppsRoot;
  authority: AgentAuthority;
  backups: Omit<BackupDeps, 'sourceOf'>;
  /** The way to addresses that callers name. */
  fetch: GuardedFetch;
  github: GithubConnections;
  dns: DnsLooks;
}

export function registerActors(actors: Pick<ActorRuntime, 'register'>, parts: ActorParts): void {
  const { activityDays: days, activityMaxPerTeam: perTeamMax, logMaxDays } = parts.config;
  actors.register(activityActorDefinition({ ...parts, days, perTeamMax }));
  actors.register(accountActorDefinition({ ...parts, logMaxDays }));
  actors.register(teamActorDefinition(parts));
  actors.register(instanceActorDefinition(parts));
  actors.register(lookupsDefinition(parts));
  actors.register(serversDefinition(parts));
  const hostOf = hostNameOf(parts.config);
  const acme = acmeSettings(parts.config);
  const acmeDirectory = acme?.directory ?? null;
  const ofApps = { appsWildcard: appsWildcard(parts.config) };
  const panel = (): EdgeRoute | null => panelRoute(parts.reader, parts.config);
  actors.register(
    edgeDefinition({ ...parts, ...ofApps, panelRoute: panel, hostOf, acmeDirectory }),
  );
  const issues = acme !== null && parts.config.edgeTlsPort !== null;
  actors.register(
    domainsDefinition({
      ...{ ...parts, hostOf, verifiedStatus: () => (issues ? 'issuing' : 'active') },
      ownHosts: () => ownHosts(parts.reader, parts.config),
    }),
  );
  const panelHost = (): string | null => panel()?.host ?? null;
  actors.register(certificatesDefinition({ ...parts, ...ofApps, panelHost, acme }));
  const sources = { ...parts, uploadsRoot: parts.folders.uploads };
  const restores = restoreDeps(parts, sources);
  const { deps: git, pushes } = gitParts(parts);
  actors.register(appDefinition(appDeps(parts, restores, git)));
  actors.register(pushDefinition({ ...parts, pushes, pushesRoot: parts.folders.pushes }));
  actors.register(databaseDefinition(databaseDeps(parts, restores)));
  const webhookKey = parts.secrets.derive(webhookKeyPurpose).toString('hex');
  actors.register(gitDefinition({ ...parts, webhookKey }));
  actors.register(destinationActorDefinition({ ...parts, roots: parts.config }));
  const own = { dataDir: parts.config.dataDir, snapshots: parts.folders.snapshots };
  actors.register(
    backupsDefinition({
      ...parts.backups,
      sourceOf: (target, options) => sourceOf({ ...sources, ...own }, target, options),
    }),
  );
}

/** More than have ever waited at a time. */
const queuedMax = 1_000_000;

function appDeps(parts: ActorParts, restores: RestoreDeps, git: GitDeps): DepsAt<AppDeps> {
  const { config, reader, streams, secrets, clock, logger } = parts;
  const hostOf = hostNameOf(config);
  const common: Omit<AppDeps, 'place' | 'driver'> = {
    ...{ reader, streams, secrets, clock, logger },
    restores,
    git,
    buildQueue: new BuildQueue({
      concurrency: config.buildConcurrency,
      clock,
      queued: reader.list(tables.deployments, 'queueOrder', [], { limit: queuedMax }),
    }),
    options: {
      ...appDefaults,
      uploadsRoot: parts.folders.uploads,
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
      hostOf,
      isPanelHost: (host) => host === ownHosts(reader, config).panel,
      urlOf: (app) => urlOf(app, config, reader),
      buildTimeoutMs: config.buildTimeoutMinutes * 60_000,
      healthTimeoutMs: config.healthTimeoutSeconds * 1000,
      drainMs: config.appDrainSeconds * 1000,
    },
  };
  return atPlaces(parts.placeOf, common);
}

/** What actors are given, with the place of a server: the same object for the same place. */
function atPlaces<D extends WorkloadDeps>(
  placeOf: ActorParts['placeOf'],
  common: Omit<D, 'place' | 'driver'>,
): DepsAt<D> {
  const known = new WeakMap<Place, D>();
  return (serverId) => {
    const place = placeOf(serverId);
    const deps = known.get(place) ?? ({ ...common, place, driver: place.driver } as D);
    known.set(place, deps);
    return deps;
  };
}

interface GitParts {
  deps: GitDeps;
  pushes: GitPushes;
}

function gitParts(parts: ActorParts): GitParts {
  const { appsRoot, host: driver, fetch: http, logger, reader, secrets, github } = parts;
  const uids = appsRoot.perAppUid ? gitUids : null;
  const within = (folder: string): Repositories =>
    new Repositories({ root: join(appsRoot.appsRoot, folder), driver, uids, logger });
  const pushed = within('git-pushed');
  const git = new GitFetch({ http, repositories: within('git'), pushed, logger });
  const pushes = new GitPushes(pushed);
  const statuses = new CommitStatuses(parts);
  const deps: GitDeps = {
    fetch: async (request) => {
      try {
        return await git.fetch(request);
      } catch (error) {
        // Its token may have been revoked.
        if (request.connectionId !== null) github.forget(request.connectionId);
        throw error;
      }
    },
    pushed: (request) => git.pushed(request),
    forget: (appId) => pushes.forget(appId),
    remoteOf: (app) => remoteOf({ reader, secrets, github }, app),
    flawOf: (url) => remoteFlaw(url, http),
    mayPush: (preview) => mayPush(parts, preview),
    tellStatus: (app, deployment) => statuses.tell(app, deployment),
  };
  return { deps, pushes };
}

/** What people are told of an app. */
function urlOf(app: Readonly<AppRecord>, config: Config, reader: Reader): string {
  const isSecure = hasAppsCertificate(reader, appsWildcard(config));
  return urlsOf(app, { ...config, hasAppsCertificate: isSecure })[0];
}

/** The host name that the edge routes to an app. */
function hostNameOf({ appsDomain }: Pick<Config, 'appsDomain'>): (slug: string) => string {
  return (slug) => `${slug}.${appsDomain}`;
}

function databaseDeps(parts: ActorParts, restores: RestoreDeps): DepsAt<DatabaseDeps> {
  const { config, reader, streams, secrets, clock, logger } = parts;
  return atPlaces<DatabaseDeps>(parts.placeOf, {
    ...{ reader, streams, secrets, clock, logger },
    engines,
    restores,
    options: {
      ...databaseDefaults,
      images: config.databaseImages,
      healthTimeoutMs: config.healthTimeoutSeconds * 1000,
    },
  });
}
