/**
 * Owns the previews of an app: which of its branches are shown at an address of their own, each by an app that
 * stands in no list.
 *
 * 1. A decision is journaled together with the push that it is about. Then it is carried out, also after a crash.
 * 2. So many previews have an app; the idlest makes room. So many more wait for one.
 * 3. What somebody pushed who is no collaborator runs nowhere until it is approved.
 */
import { namesBranch } from '../../../git/deliveries/branch-patterns.ts';
import { isOutdated, isSkipped } from '../../../git/deliveries/order.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type {
  AppRecord,
  GitDeliveryRecord,
  GitOutcome,
  PreviewRecord,
} from '../../../store/records/records.ts';
import { type Change, put, removeAll } from '../../../store/records/table.ts';
import { tables } from '../../../store/records/tables.ts';
import type { AppCore } from '../core.ts';
import { appActor, type Handlers } from '../protocol.ts';
import { type Surplus, surplusOf } from './surplus.ts';
import { PreviewWork } from './preview-work.ts';

type Preview = Readonly<PreviewRecord>;
type Delivery = Readonly<GitDeliveryRecord>;

interface Push {
  branch: string;
  commitSha: string;
  commitMessage: string | null;
  pusher: string | null;
  /** Whether its pusher is known to be a collaborator. */
  isTrusted: boolean;
}

const idleMs = 7 * 24 * 3_600_000;
/** Those that are closed, and still told. */
const closedKept = 20;
/** Deliveries by which a late one is told. */
const lookedAtMax = 200;
const alarmName = 'previews';
/** These did not move a branch, as far as its order is concerned. */
const unmoving: ReadonlySet<GitOutcome> = new Set(['received', 'tag', 'outdated', 'failed']);

export class Previews {
  readonly #core: AppCore;
  readonly #work: PreviewWork;
  #known: Map<string, Preview> | null = null;

  constructor(core: AppCore) {
    this.#core = core;
    this.#work = new PreviewWork(core, this);
  }

  get handlers() {
    return {
      'preview-push': ({ branch, commitSha }) => this.#pushedHere(branch, commitSha),
      'preview-approve': ({ previewId }) => this.#approve(this.#require(previewId)),
      'preview-close': ({ previewId }) => this.#close(this.#require(previewId)),
      'previews-due': () => {
        void this.#core.context.commit([this.#alarm()]);
        this.#work.begin();
        return true;
      },
    } satisfies Handlers;
  }

  /** What comes of a push to a branch that is not the app's. */
  delivered(app: AppRecord, delivery: Delivery): GitOutcome {
    const { refName: branch, commitSha, commitMessage, pusher } = delivery;
    if (!isPreviewed(app, branch)) return 'other_branch';
    const known = this.#ofBranch(branch);
    const seen = this.#movesOf(branch);
    if (commitSha === null) {
      if (isLateDeletion(delivery, seen)) return 'outdated';
      if (known) this.#save([closed(known, this.#nowMs)], [decided(delivery, 'branch_deleted')]);
      return 'branch_deleted';
    }
    if (known?.commitSha === commitSha) return 'unchanged';
    if (isOutdated(moveOf(delivery), seen.map(moveOf))) return 'outdated';
    if (isSkipped(commitMessage)) return 'skipped';
    if (delivery.isUnwatched === true && delivery.before === known?.commitSha) return 'unwatched';
    const push = { branch, commitSha, commitMessage, pusher, isTrusted: false };
    this.#save([this.#opened(app, push)], [decided(delivery, 'preview')]);
    return 'preview';
  }

  /** The settings of the app have changed. */
  follow(): void {
    const app = this.#core.require();
    const changed = this.#open.flatMap((preview) => {
      if (!isOf(app, preview)) return closed(preview, this.#nowMs);
      return preview.phase === 'open' ? { ...preview, isPending: true } : [];
    });
    if (changed.length > 0) this.#save(changed);
  }

  closeAll(): void {
    this.#save(this.#open.map((preview) => closed(preview, this.#nowMs)));
  }

  /** Removes the apps of all previews; the changes that remove their records. */
  async removeAll(): Promise<Change[]> {
    const { actors } = this.#core.context;
    const all = [...this.#all.values()];
    for (const { id, hasApp } of all) {
      if (hasApp) await actors.ask(appActor.at(id), { type: 'preview-remove', isForced: true });
    }
    this.#known = new Map();
    return [this.#alarm(), ...removeAll(tables.previews, all)];
  }

  /** Takes up what an earlier activation left. */
  resume(): void {
    if (this.pending.length > 0) this.#work.begin();
  }

  get pending(): Preview[] {
    return [...this.#all.values()].filter(({ isPending }) => isPending);
  }

  get surplus(): Surplus[] {
    return surplusOf(this.#open, this.#idleSinceMs, this.#nowMs - idleMs);
  }

  change(preview: Preview, patch: Partial<PreviewRecord>): void {
    if (this.#all.get(preview.id) === preview) this.#save([{ ...preview, ...patch }]);
  }

  drop(previews: readonly Preview[]): void {
    if (previews.length > 0) this.#save(previews.map((preview) => closed(preview, this.#nowMs)));
  }

  #pushedHere(branch: string, commitSha: string | null): PreviewRecord | null {
    const app = this.#core.require();
    const known = this.#ofBranch(branch);
    if (commitSha === null) return known ? this.#close(known) : null;
    if (!isPreviewed(app, branch)) return null;
    const push = { branch, commitSha, commitMessage: null, pusher: null, isTrusted: true };
    const opened = this.#opened(app, push);
    this.#save([opened]);
    return opened;
  }

  /** The preview of a branch, of a commit that was pushed to it. */
  #opened(app: AppRecord, { branch, commitSha, commitMessage, pusher, isTrusted }: Push) {
    const nowMs = this.#nowMs;
    const { connectionId = null, repository = '' } = app.git ?? {};
    const known: Preview = this.#ofBranch(branch) ?? {
      ...{ id: newId('app', nowMs), appId: app.id, teamId: app.teamId },
      ...{ branch, connectionId, repository },
      ...{ phase: 'checking', commitSha, commitMessage, pusher, hasApp: false, isPending: true },
      ...{ createdAtMs: nowMs, updatedAtMs: nowMs },
    };
    const opened: PreviewRecord = {
      ...known,
      ...{ commitSha, commitMessage, pusher, isPending: true, updatedAtMs: nowMs },
      ...(isTrusted ? { phase: 'open', hasApp: true } : { phase: 'checking' }),
    };
    return opened;
  }

  /** CONFLICT for one that does not wait for it. */
  #approve(preview: Preview): PreviewRecord {
    if (preview.phase !== 'waiting') {
      throw new ServiceError('CONFLICT', 'This preview does not wait for approval.');
    }
    const approved: PreviewRecord = {
      ...preview,
      ...{ phase: 'open', hasApp: true, isPending: true, updatedAtMs: this.#nowMs },
    };
    this.#save([approved]);
    return approved;
  }

  #close(preview: Preview): PreviewRecord {
    if (!isOpen(preview)) return preview;
    const ended = closed(preview, this.#nowMs);
    this.#save([ended]);
    return ended;
  }

  #require(id: string): Preview {
    this.#core.require();
    const preview = this.#all.get(id);
    if (preview !== undefined) return preview;
    throw new ServiceError('NOT_FOUND', 'No such preview.');
  }

  get #nowMs(): number {
    return this.#core.deps.clock.now();
  }

  get #all(): Map<string, Preview> {
    const { reader } = this.#core.deps;
    this.#known ??= new Map(
      reader
        .list(tables.previews, 'app', [this.#core.id], { limit: Infinity })
        .map((preview) => [preview.id, preview]),
    );
    return this.#known;
  }

  get #open(): Preview[] {
    return [...this.#all.values()].filter(isOpen);
  }

  #ofBranch(branch: string): Preview | undefined {
    return this.#open.find((preview) => preview.branch === branch);
  }

  /** Also a deployment by hand is a use of it. */
  readonly #idleSinceMs = ({ id, hasApp, updatedAtMs }: Preview): number => {
    const { reader } = this.#core.deps;
    const latest = hasApp ? reader.get(tables.apps, id)?.latestDeploymentId : null;
    const deployed = latest ? reader.get(tables.deployments, latest) : undefined;
    return Math.max(updatedAtMs, deployed?.createdAtMs ?? 0);
  };

  /** The next time at which one was idle for too long. */
  #alarm(): Change {
    const { context } = this.#core;
    const due = this.#open.map((preview) => this.#idleSinceMs(preview) + idleMs);
    if (due.length === 0) return context.clearAlarm(alarmName);
    return context.alarm(alarmName, Math.min(...due), { type: 'previews-due' });
  }

  #save(changed: readonly Preview[], more: readonly Change[] = []): void {
    const all = this.#all;
    for (const preview of changed) all.set(preview.id, preview);
    const puts = changed.map((preview) => put(tables.previews, preview));
    const outdated = [...all.values()]
      .filter(({ phase }) => phase === 'closed')
      .sort((a, b) => b.updatedAtMs - a.updatedAtMs)
      .slice(closedKept);
    for (const { id } of outdated) all.delete(id);
    const changes = [...puts, ...removeAll(tables.previews, outdated), this.#alarm(), ...more];
    void this.#core.context.commit(changes);
    if (changed.length > 0) this.#work.begin();
  }

  #movesOf(branch: string): Delivery[] {
    return this.#core.deps.reader
      .list(tables.gitDeliveries, 'app', [this.#core.id], { reverse: true, limit: lookedAtMax })
      .filter(({ refKind, refName }) => refKind === 'branch' && refName === branch)
      .filter(({ outcome }) => !unmoving.has(outcome))
      .reverse();
  }
}

/** Whether a branch may have a preview. */
export function isPreviewed({ git, previewBranches }: AppRecord, branch: string): boolean {
  return git !== null && branch !== git.branch && namesBranch(previewBranches, branch);
}

function isOf(app: AppRecord, { branch, connectionId, repository }: Preview): boolean {
  if (app.git?.connectionId !== connectionId || app.git.repository !== repository) return false;
  return isPreviewed(app, branch);
}

function isOpen({ phase }: Preview): boolean {
  return phase !== 'closing' && phase !== 'closed';
}

function closed(preview: Preview, nowMs: number): PreviewRecord {
  const phase = preview.hasApp ? 'closing' : 'closed';
  return { ...preview, phase, isPending: preview.hasApp, updatedAtMs: nowMs };
}

function decided(delivery: Delivery, outcome: GitOutcome): Change {
  return put(tables.gitDeliveries, { ...delivery, outcome });
}

function moveOf({ before, commitSha, committedAtMs }: Delivery) {
  return { before, after: commitSha, committedAtMs };
}

/** Whether the branch was made anew since: it is known where it was when it was deleted. */
function isLateDeletion({ before }: Delivery, seen: readonly Delivery[]): boolean {
  if (before === null) return false;
  const at = seen.findLastIndex(({ commitSha }) => commitSha === before);
  return at >= 0 && seen.slice(at + 1).some((move) => move.before === null && move.commitSha);
}
