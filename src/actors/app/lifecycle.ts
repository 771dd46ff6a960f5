/**
 * Owns start, stop and restart of an app, what its removal takes with it, and what an activation takes up
 * from an earlier one.
 *
 * 1. `stop` ends open deployments too, because they would start the app again.
 * 2. A restart is a new instance of the same release. The old one serves until the new one is healthy.
 */
import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../lib/errors.ts';
import type { AppRecord, DeploymentRecord } from '../../store/records/records.ts';
import { type Change, remove, removeAll } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { hostsOf } from '../domains/app-hosts.ts';
import { domainsActor } from '../domains/protocol.ts';
import type { MessageOf } from '../runtime/actor.ts';
import { checkNotHeld } from '../restore/held.ts';
import type { RestoreHost } from '../restore/restore-work.ts';
import { Recovery } from '../workload/recovery.ts';
import { trashHandlers } from '../workload/trash.ts';
import { bringUp } from './deploying/bring-up.ts';
import { withVolumes } from '../workload/volumes.ts';
import { WorkFailed } from '../workload/work-failed.ts';
import { workloadsOf } from './running/containers.ts';
import type { AppCore } from './core.ts';
import { retellEnd } from './running/crashes.ts';
import { isAborted } from '../workload/reach.ts';
import type { DeploymentQueue } from './deploying/deployments.ts';
import { isMissing, leaving } from './running/instances.ts';
import type { Previews } from './previews/previews.ts';
import type { AppProtocol, Handlers } from './protocol.ts';
import { checkRunsHere, runsHere } from './deploying/runtime-fit.ts';
import { applyRestored } from './settings/restored-settings.ts';
import { keepRestoredUpload } from './settings/restored-upload.ts';
import { areToldPassword } from './settings/variables.ts';

/** The pause before the next check whether the work under way is over. */
const rotatedAgainMs = 1000;

export class Lifecycle {
  readonly #core: AppCore;
  readonly #queue: DeploymentQueue;
  readonly #previews: Previews;
  readonly #recovery: Recovery<AppProtocol>;
  #restartAsked = false;

  constructor(core: AppCore, queue: DeploymentQueue, previews: Previews) {
    this.#core = core;
    this.#queue = queue;
    this.#previews = previews;
    this.#recovery = new Recovery(core.context, core.deps);
  }

  get handlers() {
    const core = this.#core;
    return {
      start: () => {
        const app = core.require();
        return app.run.live === null ? this.#start() : app;
      },
      restart: () => this.#start(),
      stop: () => this.#stop(),
      ...trashHandlers(core, {
        stop: (patch, changes) => {
          core.releaseUpload();
          this.#halt(patch, changes);
          this.#previews.closeAll();
        },
        empty: async (record) => [
          ...(await this.#previews.removeAll()),
          ...(await this.#empty(record)),
        ],
      }),
      'preview-remove': ({ isForced }) => this.#removePreview(isForced),
      'database-rotated': (message) => this.#databaseRotated(message),
      domains: () => this.#followDomains(),
      wake: () => core.record !== null,
      recover: () => {
        this.ensureRunning();
        return true;
      },
    } satisfies Handlers;
  }

  /** Starts the current release when it should run, does not run, and no start is under way. */
  ensureRunning(): void {
    this.#core.settleStatus();
    const { record: app, work, open } = this.#core;
    if (app === null || work !== null || open.length > 0 || !isMissing(app)) return;
    if (this.#core.isHeld) return;
    if (this.#recovery.isWaiting) return;
    const deployment = this.#current(app);
    if (deployment === undefined) return;
    if (runsHere(deployment.plan, this.#core.deps.driver)) this.#launch(deployment);
    else this.#core.deps.logger.warn({ app: app.id }, 'release_of_other_runtime');
  }

  workEnded(): void {
    const core = this.#core;
    core.endWork();
    this.#queue.advance();
    if (this.#restartAsked && this.#queue.idle && core.record?.desired === 'running') {
      const deployment = this.#current(core.record);
      if (deployment !== undefined) this.#launch(deployment);
    }
    this.#restartAsked = false;
    this.ensureRunning();
  }

  #followDomains(): boolean {
    const core = this.#core;
    if (core.record === null) return false;
    const known = core.record.hosts ?? [];
    const hosts = hostsOf(core.deps.reader, core.id, core.deps.clock.now());
    if (isDeepStrictEqual(known, hosts)) return true;
    core.save({ hosts });
    return true;
  }

  #start(): AppRecord {
    const core = this.#core;
    const app = core.require();
    checkNotHeld(core);
    if (core.open.length > 0) {
      throw new ServiceError(
        'DEPLOY_IN_PROGRESS',
        'A deployment of this app is running; it starts the app when it is done.',
      );
    }
    // After a stop the aborted start is still ending; another start follows it.
    if (core.work?.kind === 'start' && app.desired === 'running') return app;
    const deployment = this.#current(app);
    if (deployment === undefined) {
      throw new ServiceError('NOT_DEPLOYABLE', 'There is no release to start: deploy it first.');
    }
    checkRunsHere(deployment.plan, core.deps.driver);
    this.#recovery.succeeded();
    // A deployment that is ready but still tidying up goes first, and so does a start that ends.
    if (core.work === null) this.#launch(deployment);
    else this.#restartAsked = true;
    return core.save({ desired: 'running' }, [this.#recovery.clear()]);
  }

  /** Waits for the work under way, which may have read the password before it changed. */
  #databaseRotated(message: MessageOf<Pick<AppProtocol, 'database-rotated'>>): boolean {
    const core = this.#core;
    const { record: app, context, deps } = core;
    const { databaseId, name } = message;
    if (app?.deletedAtMs !== null) return false;
    if (!areToldPassword(deps, app, databaseId)) return false;
    if (core.work !== null || core.open.length > 0 || core.isHeld) {
      const atMs = deps.clock.now() + rotatedAgainMs;
      void context.commit([context.alarm(`rotated:${databaseId}`, atMs, message)]);
      return false;
    }
    const deployment = this.#current(app);
    // An app that does not run reads the new password when it starts.
    if (app.desired === 'stopped' || app.run.live === null) return false;
    if (deployment === undefined) return false;
    if (!runsHere(deployment.plan, deps.driver)) return false;
    const why = `The database ${name} (${databaseId}) has another password`;
    deps.streams.write(`app:${core.id}`, `${why}: the app is restarted, to be told it.`);
    this.#recovery.succeeded();
    this.#launch(deployment);
    return true;
  }

  /** What a restore does with the app. */
  get restoreHost(): RestoreHost {
    const core = this.#core;
    return {
      engine: () => null,
      isIdle: () => core.work === null,
      stop: () => {
        const { run } = core.require();
        const halted = leaving(core, leaving(core, run, 'live'), 'next');
        core.save({ run: { ...halted, crashing: false } }, [this.#recovery.clear()]);
        core.endAll();
      },
      isStopped: () => core.record?.run.draining.length === 0,
      start: (signal) => this.#startHeld(signal),
      released: () => this.workEnded(),
      useVolumes: (volumes, before) =>
        void core.save({ run: withVolumes(core.require().run, volumes, before) }),
      keepUpload: (upload, rights, say) => keepRestoredUpload(core, upload, rights, say),
      applySettings: (json, rights, say) => applyRestored(core, json, rights, say),
    };
  }

  /** Starts the current release for a restore, where it should run and does not. */
  async #startHeld(stop: AbortSignal): Promise<void> {
    const core = this.#core;
    const cancel = new AbortController();
    const deployment = await core.context.report(() => {
      const app = core.require();
      const current = this.#current(app);
      if (!isMissing(app) || current === undefined) return null;
      core.beginWork({ kind: 'start', deploymentId: current.id, cancel, wasDown: true });
      return current;
    }, stop);
    if (deployment?.release == null || deployment.plan === null) return;
    const { id: deploymentId, release, plan } = deployment;
    const signal = AbortSignal.any([stop, cancel.signal]);
    try {
      await bringUp(core, { deploymentId, release, plan, say: () => undefined, signal });
      await core.routed(signal);
    } finally {
      await core.context.report(() => {
        core.endWork();
        core.settleStatus();
      });
    }
  }

  #current(app: AppRecord): Readonly<DeploymentRecord> | undefined {
    if (app.liveDeploymentId === null) return undefined;
    const deployment = this.#core.deployment(app.liveDeploymentId);
    return deployment?.release == null || deployment.plan === null ? undefined : deployment;
  }

  #launch(deployment: Readonly<DeploymentRecord>): void {
    const core = this.#core;
    const cancel = new AbortController();
    const { id: deploymentId, release, plan } = deployment;
    if (release === null || plan === null) return;
    const wasDown = core.record?.run.live === null;
    core.beginWork({ kind: 'start', deploymentId, cancel, wasDown });
    const signal = AbortSignal.any([core.context.signal, cancel.signal]);
    core.context.work(`start:${deploymentId}`, async () => {
      let reason: string | null = null;
      try {
        await bringUp(core, { deploymentId, release, plan, say: () => undefined, signal });
        this.#recovery.succeeded();
        await core.routed(signal);
      } catch (error) {
        if (core.context.signal.aborted) return;
        core.deps.logger.warn({ app: core.id, err: error }, 'app_not_started');
        if (!isAborted(cancel.signal)) {
          reason = error instanceof WorkFailed ? error.message : 'It could not be started.';
        }
      }
      await core.context.report(() => {
        if (reason !== null && core.wants(deploymentId)) this.#startFailed(reason);
        this.workEnded();
      });
    });
  }

  #startFailed(reason: string): void {
    const core = this.#core;
    const { context, deps } = core;
    const { run, liveDeploymentId } = core.require();
    const failures = this.#recovery.failed();
    const retry = run.live === null ? this.#recovery.next() : null;
    core.endWork();
    core.save({ run: leaving(core, run, 'next') }, retry === null ? [] : [retry.alarm]);
    core.endAll();
    deps.logger.info({ app: core.id, reason }, 'app_start_failed');
    if (liveDeploymentId === null) return;
    const next =
      retry === null
        ? 'The one that ran before goes on.'
        : `The next try is in ${String(retry.pauseMs / 1000)} s.`;
    const tries = failures > 1 ? ` (${String(failures)} tries in a row)` : '';
    context.afterCommit(() => {
      const { id } = core;
      deps.streams.write(`app:${id}`, `It could not be started${tries}: ${reason} ${next}`);
      const notice = {
        kind: 'deployment',
        deploymentId: liveDeploymentId,
        status: 'failed',
      } as const;
      deps.streams.notice(`app:${id}`, { ...notice, atMs: deps.clock.now() });
    });
  }

  #stop(): AppRecord {
    this.#core.require();
    checkNotHeld(this.#core);
    return this.#halt({ desired: 'stopped' });
  }

  #halt(patch: Partial<AppRecord>, changes: readonly Change[] = []): AppRecord {
    const core = this.#core;
    this.#queue.cancelAll();
    const { run } = core.require();
    const halted = leaving(core, leaving(core, run, 'live'), 'next');
    const saved = core.save({ ...patch, run: { ...halted, crashing: false } }, [
      this.#recovery.clear(),
      ...changes,
    ]);
    core.abortStart();
    core.endAll();
    return saved;
  }

  async #removePreview(isForced: boolean): Promise<boolean> {
    const core = this.#core;
    const { record, context, deps } = core;
    if (record === null) return true;
    if (record.previewOf === undefined) throw new ServiceError('CONFLICT', 'This is no preview.');
    if (record.deletedAtMs === null) {
      this.#halt({ desired: 'stopped', deletedAtMs: deps.clock.now() });
      core.endLogsOfDeleted();
    }
    const left = core.record ?? record;
    // What ends may still write.
    if (!isForced && (core.work !== null || left.run.draining.length > 0)) return false;
    const parts = await this.#empty(left);
    await context.commit([...parts, remove(tables.apps, core.id)]);
    core.adopt(null);
    return true;
  }

  async #empty({ run }: AppRecord): Promise<readonly Change[]> {
    const core = this.#core;
    const { driver, streams, reader } = core.deps;
    for (const instance of run.draining) {
      for (const workloadId of workloadsOf(instance)) await driver.remove(workloadId);
    }
    await driver.removeVolumesOf(core.id);
    await driver.images?.keep(core.id, new Set());
    await (await core.files()).remove();
    await core.uploads.removeAll();
    if (core.record?.git != null && core.record.previewOf === undefined) {
      await core.deps.git.forget(core.id);
    }
    await streams.drop(`app:${core.id}`);
    if (reader.count(tables.domains, 'app', [core.id]) > 0) {
      await core.context.actors.ask(domainsActor, { type: 'forget', appId: core.id });
    }
    const changes = core.env.map(({ key }) => remove(tables.env, [core.id, key]));
    const services = new Set<string>();
    const all = reader.list(tables.deployments, 'app', [core.id], { limit: Infinity });
    for (const { id, buildJob, plan } of all) {
      for (const service of Object.keys(plan?.stack?.images ?? {})) services.add(service);
      await streams.drop(`build:${id}`);
      if (buildJob !== null) await driver.remove(buildJob);
      changes.push(remove(tables.deployments, id));
    }
    for (const service of services) await streams.drop(`app:${core.id}.${service}`);
    const delivered = reader.list(tables.gitDeliveries, 'app', [core.id], { limit: Infinity });
    return [...changes, ...removeAll(tables.gitDeliveries, delivered)];
  }

  /** Takes up what an earlier activation left: ends, outputs, deployments and starts under way. */
  resume(): void {
    const core = this.#core;
    const { record: app } = core;
    if (app === null) return;
    core.endAll();
    if (app.deletedAtMs !== null) return;
    retellEnd(core);
    for (const workloadId of workloadsOf(app.run.live)) core.care.follow(workloadId);
    this.#queue.advance();
    if (core.work === null && app.run.next !== null && !core.isHeld) {
      const deployment = this.#current(app);
      if (deployment?.id === app.run.next.deploymentId) this.#launch(deployment);
      else core.save({ run: leaving(core, app.run, 'next') });
      core.endAll();
    }
    this.ensureRunning();
  }
}
