/** Owns reading small JSON answers beside GraphQL, such as the pickers'. */
import { useCallback, useEffect, useState } from 'react';
import { problemOf } from './errors.ts';

export interface JsonState<T> {
  readonly data: T | null;
  readonly error: unknown;
  readonly again: () => void;
}

/** What is at the path; null: nothing is asked. Another path's answer is never shown. */
export function useJson<T>(path: string | null): JsonState<T> {
  const [answer, setAnswer] = useState<{ path: string; data: T | null; error: unknown } | null>(
    null,
  );
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const over = new AbortController();
    getJson<T>(path, over.signal).then(
      (data) => setAnswer({ path, data, error: null }),
      (error: unknown) => {
        if (!over.signal.aborted) setAnswer({ path, data: null, error });
      },
    );
    return () => over.abort();
  }, [path, round]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  const { data = null, error = null } = answer?.path === path ? answer : {};
  return { data, error, again };
}

async function getJson<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal });
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as T;
}
