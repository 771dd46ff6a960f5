/**
 * Owns the state of one app while its actor is active: the record, its open deployments, and what
 * lives in memory only (an upload's reservation, the work under way).
 *
 * 1. What is in memory is what was committed or is being committed; every change goes through
 *    `save`, which also derives the app's status and tells the edge where that concerns it.
 * 2. Work that outlives a message changes state by reports alone.
 */
import { ServiceError } from '../../lib/errors.ts';
import type {
  AppRecord,
  AppStatus,
  DeploymentRecord,
  EnvRecord,
} from '../../store/records/records.ts';
import { put } from '../../store/records/table.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { isSameRoute, routeOf } from '../edge/app-route.ts';
import { edgeActor } from '../edge/edge-actor.ts';
import type { ActorContext } from '../runtime/actor.ts';
import { WorkloadCare } from '../workload/workload-care.ts';
import type { AppParts } from './deps.ts';
import { AppFolders } from './folders.ts';
import type { AppMessages } from './internal.ts';
import { partLog } from './running/containers.ts';

/** The one thing at a time that builds or starts something for this app, or waits to. */
export type Work =
  /** In line for a build slot: the queue tells it when its turn has come. */
  | { kind: 'turn'; deploymentId: string }
  | { kind: 'deployment'; deploymentId: string; cancel: AbortController }
  | { kind: 'start'; deploymentId: string; cancel: AbortController };

export class AppCore {
  readonly context: ActorContext<AppMessages>;
  readonly deps: AppParts;
  readonly id: string;
  /** The upload that has reserved the app; ends with this activation. */
  upload: { uploadId: string; release: () => void } | null = null;
  work: Work | null = null;
  /** Resolves when the edge has heard of the latest change. */
  routed: Promise<boolean> = Promise.resolve(true);
  /** Sees to the output of the app's instances, and to their end. */
  readonly care: WorkloadCare;
  /** Instances whose end is under way, by workload. */
  readonly ending = new Set<string>();
  #app: AppRecord | null;
  #folders: AppFolders | null = null;
  readonly #open = new Map<string, DeploymentRecord>();
  #lastFinished: DeploymentRecord | null = null;

  constructor(context: ActorContext<AppMessages>, deps: AppParts) {
    this.context = context;
    this.deps = deps;
    this.id = context.ref.id;
    const { driver, streams, clock, logger } = deps;
    this.care = new WorkloadCare({
      owner: this.id,
      log: `app:${this.id}`,
      logOf: (workloadId) => partLog(this.#app, workloadId),
      driver,
      streams,
      clock,
      logger,
      context,
    });
    this.#app = deps.reader.get(tables.apps, this.id) ?? null;
    if (!mayHaveOpen(this.#app)) return;
    for (const deployment of deps.reader.list(tables.deployments, 'open', [this.id])) {
      this.#open.set(deployment.id, deployment);
    }
  }

  /** The record, also of an app in trash; null when there is none. */
  get app(): AppRecord | null {
    return this.#app;
  }

  /** The record of an app that is not in trash; else NOT_FOUND. */
  require(): AppRecord {
    if (this.#app === null || this.#app.deletedAtMs !== null) {
      throw new ServiceError('NOT_FOUND', 'No such app.');
    }
    return this.#app;
  }

  get uid(): number | null {
    const uid = this.#app?.uid ?? 0;
    return uid > 0 ? uid : null;
  }

  get folders(): AppFolders {
    const { appsRoot, uploadsRoot } = this.deps.options;
    this.#folders ??= new AppFolders({ appsRoot, uploadsRoot, appId: this.id, uid: this.uid });
    return this.#folders;
  }

  get env(): Readonly<EnvRecord>[] {
    return this.deps.reader.list(tables.env, 'app', [this.id]);
  }

  /** Deployments not finished, oldest first. */
  get open(): DeploymentRecord[] {
    return [...this.#open.values()];
  }

  /** An open deployment, or what is stored of a finished one. */
  deployment(id: string): Readonly<DeploymentRecord> | undefined {
    const known = this.#open.get(id) ?? this.deps.reader.get(tables.deployments, id);
    return known?.appId === this.id ? known : undefined;
  }

  get queued(): DeploymentRecord | undefined {
    return this.open.find(({ status }) => status === 'queued');
  }

  /** The deployment that builds or starts. */
  get underWay(): DeploymentRecord | undefined {
    return this.open.find(({ status }) => status === 'building' || status === 'starting');
  }

  /** Changes the app, and deployments with it, in one commit. */
  save(
    patch: Partial<AppRecord>,
    deployments: readonly DeploymentRecord[] = [],
    changes: readonly Change[] = [],
  ): AppRecord {
    if (this.#app === null) throw new ServiceError('NOT_FOUND', 'No such app.');
    const { hostOf } = this.deps.options;
    const routeBefore = routeOf(this.#app, hostOf);
    for (const deployment of deployments) this.#remember(deployment);
    const changed = { ...this.#app, ...patch, updatedAtMs: this.deps.clock.now() };
    this.#app = { ...changed, status: this.#statusOf(changed) };
    void this.context.commit([
      put(tables.apps, this.#app),
      ...deployments.map((deployment) => put(tables.deployments, deployment)),
      ...changes,
    ]);
    if (!isSameRoute(routeBefore, routeOf(this.#app, hostOf))) void this.route();
    return this.#app;
  }

  /** Takes a record that was just committed as the app's state. */
  adopt(app: AppRecord | null): void {
    this.#app = app;
    this.#folders = null;
    this.#open.clear();
  }

  /** Whether the work under way is still to start this deployment's release. */
  isWanted(deploymentId: string): boolean {
    const { work } = this;
    if (work?.deploymentId !== deploymentId || work.kind === 'turn') return false;
    if (work.cancel.signal.aborted) return false;
    return work.kind === 'start'
      ? this.#app?.desired === 'running' && this.#app.deletedAtMs === null
      : this.#open.has(deploymentId);
  }

  /** Sends the edge where this app's traffic goes, once that is durable. */
  route(): Promise<boolean> {
    const app = this.#app;
    if (app === null) return Promise.resolve(true);
    const route = routeOf(app, this.deps.options.hostOf);
    this.routed = new Promise((resolve) => {
      this.context.afterCommit(() => {
        const message = { type: 'route', appId: app.id, route } as const;
        this.context.actors
          .ask(edgeActor.at(app.serverId), message)
          .then(resolve, (error: unknown) => {
            this.deps.logger.warn({ app: app.id, err: error }, 'app_not_routed');
            resolve(false);
          });
      });
    });
    return this.routed;
  }

  #remember(deployment: DeploymentRecord): void {
    if (isOpen(deployment)) {
      this.#open.set(deployment.id, deployment);
      return;
    }
    this.#open.delete(deployment.id);
    this.#lastFinished = deployment;
  }

  #statusOf(app: AppRecord): AppStatus {
    if (app.deletedAtMs !== null) return 'stopped';
    if (this.underWay !== undefined) return 'building';
    if (this.queued !== undefined) return 'queued';
    if (app.liveDeploymentId === null) return this.#statusWithoutRelease(app);
    if (app.desired === 'stopped') return 'stopped';
    if (app.run.live !== null) return app.run.crashing ? 'error' : 'active';
    return app.run.next !== null || this.work?.kind === 'start' ? 'building' : 'error';
  }

  /** Never live so far: what the latest deployment came to. */
  #statusWithoutRelease(app: AppRecord): AppStatus {
    const latest = app.latestDeploymentId;
    if (latest === null) return 'idle';
    // The store may not have it yet.
    const known =
      this.#lastFinished?.id === latest
        ? this.#lastFinished
        : this.deps.reader.get(tables.deployments, latest);
    return known?.status === 'failed' ? 'error' : 'idle';
  }
}

/** An app with an open deployment says so in its status, which `save` derives from them. */
function mayHaveOpen(app: AppRecord | null): boolean {
  return app?.status === 'queued' || app?.status === 'building';
}

export function isOpen({ status }: Pick<DeploymentRecord, 'status'>): boolean {
  return status === 'queued' || status === 'building' || status === 'starting';
}
