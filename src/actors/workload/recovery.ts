/**
 * Owns when a workload that should run and does not is started again: with growing pauses, by an alarm, so
 * that a restart of the service shortens no pause.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorContext, MessageOf, Protocol } from '../runtime/actor.ts';

const firstPauseMs = 15_000;
const lastPauseMs = 10 * 60_000;
const alarmName = 'recover';

export class Recovery<P extends Protocol & { recover: { in: object; out: boolean } }> {
  readonly #context: Pick<ActorContext<P>, 'address' | 'alarm' | 'clearAlarm'>;
  readonly #parts: { clock: Clock; reader: Pick<Reader, 'get'> };
  #failures = 0;
  /** The time of the next try; undefined: the stored alarm has it. */
  #nextMs: number | null | undefined;

  constructor(
    context: Pick<ActorContext<P>, 'address' | 'alarm' | 'clearAlarm'>,
    parts: { clock: Clock; reader: Pick<Reader, 'get'> },
  ) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Whether the next try is still waiting. */
  get isWaiting(): boolean {
    const { clock, reader } = this.#parts;
    if (this.#nextMs === undefined) {
      this.#nextMs = reader.get(tables.alarms, [this.#context.address, alarmName])?.atMs ?? null;
    }
    return this.#nextMs !== null && this.#nextMs > clock.now();
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** Counts a failed start; how many in a row failed. */
  failed(): number {
    return (this.#failures += 1);
  }

  /** The pause before the next try, and the change that sets its alarm. */
  next(): { pauseMs: number; alarm: Change } {
    const pauseMs = Math.min(firstPauseMs * 2 ** (this.#failures - 1), lastPauseMs);
    this.#nextMs = this.#parts.clock.now() + pauseMs;
    const message = { type: alarmName } as MessageOf<P>;
    return { pauseMs, alarm: this.#context.alarm(alarmName, this.#nextMs, message) };
  }

  clear(): Change {
    this.#nextMs = null;
    return this.#context.clearAlarm(alarmName);
  }
}
