/**
 * Owns what a live log is: one feed, any number of viewers.
 *
 * 1. However many viewers, a workload is followed once.
 * 2. A viewer is a cursor: it takes what it can carry and is told when there is more; the stream
 *    keeps nothing for it.
 */
import type { Driver } from '../../drivers/driver.ts';
import type { LogLine, LogName, LogReader, LogSource } from '../files/log-name.ts';

/** What happened to a stream besides its lines; never mixed into the text. */
export type StreamNotice =
  | { kind: 'deployment'; deploymentId: string; status: string; atMs: number }
  /** A running instance ended and nobody had asked for it; restarts of the live release so far. */
  | {
      kind: 'crash';
      reason: string;
      code: number | null;
      signal: string | null;
      restarts: number;
      /** In a row, each soon after the one before. */
      inRow: number;
      /** Null: at once, or it runs again already. */
      nextStartAtMs: number | null;
      atMs: number;
    }
  | { kind: 'gap'; lines: number }
  /** The place where it runs is not reached, or is again. */
  | { kind: 'unreachable' | 'reachable'; atMs: number };

export interface LogStreams {
  readonly reader: LogReader;
  /**
   * Follows a workload into a log until it ended and all is stored (or `signal` aborts), and
   * acknowledges what is on disk. Goes on behind what an earlier feed stored.
   */
  feed(log: LogName, driver: Driver, workloadId: string, signal: AbortSignal): Promise<void>;
  /**
   * Appends lines of our own: of builds, of the pull of a database's image, of ends of what runs. With
   * a source they are written once: nothing is done when this or a later `seq` of it is there.
   */
  write(log: LogName, text: string, source?: LogSource): void;
  /** Appends lines as they stand in another log: on their own streams, at their own times. */
  copy(log: LogName, lines: readonly Omit<LogLine, 'offset'>[]): void;
  notice(log: LogName, notice: StreamNotice): void;
  /** No line will come any more: viewers that have read all get `exit`. */
  end(log: LogName): void;
  /** Ends the log's viewers with `exit` and removes its lines. */
  drop(log: LogName): Promise<void>;
  /** Attaches a viewer; `wake` is called at most once a flush when there is something to take. */
  attach(log: LogName, wake: () => void): StreamView;
}

export interface StreamView {
  /** Lines from an offset on, from the ring or from disk. */
  take(
    from: number,
    maxBytes: number,
  ): { lines: readonly LogLine[]; gap: number; nextOffset: number };
  readonly ended: boolean;
  detach(): void;
}
