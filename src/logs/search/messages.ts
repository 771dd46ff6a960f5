/** Owns the messages between who searches logs and the thread that does; all of them are plain data. */
import type { Failure } from '../../workers/task-failure.ts';
import type { LogSearch, LogSearchResult, SearchBounds } from './search.ts';

/** What the thread is started with. */
export interface SearchThreadStart extends Omit<SearchBounds, 'now'> {
  /** The logs' folder in the data directory. */
  dir: string;
}

export type ToSearchThread =
  | { type: 'search'; id: number; search: LogSearch }
  /** Nobody waits for it any more. */
  | { type: 'stop'; id: number };

export type FromSearchThread =
  | { type: 'done'; id: number; result: LogSearchResult }
  | { type: 'failed'; id: number; failure: Failure };
