/**
 * Owns when jobs are ended: a timer for each running job, set again from what is found after a restart.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { WorkloadState } from '../../../protocol/workload.ts';
import type { KnownSpec } from './names.ts';

export class Deadlines {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #end: (id: string) => Promise<void>;
  readonly #timers = new Map<string, () => void>();

  constructor(clock: Clock, logger: Logger, end: (id: string) => Promise<void>) {
    this.#clock = clock;
    this.#logger = logger;
    this.#end = end;
  }

  /** To be called with every state that is seen. The first running one sets the timer. */
  see(spec: KnownSpec, state: WorkloadState): void {
    if (state.phase === 'ended') {
      this.drop(spec.id);
      return;
    }
    if (spec.kind !== 'job' || spec.deadlineMs === null || this.#timers.has(spec.id)) return;
    if (state.phase !== 'running') return;
    const leftMs = state.startedAtMs + spec.deadlineMs - this.#clock.now();
    const cancel = this.#clock.after(Math.max(0, leftMs), () => {
      // The timer stays in the map, so that a run is ended once.
      this.#end(spec.id).catch((error: unknown) => {
        // The timer is set again when the job is seen again, such as when the daemon is back.
        this.drop(spec.id);
        this.#logger.error({ err: error, workload: spec.id }, 'deadline_not_enforced');
      });
    });
    this.#timers.set(spec.id, cancel);
  }

  drop(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }

  close(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }
}
