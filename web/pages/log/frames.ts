/** Owns what the events of a log stream mean (`/api/apps/[id]/logs` with `timestamps=1`). */
import type { Line } from './held-lines.ts';

export interface FrameId {
  generation: string;
  offset: number;
}

/** The id of an event: `<generation>:<offset of its last line>`. */
export function frameId(text: string): FrameId | null {
  const at = text.lastIndexOf(':');
  const offset = Number(text.slice(at + 1));
  return at > 0 && Number.isSafeInteger(offset) ? { generation: text.slice(0, at), offset } : null;
}

const stampChars = '2026-01-02T03:04:05.678Z'.length;

/**
 * The lines of an event that brings so many. Null where it cannot be told which is which, since a long line
 * came in pieces or lines are gone; then they are read by their offsets.
 */
export function linesOf(text: string, count: number): Line[] | null {
  const texts = text.split('\n');
  if (texts.at(-1) === '') texts.pop();
  if (texts.length !== count) return null;
  const lines: Line[] = [];
  for (const one of texts) {
    const atMs = one[stampChars] === ' ' ? Date.parse(one.slice(0, stampChars)) : NaN;
    if (Number.isNaN(atMs)) return null;
    const end = one.endsWith('\r') ? one.length - 1 : one.length;
    lines.push({ atMs, text: one.slice(stampChars + 1, end) });
  }
  return lines;
}
