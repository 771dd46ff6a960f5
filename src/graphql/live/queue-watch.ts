/** Owns which deployments moved up in the queue: all share it, and no record of theirs says so. */
import type { JournalEntry, Reader } from '../../store/reader-and-journal.ts';
import type { DeploymentRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

export class QueueWatch {
  readonly #reader: Reader;
  /** Places by id, as they were told. */
  #places = new Map<string, number>();
  #isStale = false;

  constructor(reader: Reader) {
    this.#reader = reader;
    this.moved();
  }

  /** Hears of what may move the queue. */
  note({ changes }: JournalEntry): void {
    this.#isStale ||= changes.some(
      (change) =>
        change.table === tables.deployments.name &&
        (this.#places.has(String(change.key)) || ('value' in change && isQueued(change.value))),
    );
  }

  /** Those whose place is another one than when this was asked last; one look for everybody. */
  moved(): Readonly<DeploymentRecord>[] {
    if (!this.#isStale && this.#places.size > 0) return [];
    this.#isStale = false;
    const queue = this.#reader.list(tables.deployments, 'queueOrder', [], { limit: 10_000 });
    const before = this.#places;
    this.#places = new Map(queue.map(({ id }, index) => [id, index]));
    return queue.filter(({ id }, index) => before.get(id) !== index);
  }
}

function isQueued(value: unknown): boolean {
  return (value as Partial<DeploymentRecord> | null)?.status === 'queued';
}
