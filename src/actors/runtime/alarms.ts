/**
 * Owns durable alarms: messages that come at a set time, even after a restart.
 *
 * 1. An alarm is told at least once: its record is removed when its message was handled.
 * 2. One timer serves all alarms, set to the earliest. It looks at the clock at least once a minute, so that
 *    alarms hold when somebody sets the clock, or the machine slept.
 */
import type { Clock } from '../../lib/clock.ts';
import type { JournalEntry, Reader } from '../../store/reader-and-journal.ts';
import type { AlarmRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

export interface AlarmsOptions {
  reader: Reader;
  clock: Clock;
  fire: (alarm: Readonly<AlarmRecord>) => void;
}

/** The pause before an alarm whose message failed comes again. */
const retryMs = 30_000;
/** Timers go on as if nothing happened when the clock is set. */
const lookEveryMs = 60_000;
/** The most alarms told at once. */
const batchMax = 1000;

export class Alarms {
  readonly #options: AlarmsOptions;
  /** Alarms that were told and not yet handled, or wait for a retry, by key and time. */
  readonly #firing = new Set<string>();
  #cancel: () => void = () => undefined;
  #armedForMs = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: AlarmsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#fireDue();
  }

  /** Reads a commit: it may hold a new earliest alarm. */
  onEntry(entry: JournalEntry): void {
    for (const change of entry.changes) {
      if (change.table !== tables.alarms.name) continue;
      if (change.op === 'put' || change.op === 'insert') {
        this.#arm((change.value as AlarmRecord).atMs);
      }
    }
  }

  /** The message of an alarm was handled (`done`), or must come again. */
  handled(actor: string, alarm: { name: string; atMs: number }, done: boolean): void {
    const key = keyOf({ actor, ...alarm });
    if (done) {
      this.#firing.delete(key);
      return;
    }
    this.#options.clock.after(retryMs, () => {
      this.#firing.delete(key);
      this.#arm(this.#options.clock.now());
    });
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  #arm(atMs: number): void {
    if (this.#closed || atMs >= this.#armedForMs) return;
    this.#cancel();
    this.#armedForMs = atMs;
    const delayMs = Math.max(0, atMs - this.#options.clock.now());
    this.#cancel = this.#options.clock.after(Math.min(delayMs, lookEveryMs), () => this.#fireDue());
  }

  #fireDue(): void {
    if (this.#closed) return;
    this.#armedForMs = Number.POSITIVE_INFINITY;
    const { reader, clock } = this.#options;
    const nowMs = clock.now();
    // Alarms under way are still in the list: they must not hide the ones after them.
    const alarms = reader.list(tables.alarms, 'due', [], { limit: batchMax + this.#firing.size });
    for (const alarm of alarms) {
      if (alarm.atMs > nowMs) {
        this.#arm(alarm.atMs);
        return;
      }
      const key = keyOf(alarm);
      if (this.#firing.has(key)) continue;
      this.#firing.add(key);
      this.#options.fire(alarm);
    }
    if (alarms.length >= batchMax) this.#arm(nowMs + 1);
  }
}

function keyOf(alarm: { actor: string; name: string; atMs: number }): string {
  return `${alarm.actor} ${alarm.name} ${String(alarm.atMs)}`;
}
