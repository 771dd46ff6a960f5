/**
 * Owns the deployments of an app: which one waits, which one is under way, and how each ends.
 *
 * 1. One deployment at a time builds or starts; at most one waits behind it.
 * 2. A request while one waits returns the waiting one. If the two want different things (a rollback, and a
 *    build of the newest source) the later one replaces the waiting one, which ends as `superseded`. So does one
 *    that only a push asked for, when the branch holds what is live: an earlier deployment found it there.
 * 3. A deployment that was `ready` stays `ready` in the history. The app says which one is live.
 */
import { ServiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type {
  AppRecord,
  DeploymentRecord,
  DeploymentStatus,
  DeploymentTrigger,
} from '../../../store/records/records.ts';
import type { Driver } from '../../../drivers/driver.ts';
import { type Change, remove } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import type { AppCore, Work } from '../core.ts';
import type { AppProtocol, Handlers } from '../protocol.ts';
import type { ActorRef, Actors } from '../../runtime/actor.ts';
import type { AskTurn } from './build-queue.ts';
import { leaving } from '../running/instances.ts';
import { canceledLine, type DeploymentSteps, runDeployment } from './pipeline.ts';
import { checkRunsHere, checkSourceRuns } from './runtime-fit.ts';

/** How long a deployment whose actor does not answer delays those behind it. */
const turnDeadlineMs = 10_000;

interface Wanted {
  trigger: DeploymentTrigger;
  commitSha?: string;
  commitMessage?: string;
  branch?: string;
  unlessLive?: true;
  /** The deployment whose release is to run again. */
  rollbackOf?: Readonly<DeploymentRecord>;
}

export class DeploymentQueue implements DeploymentSteps {
  readonly #core: AppCore;
  readonly #workEnded: () => void;

  /** `workEnded` is called when the work on a deployment has returned, so that the next may begin. */
  constructor(core: AppCore, workEnded: () => void) {
    this.#core = core;
    this.#workEnded = workEnded;
  }

  get handlers() {
    return {
      redeploy: (message) => this.request({ ...message, ...this.#shown }),
      rollback: ({ deploymentId, trigger }) => this.#rollback(deploymentId, trigger),
      cancel: ({ deploymentId }) => this.#cancel(deploymentId),
      'build-turn': ({ deploymentId }) => this.#turn(deploymentId),
    } satisfies Handlers;
  }

  /** Deploys the newest source: returns a new deployment, or the one that waits already. */
  request(wanted: Wanted): DeploymentRecord {
    const app = this.#core.require();
    checkDeployable(app, this.#core.deps.driver);
    const { queued } = this.#core;
    if (queued?.rollbackOf === null) return this.#renewed(queued, wanted);
    return this.#enqueue(app, wanted, queued);
  }

  /** A preview deploys the one commit that it may, also by hand. */
  get #shown(): Partial<Wanted> {
    const { previewOf } = this.#core.require();
    return previewOf === undefined
      ? {}
      : { branch: previewOf.branch, commitSha: previewOf.commitSha };
  }

  /** The deployment that waits, of the commit that is wanted by now. */
  #renewed(queued: DeploymentRecord, wanted: Wanted): DeploymentRecord {
    const { commitSha, commitMessage = null, branch = null, unlessLive = false } = wanted;
    const isSame = commitSha === undefined || commitSha === queued.commitSha;
    const isNeeded = queued.unlessLive === true && !unlessLive;
    if (isSame && !isNeeded) return queued;
    const renewed = { ...queued, ...(!isSame && { commitSha, commitMessage, branch }) };
    if (isNeeded) delete renewed.unlessLive;
    this.#core.save({}, [], [renewed]);
    return renewed;
  }

  /** Starts the next deployment when nothing is under way. */
  advance(): void {
    const core = this.#core;
    if (core.work !== null || core.isHeld) return;
    if (core.record?.deletedAtMs !== null || core.context.ended) return;
    const next = core.underWay ?? (core.uploadId === null ? core.queued : undefined);
    if (next === undefined) return;
    if (next.status !== 'queued' || next.rollbackOf !== null) {
      this.#run(next.id);
      return;
    }
    const { context, deps } = core;
    const turn = turnOf(context.actors, context.ref, next.id);
    const giveBack = deps.buildQueue.enter(next, turn);
    if (giveBack === undefined) core.beginWork({ kind: 'turn', deploymentId: next.id });
    else this.#run(next.id, giveBack);
  }

  #run(deploymentId: string, giveBack?: () => void): void {
    const core = this.#core;
    const cancel = new AbortController();
    core.beginWork({ kind: 'deployment', deploymentId, cancel });
    core.context.work(`deploy:${deploymentId}`, async () => {
      await runDeployment(core, this, deploymentId, cancel.signal, giveBack);
      await core.context.report(this.#workEnded);
    });
  }

  /** Takes the free build slot for a waiting deployment, or gives up its place in line. */
  #turn(deploymentId: string): boolean {
    const core = this.#core;
    const { work, queued } = core;
    // A canceled deployment leaves the line once its cancel is durable.
    if (work?.kind === 'turn' && queued?.id === work.deploymentId) core.endWork();
    this.advance();
    if (core.work?.deploymentId === deploymentId) return true;
    core.deps.buildQueue.leave(deploymentId);
    return false;
  }

  get idle(): boolean {
    return this.#core.work === null && this.#core.open.length === 0;
  }

  cancelAll(): void {
    for (const deployment of this.#core.open) this.#finish(deployment, 'canceled', null);
  }

  #rollback(deploymentId: string, trigger: DeploymentTrigger): DeploymentRecord {
    const core = this.#core;
    const app = core.require();
    const target = core.deployment(deploymentId);
    if (target === undefined) throw new ServiceError('NOT_FOUND', 'No such deployment.');
    if (target.status !== 'ready' || target.release === null || target.plan === null) {
      throw new ServiceError('NOT_DEPLOYABLE', 'The release of this deployment is not kept.');
    }
    checkRunsHere(target.plan, core.deps.driver);
    const { queued } = core;
    if (queued?.rollbackOf === deploymentId) return queued;
    return this.#enqueue(app, { trigger, rollbackOf: target }, queued);
  }

  #enqueue(app: AppRecord, wanted: Wanted, replaced?: DeploymentRecord): DeploymentRecord {
    const core = this.#core;
    const source = wanted.rollbackOf;
    const id = newId('dpl', core.deps.clock.now());
    const { buildQueue } = core.deps;
    const deployment: DeploymentRecord = {
      id,
      appId: app.id,
      teamId: app.teamId,
      status: 'queued',
      trigger: source === undefined ? wanted.trigger : 'rollback',
      url: core.deps.options.urlOf(app),
      commitSha: source?.commitSha ?? wanted.commitSha ?? null,
      commitMessage: source?.commitMessage ?? wanted.commitMessage ?? null,
      ...(source?.commitAuthor !== undefined && { commitAuthor: source.commitAuthor }),
      branch: source?.branch ?? wanted.branch ?? null,
      error: null,
      upload: source?.upload ?? null,
      rollbackOf: source?.id ?? null,
      release: source?.release ?? null,
      plan: source?.plan ?? null,
      buildJob: null,
      createdAtMs: core.deps.clock.now(),
      startedAtMs: null,
      finishedAtMs: null,
      ...(wanted.unlessLive && { unlessLive: true }),
      ...(source === undefined && { buildTurn: buildQueue.nextTurn(id, app.teamId) }),
    };
    if (replaced !== undefined) this.#finish(replaced, 'superseded', null);
    core.save({ latestDeploymentId: deployment.id }, [], [deployment]);
    this.advance();
    return deployment;
  }

  #cancel(deploymentId: string): boolean {
    const core = this.#core;
    core.require();
    const deployment = core.deployment(deploymentId);
    if (deployment === undefined) throw new ServiceError('NOT_FOUND', 'No such deployment.');
    const open = core.open.find(({ id }) => id === deploymentId);
    // A deployment that has the traffic can no longer be canceled.
    if (open === undefined || core.record?.run.live?.deploymentId === deploymentId) return false;
    this.#finish(open, 'canceled', null);
    return true;
  }

  begin(deploymentId: string): { app: AppRecord; deployment: DeploymentRecord } | null {
    const core = this.#core;
    const app = core.require();
    const deployment = core.open.find(({ id }) => id === deploymentId);
    const waits = deployment?.status === 'queued' && core.uploadId !== null;
    if (deployment === undefined || waits) return null;
    if (deployment.status !== 'queued') return { app, deployment };
    const begun: DeploymentRecord = {
      ...deployment,
      status: deployment.rollbackOf === null ? 'building' : 'starting',
      upload: deployment.rollbackOf === null ? app.upload : deployment.upload,
      startedAtMs: core.deps.clock.now(),
    };
    delete begun.buildTurn;
    return { app: core.save({}, [], [begun]), deployment: begun };
  }

  change(deploymentId: string, patch: Partial<DeploymentRecord>): void {
    const core = this.#core;
    const deployment = core.open.find(({ id }) => id === deploymentId);
    if (deployment === undefined) return;
    const changed = { ...deployment, ...patch };
    if (patch.commitSha !== undefined && this.#isLiveAnyway(changed)) {
      this.#finish(changed, 'superseded', null);
      return;
    }
    const app = core.save({}, [], [changed]);
    if (patch.commitSha === undefined) return;
    core.context.afterCommit(() => core.deps.git.tellStatus(app, changed));
  }

  #isLiveAnyway({ unlessLive, commitSha }: DeploymentRecord): boolean {
    const liveId = this.#core.record?.liveDeploymentId ?? null;
    if (unlessLive !== true || liveId === null) return false;
    return this.#core.deployment(liveId)?.commitSha === commitSha;
  }

  finish(deploymentId: string, status: 'ready' | 'failed', error: string | null): void {
    const deployment = this.#core.open.find(({ id }) => id === deploymentId);
    if (deployment !== undefined) this.#finish(deployment, status, error);
  }

  #finish(
    deployment: DeploymentRecord,
    status: Extract<DeploymentStatus, 'ready' | 'failed' | 'canceled' | 'superseded'>,
    error: string | null,
  ): void {
    const core = this.#core;
    const { run, upload } = core.require();
    const failed = status !== 'ready';
    const finished: DeploymentRecord = {
      ...deployment,
      status,
      error,
      // A deployment that did not become ready has no release to go back to.
      release: failed ? null : deployment.release,
      finishedAtMs: core.deps.clock.now(),
    };
    delete finished.buildTurn;
    delete finished.unlessLive;
    const ends = failed && run.next?.deploymentId === deployment.id;
    const old = this.#outdated(finished);
    const patch = ends ? { run: leaving(core, run, 'next') } : {};
    core.save(patch, old.changes, [finished, ...old.records]);
    if (ends) core.endAll();
    const { work } = core;
    core.context.afterCommit(() => {
      const isUnderWay = work?.kind === 'deployment' && work.deploymentId === deployment.id;
      if (failed && isUnderWay) work.cancel.abort(new Error(`deployment ${status}`));
      else if (failed && deployment.status === 'queued') this.#leaveLine(deployment.id, work);
      this.#announce(finished, upload?.blob ?? null);
    });
  }

  /**
   * Ends a waiting deployment that was canceled: writes so to its log and lets the next one begin. An actor
   * that slept may not know yet that its deployment is in line; then there is no work to end.
   */
  #leaveLine(deploymentId: string, work: Work | null): void {
    const { deps, context } = this.#core;
    deps.buildQueue.leave(deploymentId);
    deps.streams.write(`build:${deploymentId}`, `${canceledLine}\n`);
    deps.streams.end(`build:${deploymentId}`);
    if (work?.kind !== 'turn' || work.deploymentId !== deploymentId) return;
    void context.report(this.#workEnded);
  }

  #announce(finished: DeploymentRecord, currentBlob: string | null): void {
    const core = this.#core;
    const { streams, clock, logger } = core.deps;
    const { id: deploymentId, status } = finished;
    streams.notice(`app:${core.id}`, {
      kind: 'deployment',
      deploymentId,
      status,
      atMs: clock.now(),
    });
    logger.info({ app: core.id, deployment: deploymentId, status }, 'deployment_finished');
    if (core.record) core.deps.git.tellStatus(core.record, finished);
    const blob = finished.upload?.blob;
    const current = core.record?.upload?.blob ?? currentBlob;
    if (blob === undefined || blob === current || finished.rollbackOf !== null) return;
    core.removeUpload(blob);
  }

  /**
   * The records and releases that are outdated once this deployment is finished: history beyond the limit,
   * and old releases if this deployment became ready.
   */
  #outdated(finished: DeploymentRecord): { records: DeploymentRecord[]; changes: Change[] } {
    const { reader, options, streams, logger } = this.#core.deps;
    const releasesKept = finished.status === 'ready' ? options.releasesKept : Infinity;
    const kept = new Set([finished.release]);
    for (const { release } of this.#core.open) if (release !== null) kept.add(release);
    const records: DeploymentRecord[] = [];
    const changes: Change[] = [];
    const history = reader.list(tables.deployments, 'app', [this.#core.id], { reverse: true });
    for (const [age, deployment] of history.entries()) {
      if (deployment.id === finished.id || this.#core.open.some(({ id }) => id === deployment.id)) {
        continue;
      }
      const { release } = deployment;
      if (release !== null && kept.size < releasesKept) kept.add(release);
      if (release !== null && kept.has(release)) continue;
      if (age >= options.deploymentsKept) {
        changes.push(remove(tables.deployments, deployment.id));
        this.#core.context.afterCommit(() => {
          streams.drop(`build:${deployment.id}`).catch((error: unknown) => {
            logger.warn({ deployment: deployment.id, err: error }, 'build_log_not_removed');
          });
        });
      } else if (release !== null) records.push(withoutRelease(deployment));
    }
    return { records, changes };
  }
}

/** A deployment without its release cannot start again, so the text of its compose file is dropped. */
export function withoutRelease(deployment: Readonly<DeploymentRecord>): DeploymentRecord {
  const { plan } = deployment;
  const stack = plan?.stack && { ...plan.stack, compose: '' };
  return { ...deployment, release: null, plan: plan && stack ? { ...plan, stack } : plan };
}

/** The function keeps no reference to the waiting activation, which may be gone when the turn comes. */
function turnOf(actors: Actors, app: ActorRef<AppProtocol>, deploymentId: string): AskTurn {
  const message = { type: 'build-turn', deploymentId } as const;
  return () => actors.ask<AppProtocol, 'build-turn'>(app, message, { deadlineMs: turnDeadlineMs });
}

function checkDeployable(app: AppRecord, driver: Driver): void {
  checkSourceRuns(app.source, driver);
  if (app.source !== 'UPLOAD') return;
  if (app.upload === null) {
    throw new ServiceError(
      'NOT_DEPLOYABLE',
      'There is nothing to deploy: upload an archive first.',
    );
  }
}
