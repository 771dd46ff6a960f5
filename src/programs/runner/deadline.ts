/** Owns the time that a job has, counted from when its program itself runs. */
import type { Clock } from '../../lib/clock.ts';

/** Calls `end` when it is over, unless it was canceled by what this returns. Null: there is no end. */
export function startDeadline(
  deadlineMs: number | null,
  launched: Promise<void>,
  clock: Clock,
  end: () => void,
): () => void {
  if (deadlineMs === null) return () => undefined;
  let cancel: (() => void) | undefined;
  let over = false;
  void launched.then(() => {
    if (!over) cancel = clock.after(deadlineMs, end);
  });
  return () => {
    over = true;
    cancel?.();
  };
}
