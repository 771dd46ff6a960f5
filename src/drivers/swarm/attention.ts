/**
 * Owns which workloads are looked at again without being asked: tasks cause no events, only their
 * containers do. What is in transition is looked at about twice a second, and what rests is not.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Workload } from '../../protocol/workload.ts';

export interface AttentionParts {
  clock: Clock;
  logger: Logger;
  /** Looks at it, and reports what it is. */
  refresh: (id: string) => Promise<void>;
  /** Whether the swarm does not tell all of its ports yet. */
  isPortless: (id: string) => boolean;
}

const lookEveryMs = 500;

export class Attention {
  readonly #parts: AttentionParts;
  readonly #timers = new Map<string, () => void>();
  #closed = false;

  constructor(parts: AttentionParts) {
    this.#parts = parts;
  }

  /** To be called with every state that is seen. */
  see({ spec: { id }, state: { phase } }: Workload): void {
    this.drop(id);
    const isOpen = phase === 'running' && this.#parts.isPortless(id);
    if (phase === 'waiting' || isOpen) this.#arm(id, lookEveryMs);
  }

  /** Looks at it soon. */
  wake(id: string): void {
    this.drop(id);
    this.#arm(id, 0);
  }

  drop(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }

  close(): void {
    this.#closed = true;
    for (const id of [...this.#timers.keys()]) this.drop(id);
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
