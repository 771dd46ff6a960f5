/** Owns a search through a log as a page shows it: what was found so far, and how far it came. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { type LogMatch, type LogSubject, searchLog, type Sought } from './ask.ts';

/** More than these are not kept; a search may be narrowed. */
const matchesMax = 5_000;

interface Search {
  sought: Sought | null;
  /** The newest first. */
  matches: readonly LogMatch[];
  isBusy: boolean;
  isComplete: boolean;
  scannedTo: string | null;
  cursor: string | null;
  error: ApiError | null;
}

const none: Search = {
  ...{ sought: null, matches: [], isBusy: false, isComplete: true, scannedTo: null },
  ...{ cursor: null, error: null },
};

export interface LogSearching extends Search {
  offsets: ReadonlySet<number>;
  start: (sought: Sought) => void;
  /** Looks at older lines. */
  goOn: () => void;
  stop: () => void;
}

export function useSearch(subject: LogSubject): LogSearching {
  const [search, setSearch] = useState<Search>(none);
  const running = useRef<AbortController | null>(null);

  const run = useCallback(
    async (begin: Search): Promise<void> => {
      running.current?.abort();
      const stop = new AbortController();
      running.current = stop;
      let now: Search = { ...begin, isBusy: true, error: null };
      setSearch(now);
      const had = now.matches.length;
      try {
        // Until there is something new to show: one call may look through much and find nothing.
        while (now.sought !== null && now.isBusy) {
          const page = await searchLog(subject, now.sought, now.cursor, stop.signal);
          if (stop.signal.aborted) return;
          const matches = [...now.matches, ...page.nodes];
          const isFull = matches.length >= matchesMax;
          now = {
            ...{ sought: now.sought, matches, error: null },
            ...{ isComplete: page.complete || isFull, scannedTo: page.scannedTo },
            cursor: page.pageInfo.endCursor,
            isBusy: !page.complete && !isFull && matches.length < had + 100,
          };
          setSearch(now);
        }
      } catch (error) {
        if (!stop.signal.aborted) setSearch({ ...now, isBusy: false, error: toApiError(error) });
      }
    },
    [subject],
  );

  useEffect(() => {
    setSearch(none);
    return () => running.current?.abort();
  }, [subject]);

  const start = useCallback(
    (sought: Sought) => void run({ ...none, sought, isComplete: false }),
    [run],
  );
  const goOn = useCallback(() => void run(search), [run, search]);
  const stop = useCallback(() => {
    running.current?.abort();
    setSearch((before) => ({ ...before, isBusy: false }));
  }, []);
  const offsets = useMemo(
    () => new Set(search.matches.map(({ offset }) => offset)),
    [search.matches],
  );
  return { ...search, offsets, start, goOn, stop };
}
