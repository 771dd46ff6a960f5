/**
 * Owns the carrying out of what was decided of an app's previews, step by step: those that close first, so that
 * their addresses and their room are free.
 *
 * 1. Each step can be taken again: a crash behind it costs nothing.
 * 2. What fails for the moment is tried again, and holds up no other preview.
 */
import { pause } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { PreviewRecord } from '../../../store/records/records.ts';
import type { Cause } from '../../runtime/actor.ts';
import type { AppCore } from '../core.ts';
import { appActor } from '../protocol.ts';
import type { Surplus } from './surplus.ts';

type Preview = Readonly<PreviewRecord>;

/** What was decided of the previews of the app. */
interface Decisions {
  /** Those that have to make room, or were idle for too long. */
  readonly surplus: readonly Surplus[];
  /** Those of which something is left to be done. */
  readonly pending: readonly Preview[];
  /** Changes a preview, unless it has changed meanwhile. */
  change: (preview: Preview, patch: Partial<PreviewRecord>) => void;
  /** Closes some that nothing runs of. */
  drop: (previews: readonly Preview[]) => void;
}

type Step =
  | { kind: 'evict'; preview: Preview; why: Surplus['why'] }
  | { kind: 'remove' | 'check' | 'show'; preview: Preview }
  /** All that is left failed just now. */
  | { kind: 'wait' };

const retryMinMs = 200;
const retryMaxMs = 10_000;

/** What it uses of the app. */
type App = Pick<AppCore, 'id'> & {
  context: Pick<AppCore['context'], 'work' | 'report' | 'actors'>;
  deps: Pick<AppCore['deps'], 'clock' | 'logger'> & {
    git: Pick<AppCore['deps']['git'], 'mayPush'>;
  };
};

export class PreviewWork {
  readonly #core: App;
  readonly #previews: Decisions;
  #isBegun = false;
  /** While it waits: ends that. */
  #rest: AbortController | null = null;

  constructor(core: App, previews: Decisions) {
    this.#core = core;
    this.#previews = previews;
  }

  /** Something was decided. */
  begin(): void {
    this.#rest?.abort(new Error('decided'));
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.#core.context.work('previews', (signal) => this.#takeAll(signal));
  }

  async #takeAll(signal: AbortSignal): Promise<void> {
    const { context } = this.#core;
    const failed = new Set<string>();
    for (let waitMs = retryMinMs; ;) {
      const step = await context.report(() => this.#next(failed));
      if (step === null) return;
      if (step.kind !== 'wait') {
        const isDone = await this.#taken(step, signal);
        if (isDone) waitMs = retryMinMs;
        else failed.add(step.preview.id);
        continue;
      }
      await this.#wait(waitMs, signal);
      waitMs = Math.min(2 * waitMs, retryMaxMs);
      failed.clear();
    }
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const rest = new AbortController();
    this.#rest = rest;
    try {
      await pause(this.#core.deps.clock, ms, AbortSignal.any([signal, rest.signal]));
    } catch {
      // What was decided meanwhile does not wait.
      signal.throwIfAborted();
    } finally {
      this.#rest = null;
    }
  }

  /** Null: nothing is left to be done. */
  #next(failed: ReadonlySet<string>): Step | null {
    const { surplus } = this.#previews;
    // Nothing runs of these.
    this.#previews.drop(surplus.flatMap(({ preview }) => (preview.hasApp ? [] : preview)));
    const { pending } = this.#previews;
    const left = pending.filter(({ id }) => !failed.has(id));
    const inPhase = (phase: Preview['phase']): Preview | undefined =>
      left.find((preview) => preview.phase === phase);
    const closing = inPhase('closing');
    if (closing) return { kind: 'remove', preview: closing };
    const active = surplus.filter(({ preview }) => preview.hasApp);
    const idlest = active.findLast(({ preview }) => !failed.has(preview.id));
    if (idlest) return { kind: 'evict', ...idlest };
    const checking = inPhase('checking');
    if (checking) return { kind: 'check', preview: checking };
    // Its address is free once the one before it is gone.
    const leaving = pending.filter(({ phase }) => phase === 'closing').map(({ branch }) => branch);
    const open = left.find(({ phase, branch }) => phase === 'open' && !leaving.includes(branch));
    if (open) return { kind: 'show', preview: open };
    if (pending.length > 0 || active.length > 0) return { kind: 'wait' };
    this.#isBegun = false;
    return null;
  }

  /** False where it has to be tried again. */
  async #taken(step: Exclude<Step, { kind: 'wait' }>, signal: AbortSignal): Promise<boolean> {
    const { deps, id } = this.#core;
    const { preview } = step;
    try {
      switch (step.kind) {
        case 'evict':
          return await this.#evicted(preview, step.why);
        case 'remove':
          return await this.#removed(preview);
        case 'check':
          return await this.#checked(preview);
        case 'show':
          return await this.#shown(preview);
      }
    } catch (error) {
      signal.throwIfAborted();
      deps.logger.warn({ app: id, preview: preview.id, err: error }, 'preview_step_failed');
      const isFinal = error instanceof ServiceError && error.status < 500;
      if (!isFinal || step.kind !== 'show') return false;
      await this.#change(preview, { isPending: false });
      return true;
    }
  }

  /** In the activity it is nobody's. */
  async #evicted({ id: previewId, branch, teamId }: Preview, why: string): Promise<boolean> {
    const { context, deps, id } = this.#core;
    const atMs = deps.clock.now();
    const cause: Cause = {
      ...{ id: newId('act', atMs), atMs, action: 'close_preview', userId: null, tokenId: null },
      ...{ teamId, address: '', userAgent: '', via: 'http', targetId: id, input: { branch, why } },
      ...{ always: false, again: false },
    };
    await context.actors.ask(appActor.at(id), { type: 'preview-close', previewId }, { cause });
    return true;
  }

  async #removed(preview: Preview): Promise<boolean> {
    const message = { type: 'preview-remove', isForced: false } as const;
    const isGone = await this.#core.context.actors.ask(appActor.at(preview.id), message);
    if (isGone) await this.#change(preview, { phase: 'closed', hasApp: false, isPending: false });
    return isGone;
  }

  async #checked(preview: Preview): Promise<boolean> {
    const mayPush = await this.#core.deps.git.mayPush(preview);
    const open = { phase: 'open', hasApp: true } as const;
    await this.#change(preview, mayPush ? open : { phase: 'waiting', isPending: false });
    return true;
  }

  async #shown(preview: Preview): Promise<boolean> {
    const { id, appId, branch, commitSha, commitMessage } = preview;
    const message = { type: 'preview-show', appId, branch, commitSha, commitMessage } as const;
    await this.#core.context.actors.ask(appActor.at(id), message);
    await this.#change(preview, { isPending: false });
    return true;
  }

  #change(preview: Preview, patch: Partial<PreviewRecord>): Promise<void> {
    return this.#core.context.report(() => this.#previews.change(preview, patch));
  }
}
