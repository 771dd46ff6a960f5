/**
 * Owns which workloads are looked at again without being asked: tasks tell of nothing by events, only
 * containers on this node do.
 *
 * 1. What is in transition is looked at about twice a second, and what rests is not.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Workload } from '../../protocol/workload.ts';

export interface AttentionParts {
  clock: Clock;
  logger: Logger;
  /** Looks at it, and tells what it is; undefined when it is gone. */
  refresh: (id: string) => Promise<unknown>;
  /** Whether it may change without an event. */
  isQuiet: (id: string) => boolean;
}

const lookEveryMs = 500;
/** What serves may have tasks on other nodes, whose ends nobody tells of here. */
const quietEveryMs = 1000;

export class Attention {
  readonly #parts: AttentionParts;
  readonly #timers = new Map<string, () => void>();
  /** What runs, by its id. */
  readonly #settled = new Set<string>();
  #closed = false;

  constructor(parts: AttentionParts) {
    this.#parts = parts;
  }

  /** To be told of every state that is seen. */
  see({ spec, state }: Workload): void {
    const isSettled = state.phase !== 'waiting';
    if (state.phase === 'running') this.#settled.add(spec.id);
    else this.#settled.delete(spec.id);
    this.#cancel(spec.id);
    if (!isSettled) this.#arm(spec.id, lookEveryMs);
    else if (state.phase === 'running' && this.#parts.isQuiet(spec.id))
      this.#arm(spec.id, quietEveryMs);
  }

  /** Looks at it soon. */
  wake(id: string): void {
    this.#cancel(id);
    this.#arm(id, 0);
  }

  wakeAll(): void {
    for (const id of this.#settled) this.wake(id);
  }

  drop(id: string): void {
    this.#cancel(id);
    this.#settled.delete(id);
  }

  close(): void {
    this.#closed = true;
    for (const id of [...this.#timers.keys()]) this.#cancel(id);
  }

  #cancel(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }

  #arm(id: string, delayMs: number): void {
    if (this.#closed) return;
    const cancel = this.#parts.clock.after(delayMs, () => {
      this.#timers.delete(id);
      this.#parts.refresh(id).catch((error: unknown) => {
        this.#parts.logger.debug({ err: error, workload: id }, 'workload_not_looked_at');
        if (!this.#timers.has(id)) this.#arm(id, lookEveryMs);
      });
    });
    this.#timers.set(id, cancel);
  }
}
