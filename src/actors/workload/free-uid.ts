/**
 * Owns the choice of an own uid for a new app or database: the one above the highest in use. When the
 * highest is the last of the range, a free one is looked for from a random place on.
 *
 * The store knows which uids are free. When two actors take the same one, its unique index refuses the
 * second.
 */
import { randomInt } from 'node:crypto';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { Table } from '../../store/records/table.ts';
import type { UidRange } from '../../places/place.ts';

const lookStep = 500;
const highestFirst = { reverse: true, limit: 1 } as const;

/**
 * 0 when there are no own uids (`range` is null). `past`: how many free uids are left to others who ask at
 * the same time. Rejects: OVERLOADED. The index holds uids above 0.
 */
export async function freeUid<R extends { uid: number }>(
  reader: Reader,
  table: Table<R, 'uid'>,
  range: UidRange | null,
  past: number,
): Promise<number> {
  if (range === null) return 0;
  const { first, last } = range;
  const highest = reader.list(table, 'uid', [], highestFirst)[0]?.uid ?? 0;
  const behind = Math.max(first, highest + 1) + past;
  if (behind <= last) return behind;
  const size = last - first + 1;
  const start = randomInt(size);
  for (let step = 1; step <= size; step++) {
    const uid = first + ((start + step) % size);
    // Counted, not read: reading all records would push used ones out of memory.
    if (reader.count(table, 'uid', [uid]) === 0) return uid;
    if (step % lookStep === 0) await new Promise(setImmediate);
  }
  throw new ServiceError('OVERLOADED', 'This server has no user left for another one.');
}
