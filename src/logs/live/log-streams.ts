/**
 * Owns what a live log is: one feed, any number of viewers.
 *
 * 1. However many viewers, a workload is followed once.
 * 2. A viewer is a cursor: it takes as much as it can send on, and is told when there is more. The
 *    stream keeps nothing for it.
 */
import type { Driver } from '../../drivers/driver.ts';
import type { LogLine, LogName, LogReader, LogSource } from '../files/log.ts';

/** What happened to a stream besides its lines; it is never mixed into the text. */
export type StreamNotice =
  | { kind: 'deployment'; deploymentId: string; status: string; atMs: number }
  /**
   * A running instance ended although nobody asked for it. `restarts` counts those of the live release.
   */
  | {
      kind: 'crash';
      reason: string;
      code: number | null;
      signal: string | null;
      restarts: number;
      /** How many ends came in a row, each soon after the one before. */
      inRow: number;
      /** Null: it starts at once, or runs again already. */
      nextStartAtMs: number | null;
      atMs: number;
    }
  | { kind: 'gap'; lines: number }
  /** The driver is not connected to where it runs, or is again. */
  | { kind: 'unreachable' | 'reachable'; atMs: number };

export interface LogStreams {
  readonly reader: LogReader;
  /**
   * Follows a workload into a log until it has ended and everything is stored, or until `signal`
   * aborts. It acknowledges what is on disk, and continues behind what an earlier feed stored.
   */
  feed(log: LogName, driver: Driver, workloadId: string, signal: AbortSignal): Promise<void>;
  /**
   * Appends lines of our own, such as those of a build, of the pull of a database's image, or of the
   * end of a workload. With a source they are written once: nothing is done when this or a later `seq`
   * of it is stored.
   */
  write(log: LogName, text: string, source?: LogSource): void;
  /** Appends lines of another log, with their streams and times. */
  copy(log: LogName, lines: readonly Omit<LogLine, 'offset'>[]): void;
  notice(log: LogName, notice: StreamNotice): void;
  /** No more lines will come: viewers that have read everything get `exit`. */
  end(log: LogName): void;
  /** Ends the log's viewers with `exit` and removes its lines. */
  drop(log: LogName): Promise<void>;
  /** Attaches a viewer. `wake` is called at most once a flush, when there is something to take. */
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
