/** Owns times as people say them, kept true by one timer for all of them; the exact one is its title. */
import { useSyncExternalStore } from 'react';

const everyMs = 10_000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, everyMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

// Made when a time is shown: they take long, and few first views show one.
let words: Intl.RelativeTimeFormat | null = null;
let exact: Intl.DateTimeFormat | null = null;
const units = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Infinity],
] as const;

/** Such as "3 minutes ago" or "in 2 days". */
export function timeInWords(at: number, from: number): string {
  let amount = (at - from) / 1000;
  if (Math.abs(amount) < 10) return 'just now';
  for (const [unit, size] of units) {
    if (Math.abs(amount) < size) {
      words ??= new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });
      return words.format(Math.round(amount), unit);
    }
    amount /= size;
  }
  return exactOf(at);
}

export function exactTime(at: string): string {
  return exactOf(new Date(at).getTime());
}

function exactOf(at: number): string {
  exact ??= new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
  return exact.format(at);
}

export function RelativeTime({ at }: { at: string }) {
  const from = useSyncExternalStore(subscribe, () => now);
  const date = new Date(at);
  // The clock of the server may be a little ahead.
  const words = timeInWords(date.getTime(), Math.max(from, Date.now() - everyMs));
  return (
    <time dateTime={at} title={exactTime(at)}>
      {words}
    </time>
  );
}
