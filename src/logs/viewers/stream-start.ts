/** Owns at which offset a new viewer begins to read, by what its request asked for. */
import type { Cursor } from '../../protocol/sse.ts';
import type { LogChannel } from '../live/channel.ts';

export interface StreamStart {
  /** Resume behind this cursor; then `tail` and `sinceMinutes` do not count. */
  after: Cursor | undefined;
  /** Lines of history. */
  tail: number;
  /** Only lines at most this old. */
  sinceMinutes: number | undefined;
}

export interface StartPlace {
  /** Undefined for a log that holds nothing yet. */
  generation: string | undefined;
  nextOffset: number;
  /** The cursor belongs to an earlier generation, so the viewer starts as if it had none. */
  renewed: boolean;
}

export function startOf(channel: LogChannel, start: StreamStart, nowMs: number): StartPlace {
  const range = channel.range();
  if (range === undefined) {
    const renewed = start.after !== undefined;
    return { generation: undefined, nextOffset: channel.nextOffset, renewed };
  }
  const { generation, firstOffset, nextOffset: end } = range;
  if (start.after?.generation === generation) {
    // A cursor before the oldest line kept gets a gap; one behind the end waits there.
    return { generation, nextOffset: Math.min(start.after.offset + 1, end), renewed: false };
  }
  let nextOffset = Math.max(firstOffset, end - start.tail);
  if (start.sinceMinutes !== undefined && start.tail > 0) {
    nextOffset = Math.max(nextOffset, channel.offsetAt(nowMs - start.sinceMinutes * 60_000));
  }
  return { generation, nextOffset, renewed: start.after !== undefined };
}
