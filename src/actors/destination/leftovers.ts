/**
 * Owns the removal of what an earlier process began to write to destinations and did not finish: once, at
 * start, one destination after the other.
 */
import { openDestination } from '../../backups/destinations/open.ts';
import { probeKey } from '../../backups/destinations/probe.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DestinationRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../workload/deps.ts';
import { placeOf, type ServerRoots } from './place.ts';

export interface LeftoverParts {
  reader: Reader;
  logger: Logger;
  secrets: SecretBox;
  fetch: GuardedFetch;
  roots: ServerRoots;
}

const eachMs = 30_000;

export class Leftovers {
  readonly #parts: LeftoverParts;
  readonly #end = new AbortController();

  constructor(parts: LeftoverParts) {
    this.#parts = parts;
  }

  /** Resolves when all were looked at; a destination that cannot be reached is logged. */
  async remove(): Promise<void> {
    for (const record of [...this.#parts.reader.scan(tables.destinations)]) {
      if (this.#end.signal.aborted) return;
      await this.#sweep(record).catch((error: unknown) => {
        this.#parts.logger.warn({ err: error, id: record.id }, 'leftovers_not_removed');
      });
    }
  }

  close(): void {
    this.#end.abort();
  }

  async #sweep(record: Readonly<DestinationRecord>): Promise<void> {
    const { fetch, roots, secrets } = this.#parts;
    const destination = openDestination(placeOf(record, roots, secrets), { fetch });
    const signal = AbortSignal.any([this.#end.signal, AbortSignal.timeout(eachMs)]);
    // A test may be under way; what one left goes with the next.
    await destination.sweep((key) => key === probeKey, signal);
  }
}
