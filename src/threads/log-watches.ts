/**
 * Owns watching live logs for another thread: where their lines end, and what happens to them. Lines are
 * read from the files and no call waits for them, which is why a door alone does not do.
 *
 * 1. A thread watches a log once, however many viewers it has; so the log is followed once.
 * 2. The lines that a move announces are in the files: lines are never sent.
 * 3. A log moves at most once a flush. The moves of a turn of the loop are sent together, and the next ones
 *    when the thread took the last: none pile up for a thread that hangs.
 */
import type { Logger } from '../lib/log.ts';
import type { LogName } from '../logs/files/log.ts';
import type { ChannelView, LogLife } from '../logs/live/channel.ts';
import type { StreamNotice } from '../logs/live/log-streams.ts';
import type { LiveLogs } from '../logs/live/live-logs.ts';

/** `watch` is a number that the thread never used before. */
export interface WatchLog {
  watch: number;
  log: LogName;
}

export interface UnwatchLog {
  watch: number;
}

/** What became of a watched log since the last move, or since it is watched. */
export interface LogMove {
  watch: number;
  /** Only in the first move: the log's generation; null for a log without lines. */
  generation?: string | null;
  /** Offset of the next line to come. */
  nextOffset: number;
  /** No move follows `failed` or `dropped`: later lines belong to another watch. */
  life: LogLife;
  /** Why it failed. */
  failure?: string;
  notices: { before: number; notice: StreamNotice }[];
}

export interface LogWatchesOptions {
  streams: Pick<LiveLogs, 'watch'>;
  logger: Logger;
  /** Tells the thread (`MirroredLogs.moved`); resolves when it took them. */
  tell: (moves: LogMove[]) => Promise<unknown>;
}

interface Watch {
  id: number;
  state: 'failed' | { view: ChannelView; noticeNumber: number; told: boolean };
}

/** The watches of one thread, on the thread that feeds logs. */
export class LogWatches {
  readonly #options: LogWatchesOptions;
  readonly #watches = new Map<number, Watch>();
  readonly #moved = new Set<Watch>();
  #phase: 'rest' | 'due' | 'telling' | 'closed' = 'rest';

  constructor(options: LogWatchesOptions) {
    this.#options = options;
  }

  /** Throws where the end of the log cannot be read; the thread then ends the log's viewers. */
  watch({ watch: id, log }: WatchLog): void {
    if (this.#phase === 'closed') return;
    const watch: Watch = { id, state: 'failed' };
    this.#watches.set(id, watch);
    this.#mark(watch);
    const view = this.#options.streams.watch(log, () => this.#mark(watch));
    watch.state = { view, noticeNumber: view.channel.noticeNumber, told: false };
  }

  unwatch({ watch: id }: UnwatchLog): void {
    const watch = this.#watches.get(id);
    if (watch !== undefined) this.#forget(watch);
  }

  /** The thread is gone. */
  close(): void {
    this.#phase = 'closed';
    for (const watch of this.#watches.values()) this.#forget(watch);
  }

  #forget(watch: Watch): void {
    this.#watches.delete(watch.id);
    this.#moved.delete(watch);
    if (watch.state !== 'failed') watch.state.view.detach();
  }

  #mark(watch: Watch): void {
    this.#moved.add(watch);
    if (this.#phase !== 'rest') return;
    this.#phase = 'due';
    setImmediate(() => void this.#tell());
  }

  async #tell(): Promise<void> {
    if (this.#phase !== 'due') return;
    this.#phase = 'telling';
    try {
      while (this.#moved.size > 0) await this.#options.tell(this.#takeMoves());
    } catch (error) {
      // The thread is gone, and `close` follows.
      this.#options.logger.warn({ err: error }, 'log_moves_not_told');
    }
    if (this.#is('telling')) this.#phase = 'rest';
  }

  #is(phase: 'telling' | 'closed'): boolean {
    return this.#phase === phase;
  }

  #takeMoves(): LogMove[] {
    const moves = [...this.#moved].map((watch) => this.#moveOf(watch));
    this.#moved.clear();
    return moves;
  }

  #moveOf(watch: Watch): LogMove {
    const { id, state } = watch;
    if (state === 'failed') {
      this.#forget(watch);
      return { watch: id, nextOffset: 0, life: 'dropped', notices: [] };
    }
    const { channel } = state.view;
    const { life, failure, nextOffset, noticeNumber } = channel;
    const notices = channel
      .noticesAfter(state.noticeNumber)
      .map(({ before, notice }) => ({ before, notice }));
    const move: LogMove = { watch: id, nextOffset, life, notices };
    if (!state.told) move.generation = channel.range()?.generation ?? null;
    state.noticeNumber = noticeNumber;
    state.told = true;
    if (failure !== undefined) move.failure = failure;
    if (!channel.current) this.#forget(watch);
    return move;
  }
}
