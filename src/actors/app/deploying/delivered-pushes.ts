/**
 * Owns what a push that a git provider delivered does to an app: it deploys, is shown by a preview, or says why not.
 *
 * 1. Only the app's branch deploys, each commit once, and never one that came late.
 * 2. A delivery is stored together with the deployment that it queued. All others the sender stores.
 * 3. A person may deploy a delivery again, whatever was deployed before.
 */
import { isOutdated, isSkipped } from '../../../git/deliveries/order.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { AppRecord, GitDeliveryRecord, GitOutcome } from '../../../store/records/records.ts';
import { put } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import type { AppCore } from '../core.ts';
import type { Previews } from '../previews/previews.ts';
import type { Handlers } from '../protocol.ts';
import type { DeploymentQueue } from './deployments.ts';

type Delivery = Readonly<GitDeliveryRecord>;

/** Deliveries by which a late one is told. */
const lookedAtMax = 200;
/** These did not move the app's branch, as far as the app is concerned. */
// prettier-ignore
const unmoving: ReadonlySet<GitOutcome> = new Set([
  'received', 'other_branch', 'tag', 'outdated', 'failed',
]);

/** After these the app has, or will have, what was pushed. */
const carried: ReadonlySet<GitOutcome> = new Set(['deployed', 'unchanged', 'unwatched']);

export class DeliveredPushes {
  readonly #core: AppCore;
  readonly #queue: DeploymentQueue;
  readonly #previews: Previews;
  /** What moved the branch, the latest last; null until it was asked for. */
  #moves: Delivery[] | null = null;

  constructor(core: AppCore, queue: DeploymentQueue, previews: Previews) {
    this.#core = core;
    this.#queue = queue;
    this.#previews = previews;
  }

  get handlers() {
    return {
      'git-push': ({ delivery, byHand }) =>
        byHand ? this.#again(delivery) : this.#judged(delivery),
    } satisfies Handlers;
  }

  #judged(delivery: Delivery): GitDeliveryRecord {
    const app = this.#core.require();
    if (placeOutcome(app, delivery) === 'other_branch') {
      return { ...delivery, outcome: this.#previews.delivered(app, delivery) };
    }
    const current = this.#wanted(app);
    const outcome = this.#outcomeOf(app, delivery, current.commitSha);
    const judged: GitDeliveryRecord = {
      ...delivery,
      outcome,
      deploymentId: outcome === 'unchanged' ? current.id : null,
    };
    const known = outcome === 'deployed' ? this.#deployed(judged, { unlessLive: true }) : judged;
    if (!unmoving.has(outcome)) this.#remember(app, known);
    return known;
  }

  /** CONFLICT for what is not of the app's branch. */
  #again(delivery: Delivery): GitDeliveryRecord {
    const app = this.#core.require();
    const elsewhere = placeOutcome(app, delivery);
    if (elsewhere !== null) {
      throw new ServiceError('CONFLICT', 'Only a push to the branch of the app can be deployed.');
    }
    const receivedAtMs = this.#core.deps.clock.now();
    const id = newId('dlv', receivedAtMs);
    const known = this.#deployed({ ...delivery, id, receivedAtMs, outcome: 'deployed' }, {});
    this.#remember(app, known);
    return known;
  }

  #outcomeOf(app: AppRecord, delivery: Delivery, wantedSha: string | null): GitOutcome {
    const elsewhere = placeOutcome(app, delivery);
    if (elsewhere !== null) return elsewhere;
    if (delivery.commitSha === wantedSha) return 'unchanged';
    const seen = this.#movesOf(app);
    if (isOutdated(moveOf(delivery), seen.map(moveOf))) return 'outdated';
    const last = seen.at(-1);
    // It was live before somebody went back to an earlier release.
    if (last?.commitSha === delivery.commitSha && this.#wasReady(last)) return 'unchanged';
    if (isSkipped(delivery.commitMessage)) return 'skipped';
    if (delivery.isUnwatched === true && isNext(delivery, wantedSha, last)) return 'unwatched';
    return app.autoDeploy ? 'deployed' : 'auto_deploy_off';
  }

  /** The commit that the app has, or will have once everything that waits is done. */
  #wanted(app: AppRecord): { id: string | null; commitSha: string | null } {
    const core = this.#core;
    const live = app.liveDeploymentId === null ? undefined : core.deployment(app.liveDeploymentId);
    const wanted = core.queued ?? core.underWay ?? live;
    return { id: wanted?.id ?? null, commitSha: wanted?.commitSha ?? null };
  }

  #wasReady({ deploymentId }: Delivery): boolean {
    return deploymentId !== null && this.#core.deployment(deploymentId)?.status === 'ready';
  }

  #deployed(delivery: GitDeliveryRecord, how: { unlessLive?: true }): GitDeliveryRecord {
    const { commitSha, commitMessage, refName } = delivery;
    const deployment = this.#queue.request({
      trigger: 'git_push',
      ...how,
      branch: refName,
      ...(commitSha !== null && { commitSha }),
      ...(commitMessage !== null && { commitMessage }),
    });
    const known = { ...delivery, deploymentId: deployment.id };
    void this.#core.context.commit([put(tables.gitDeliveries, known)]);
    return known;
  }

  #remember(app: AppRecord, delivery: Delivery): void {
    const moves = this.#movesOf(app);
    moves.push(delivery);
    if (moves.length > lookedAtMax) moves.shift();
  }

  /** The branch of an app may change: moves of another one do not count. */
  #movesOf(app: AppRecord): Delivery[] {
    this.#moves ??= this.#core.deps.reader
      .list(tables.gitDeliveries, 'app', [app.id], { reverse: true, limit: lookedAtMax })
      .filter(({ outcome }) => !unmoving.has(outcome))
      .reverse();
    if (this.#moves.some(({ refName }) => refName !== app.git?.branch)) {
      this.#moves = this.#moves.filter(({ refName }) => refName === app.git?.branch);
    }
    return this.#moves;
  }
}

/** What becomes of a delivery that cannot deploy, by what it is of; null for one that can. */
function placeOutcome({ git }: AppRecord, delivery: Delivery): GitOutcome | null {
  if (delivery.refKind === 'tag') return 'tag';
  if (delivery.refName !== git?.branch) return 'other_branch';
  return delivery.commitSha === null ? 'branch_deleted' : null;
}

/** Whether the app has all that was there before the delivery, but for what it does not watch. */
function isNext(
  { before }: Delivery,
  wantedSha: string | null,
  last: Delivery | undefined,
): boolean {
  if (before === wantedSha) return true;
  return before === last?.commitSha && carried.has(last.outcome);
}

function moveOf({ before, commitSha, committedAtMs }: Delivery) {
  return { before, after: commitSha, committedAtMs };
}
