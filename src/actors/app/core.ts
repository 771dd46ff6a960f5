/**
 * Owns the state of one app while its actor is active: its record, its open deployments, and what lives in
 * memory only (the reservation of an upload, the work under way). Every change goes through `save`, which
 * also informs the edge where the change concerns it.
 */
import type {
  AppRecord,
  AppStatus,
  DeploymentRecord,
  EnvRecord,
} from '../../store/records/records.ts';
import { type Change, put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { areSameRoutes, routesAt, routesOf } from '../edge/app-route.ts';
import { edgeActor } from '../edge/edge-actor.ts';
import { pause } from '../../lib/clock.ts';
import type { LogName } from '../../logs/files/log.ts';
import type { ActorContext } from '../runtime/actor.ts';
import { localServerId } from '../../places/local-place.ts';
import type { AppFiles } from '../../places/place.ts';
import { type DepsAt, type Leaver, WorkloadCore } from '../workload/core.ts';
import type { AppDeps } from './deps.ts';
import type { AppProtocol } from './protocol.ts';
import { containerLog, containerNames, partLog } from './running/containers.ts';
import { AppUploads } from './uploads.ts';

/** How long the end of an instance waits until the edge has heard of it. */
const routedMs = 5000;

/** An app builds or starts one thing at a time, or waits for its turn to do so. */
export type Work =
  /** Waits in line for a build slot. The queue asks this app when its turn comes. */
  | { kind: 'turn'; deploymentId: string }
  | { kind: 'deployment'; deploymentId: string; cancel: AbortController }
  /** `wasDown`: nothing ran before, so the app is active only once the edge leads to it. */
  | { kind: 'start'; deploymentId: string; cancel: AbortController; wasDown: boolean };

interface Upload {
  id: string;
  end: () => void;
}

export class AppCore extends WorkloadCore<AppRecord, AppProtocol, AppDeps> {
  #work: Work | null = null;
  #upload: Upload | null = null;
  /** Resolves when the edge has heard of the latest change. */
  #routed: Promise<boolean> = Promise.resolve(true);
  readonly #open = new Map<string, DeploymentRecord>();
  #lastFinished: DeploymentRecord | null = null;

  constructor(context: ActorContext<AppProtocol>, depsAt: DepsAt<AppDeps>) {
    super(context, depsAt, { name: 'app', table: tables.apps });
    // `save` derives the status from the open deployments, so an app with one has one of these statuses.
    if (this.record?.status !== 'queued' && this.record?.status !== 'building') return;
    for (const deployment of this.deps.reader.list(tables.deployments, 'open', [this.id])) {
      this.#open.set(deployment.id, deployment);
    }
  }

  get work(): Work | null {
    return this.#work;
  }

  beginWork(work: Work): void {
    this.#work = work;
  }

  endWork(): void {
    this.#work = null;
  }

  /** Resolves when the edge has heard of the latest change, or has not for long. */
  async routed(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#routed, pause(this.deps.clock, routedMs, signal)]);
  }

  /** An app that runs is active once no start waits for the edge, also after a crash of this process meanwhile. */
  settleStatus(): void {
    const { record } = this;
    if (record?.run.live == null) return;
    if (this.statusOf(record) !== record.status) this.save({});
  }

  /** Aborts the start under way, once the change is durable. */
  abortStart(): void {
    const work = this.#work;
    if (work?.kind !== 'start') return;
    this.context.afterCommit(() => work.cancel.abort(new Error('stopped')));
  }

  /** The upload that has reserved the app. The reservation ends with this activation. */
  get uploadId(): string | null {
    return this.#upload?.id ?? null;
  }

  /** Reserves the app for an upload. The actor is not passivated until the upload ends. */
  reserve(uploadId: string): void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const end = (): void => resolve(undefined);
    this.#upload = { id: uploadId, end };
    this.context.work(`upload:${uploadId}`, async (signal) => {
      signal.addEventListener('abort', end, { once: true });
      await promise;
      signal.removeEventListener('abort', end);
    });
  }

  releaseUpload(): void {
    this.#upload?.end();
    this.#upload = null;
  }

  get uploads(): AppUploads {
    return new AppUploads(this.deps.options.uploadsRoot, this.id);
  }

  /** Its files where it runs. Rejects with AGENT_UNREACHABLE. */
  async files(): Promise<AppFiles> {
    return (await this.machine()).app({ id: this.id, uid: this.uid });
  }

  get env(): Readonly<EnvRecord>[] {
    return this.deps.reader.list(tables.env, 'app', [this.id]);
  }

  /** The deployments that are not finished, oldest first. */
  get open(): DeploymentRecord[] {
    return [...this.#open.values()];
  }

  /** An open deployment, or the stored record of a finished one. */
  deployment(id: string): Readonly<DeploymentRecord> | undefined {
    const known = this.#open.get(id) ?? this.deps.reader.get(tables.deployments, id);
    return known?.appId === this.id ? known : undefined;
  }

  get queued(): DeploymentRecord | undefined {
    return this.open.find(({ status }) => status === 'queued');
  }

  get underWay(): DeploymentRecord | undefined {
    return this.open.find(({ status }) => status === 'building' || status === 'starting');
  }

  /** Changes the app, and deployments with it, in one commit. */
  override save(
    patch: Partial<AppRecord>,
    changes: readonly Change[] = [],
    deployments: readonly DeploymentRecord[] = [],
  ): AppRecord {
    const { hostOf } = this.deps.options;
    const before = this.record;
    for (const deployment of deployments) this.#remember(deployment);
    const puts = deployments.map((deployment) => put(tables.deployments, deployment));
    const saved = super.save(patch, [...puts, ...changes]);
    if (before !== null && before.serverId !== saved.serverId) void this.route(before.serverId);
    else if (before === null || !areSameRoutes(routesOf(before, hostOf), routesOf(saved, hostOf))) {
      void this.route();
    }
    return saved;
  }

  override adopt(app: AppRecord | null): void {
    super.adopt(app);
    this.#open.clear();
  }

  /** Whether the work under way is still to start this deployment's release. */
  wants(deploymentId: string): boolean {
    const { work } = this;
    if (work?.deploymentId !== deploymentId || work.kind === 'turn') return false;
    if (work.cancel.signal.aborted) return false;
    return work.kind === 'start' ? this.isWanted : this.#open.has(deploymentId);
  }

  /**
   * Tells the edge where this app's traffic goes, once the change is durable; also that of a server that it left. With it
   * go the certificates of its domains.
   */
  route(left: string | null = null): Promise<boolean> {
    const app = this.record;
    if (app === null) return Promise.resolve(true);
    this.#routed = new Promise((resolve) =>
      this.context.afterCommit(() => {
        // The edge of this machine leads to apps of other servers, too.
        const edges = [...new Set([localServerId, app.serverId, left ?? app.serverId])];
        void Promise.all(edges.map((serverId) => this.#routeAt(serverId, app, left !== null))).then(
          (told) => resolve(told.every((one) => one)),
        );
      }),
    );
    return this.#routed;
  }

  async #routeAt(serverId: string, app: AppRecord, isMoved: boolean): Promise<boolean> {
    const { actors } = this.context;
    const edge = edgeActor.at(serverId);
    const routes = routesAt(serverId, app, this.deps.options.hostOf);
    try {
      // As soon as there is a route, its visitors may come by HTTPS.
      if (isMoved) actors.tell(edge, { type: 'certificates' });
      return await actors.ask(edge, { type: 'route', appId: app.id, routes });
    } catch (error) {
      this.deps.logger.warn({ app: app.id, err: error }, 'app_not_routed');
      return false;
    }
  }

  /** Each workload ends at its time, when the edge has heard of its successor. */
  protected get leavers(): Leaver[] {
    const { clock } = this.deps;
    const routed = this.#routed;
    return (this.record?.run.draining ?? []).map(({ workloadId, stopAtMs, parts = [] }) => ({
      workloadId,
      ready: async (signal) => {
        await Promise.race([routed, pause(clock, routedMs, signal)]);
        const restMs = stopAtMs - clock.now();
        if (restMs > 0) await pause(clock, restMs, signal);
      },
      // Services end in reverse order, so that a service outlives those that waited for it.
      others: parts.map((part) => part.workloadId).reverse(),
    }));
  }

  protected without({ run }: AppRecord, workloadId: string): Partial<AppRecord> {
    const draining = run.draining.filter((instance) => instance.workloadId !== workloadId);
    return { run: { ...run, draining } };
  }

  logOf(workloadId: string): LogName {
    return partLog(this.record, workloadId) ?? `app:${this.id}`;
  }

  protected logsOf(app: AppRecord): LogName[] {
    const names = containerNames(this.deps.reader, app);
    return names.map((name) => containerLog(this.id, names, name));
  }

  /** Removes an upload. If this fails, the file goes when the next upload begins. */
  removeUpload(blob: string): void {
    this.uploads.remove(blob).catch((error: unknown) => {
      this.deps.logger.warn({ app: this.id, err: error }, 'upload_not_removed');
    });
  }

  /** Removes a release. If this fails, the folder goes when the next deployment begins. */
  async removeRelease(name: string): Promise<void> {
    try {
      await (await this.files()).removeRelease(name);
    } catch (error) {
      this.deps.logger.warn({ app: this.id, err: error }, 'release_not_removed');
    }
  }

  #remember(deployment: DeploymentRecord): void {
    if (isOpen(deployment)) {
      this.#open.set(deployment.id, deployment);
      return;
    }
    this.#open.delete(deployment.id);
    this.#lastFinished = deployment;
  }

  protected statusOf(app: AppRecord): AppStatus {
    if (app.deletedAtMs !== null) return 'stopped';
    if (this.underWay !== undefined) return 'building';
    if (this.queued !== undefined) return 'queued';
    if (app.liveDeploymentId === null) return this.#statusWithoutRelease(app);
    if (app.desired === 'stopped') return 'stopped';
    if (app.run.live !== null) {
      if (app.run.crashing) return 'error';
      return this.work?.kind === 'start' && this.work.wasDown ? 'building' : 'active';
    }
    return app.run.next !== null || this.work?.kind === 'start' ? 'building' : 'error';
  }

  /** The status of an app that was never live: the result of its latest deployment. */
  #statusWithoutRelease(app: AppRecord): AppStatus {
    const latest = app.latestDeploymentId;
    if (latest === null) return 'idle';
    // The store may not hold the latest deployment yet.
    const known =
      this.#lastFinished?.id === latest
        ? this.#lastFinished
        : this.deps.reader.get(tables.deployments, latest);
    return known?.status === 'failed' ? 'error' : 'idle';
  }
}

export function isOpen({ status }: Pick<DeploymentRecord, 'status'>): boolean {
  return status === 'queued' || status === 'building' || status === 'starting';
}
