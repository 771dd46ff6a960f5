/** Owns an index of segments in memory, for tests of logs without a store. */
import type { SegmentRecord } from '../../src/store/records/records.ts';
import type { Reader } from '../../src/store/reader-and-journal.ts';
import type { Change } from '../../src/store/records/table.ts';

export class MemoryLogIndex {
  readonly records = new Map<string, SegmentRecord>();
  /** Rejects the next commits with this. */
  failure: Error | undefined;

  readonly commit = (changes: Change[]): Promise<void> => {
    if (this.failure) return Promise.reject(this.failure);
    for (const change of changes) {
      const key = JSON.stringify(change.key);
      if (change.op === 'put') this.records.set(key, change.value as SegmentRecord);
      else this.records.delete(key);
    }
    return Promise.resolve();
  };

  /** The part of a Reader that logs use. */
  readonly reader = {
    list: (_table: unknown, _index: string, prefix: readonly unknown[]) =>
      this.#sorted().filter((record) => record.log === prefix[0]),
    scan: () => this.#sorted(),
  } as unknown as Pick<Reader, 'list' | 'scan'>;

  #sorted(): SegmentRecord[] {
    return [...this.records.values()].sort(
      (a, b) => a.log.localeCompare(b.log) || a.firstOffset - b.firstOffset,
    );
  }
}
