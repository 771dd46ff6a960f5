/** Owns programs that count aloud, and what has to come of it in a log. */
import assert from 'node:assert/strict';

import { sh, waitingFor } from './driver-specs.ts';

/**
 * Numbers, some of them together, some a moment apart, on both outputs. `held`: it waits for this file
 * before each so many of them, and takes it away.
 */
export const counting = (
  count: number,
  pauseEvery: number,
  held?: { every: number; sign: string },
): readonly string[] =>
  sh(`i=0; while [ $i -lt ${String(count)} ]; do ${held ? `[ $((i % ${String(held.every)})) = 0 ] && ${waitingFor(held.sign)};` : ''} i=$((i+1)); echo "n $i";
    [ $((i % 7)) = 0 ] && echo "e $i" >&2; [ $((i % ${String(pauseEvery)})) = 0 ] && sleep 0.05; done; true`);

/** Each line once at most, in its order, and the first and the last of all. */
export function assertOnce(text: string, count: number): void {
  const numbers = [...text.matchAll(/n (\d+)/g)].map(([, n]) => Number(n));
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  );
  assert.deepEqual([numbers[0], numbers.at(-1)], [1, count]);
}

export function assertCounted(text: string, count: number): void {
  const numbers = (letter: string): number[] =>
    [...text.matchAll(new RegExp(`${letter} (\\d+)`, 'g'))].map(([, n]) => Number(n));
  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
  assert.deepEqual(numbers('n'), upTo(count));
  assert.deepEqual(
    numbers('e'),
    upTo(Math.floor(count / 7)).map((n) => n * 7),
  );
}
