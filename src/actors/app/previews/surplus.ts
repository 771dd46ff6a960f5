/** Owns which previews of an app have to go, for room or since nobody used them. */
import type { PreviewRecord } from '../../../store/records/records.ts';

type Preview = Readonly<PreviewRecord>;

/** Those that have an app. */
export const activeMax = 5;
/** Those that have none yet. */
export const waitingMax = 20;

export interface Surplus {
  preview: Preview;
  why: 'idle' | 'room';
}

/** `previews`: those that are open, in the order in which they were made. The idlest come last. */
export function surplusOf(
  previews: readonly Preview[],
  idleSinceMs: (preview: Preview) => number,
  untilMs: number,
): Surplus[] {
  const byUse = previews
    .map((preview) => ({ preview, sinceMs: idleSinceMs(preview) }))
    // Of two that were used at the same time the later one stays.
    .reverse()
    .sort((a, b) => b.sinceMs - a.sinceMs);
  const left = { active: activeMax, waiting: waitingMax };
  return byUse.flatMap(({ preview, sinceMs }): Surplus[] => {
    if (sinceMs <= untilMs) return [{ preview, why: 'idle' }];
    const kind = preview.hasApp ? 'active' : 'waiting';
    left[kind] -= 1;
    return left[kind] < 0 ? [{ preview, why: 'room' }] : [];
  });
}
