/** Owns the way of an app or a database out of trash, back or for ever. */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { remove } from '../../store/records/table.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorContext, MessageOf, Protocol } from '../runtime/actor.ts';

const retryMs = 10 * 60_000;

/** What takes it off the list and its alarm away. */
export function leaveTrash<P extends Protocol>(
  context: Pick<ActorContext<P>, 'clearAlarm'>,
  reader: Pick<Reader, 'find'>,
  id: string,
): Change[] {
  const item = reader.find(tables.trash, 'target', [id]);
  const changes = [context.clearAlarm('purge')];
  return item === undefined ? changes : [...changes, remove(tables.trash, item.id)];
}

/**
 * Removes it for ever. Once its time in trash is over, that is tried again while the place it runs in
 * is away; whoever wanted it sooner asks again, and it keeps its time.
 */
export async function purging<P extends Protocol & { purge: { in: object; out: boolean } }>(
  context: Pick<ActorContext<P>, 'alarm' | 'commit' | 'ref'>,
  { clock, reader }: { clock: Clock; reader: Pick<Reader, 'find'> },
  purge: () => Promise<boolean>,
): Promise<boolean> {
  try {
    return await purge();
  } catch (error) {
    const item = reader.find(tables.trash, 'target', [context.ref.id]);
    const isDue = item !== undefined && item.purgeAtMs <= clock.now();
    if (isDue && error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE') {
      const message = { type: 'purge' } as MessageOf<P>;
      void context.commit([context.alarm('purge', clock.now() + retryMs, message)]);
    }
    throw error;
  }
}
