/**
 * Owns one follow of one workload into its log.
 *
 * 1. It continues behind the last stored entry. So every entry is stored exactly once, whatever crashed
 *    in between.
 * 2. Only what is on disk is acknowledged; syncs are shared and spaced.
 * 3. While the disk refuses lines, the source waits and nothing is dropped.
 */
import type { Driver } from '../../drivers/driver.ts';
import type { LogEntry } from '../../protocol/workload.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogName, LogSource } from '../files/log.ts';
import type { LogWriter } from '../files/writer.ts';

const blockBytes = 64 * 1024;
const retryMinMs = 250;
const retryMaxMs = 10_000;

export interface FeedOptions {
  log: LogName;
  driver: Pick<Driver, 'follow' | 'acknowledge'>;
  workloadId: string;
  /** By which its lines are known in the log. */
  sourceId: string;
  signal: AbortSignal;
  writer: LogWriter;
  /** Stores lines and shows them to the viewers; throws what the writer throws. */
  append: (entries: readonly LogEntry[], source: LogSource) => void;
  clock: Clock;
  logger: Logger;
  /** Time between two syncs while lines come. */
  syncMs: number;
  /** Called once for each time in which lines cannot be stored. */
  onStorageFailure: () => void;
}

/** Runs until the workload's end is stored, or the signal aborts. Never rejects. */
export async function runFeed(options: FeedOptions): Promise<void> {
  await new Feed(options).run();
}

class Feed {
  readonly #options: FeedOptions;
  #storedSeq = 0;
  #acknowledgedSeq = 0;
  /** Set when entries were given up without being stored. Then no later entry may be stored either. */
  #broken = false;
  #syncing: Promise<void> | undefined;
  /** Aborts when nothing more will be stored, so that the last sync need not wait. */
  readonly #finished = new AbortController();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { driver, log, logger, signal, workloadId, sourceId, writer } = this.#options;
    this.#storedSeq = writer.lastSeq(log, sourceId);
    // An earlier feed may have stored entries that it did not acknowledge.
    this.#syncSoon();
    const aborted = (): boolean => signal.aborted;
    for (let waitMs = retryMinMs; !aborted(); waitMs = Math.min(waitMs * 2, retryMaxMs)) {
      const before = this.#storedSeq;
      try {
        await driver.follow(workloadId, before, (entries) => this.#take(entries), signal);
        break;
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'NOT_FOUND') break;
        if (aborted()) break;
        logger.warn({ log, workloadId, err: error }, 'log_follow_failed');
        if (this.#storedSeq > before) waitMs = retryMinMs;
        await waited(this.#options.clock, waitMs, signal);
      }
    }
    this.#finished.abort();
    await this.#syncing;
    await this.#syncOnce();
  }

  async #take(entries: readonly LogEntry[]): Promise<void> {
    const fresh = entries.filter((entry) => entry.seq > this.#storedSeq);
    for (const block of blocks(fresh)) {
      if (!(await this.#store(block))) return;
    }
  }

  async #store(block: readonly LogEntry[]): Promise<boolean> {
    const { clock, log, logger, signal, workloadId, sourceId: id } = this.#options;
    const seq = block.at(-1)?.seq ?? this.#storedSeq;
    for (let waitMs = retryMinMs; ; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
      if (this.#broken) return false;
      try {
        this.#options.append(block, { id, seq });
        if (waitMs > retryMinMs) logger.info({ log, workloadId }, 'log_append_recovered');
        this.#storedSeq = seq;
        this.#syncSoon();
        return true;
      } catch (error) {
        if (waitMs === retryMinMs) {
          logger.error({ log, workloadId, err: error }, 'log_append_failed');
          this.#options.onStorageFailure();
        }
        this.#broken = signal.aborted || !(await waited(clock, waitMs, signal));
      }
    }
  }

  #syncSoon(): void {
    if (this.#syncing !== undefined || this.#storedSeq === this.#acknowledgedSeq) return;
    this.#syncing = this.#syncLater().finally(() => {
      this.#syncing = undefined;
    });
  }

  async #syncLater(): Promise<void> {
    const { clock, syncMs } = this.#options;
    while (this.#storedSeq !== this.#acknowledgedSeq) {
      if (!(await waited(clock, syncMs, this.#finished.signal))) return;
      await this.#syncOnce();
    }
  }

  async #syncOnce(): Promise<void> {
    const { driver, log, logger, workloadId, writer } = this.#options;
    const seq = this.#storedSeq;
    if (seq === this.#acknowledgedSeq) return;
    try {
      await writer.sync(log);
      driver.acknowledge(workloadId, seq);
      this.#acknowledgedSeq = seq;
    } catch (error) {
      // Nothing was acknowledged: the source keeps its entries.
      logger.error({ log, workloadId, err: error }, 'log_sync_failed');
    }
  }
}

/** Entries in groups of about 64 KiB, each stored as one block. */
function* blocks(entries: readonly LogEntry[]): Generator<readonly LogEntry[]> {
  let from = 0;
  let bytes = 0;
  for (const [i, entry] of entries.entries()) {
    if (bytes > 0 && bytes + entry.bytes.length > blockBytes) {
      yield entries.slice(from, i);
      from = i;
      bytes = 0;
    }
    bytes += entry.bytes.length;
  }
  if (from < entries.length) yield entries.slice(from);
}

/** Waits. False when the signal aborted before the time was over. */
function waited(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
  return pause(clock, delayMs, signal).then(
    () => true,
    () => false,
  );
}
