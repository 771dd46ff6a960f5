/**
 * Couples mirrored logs to live ones on one thread, for tests: messages are cloned as between threads,
 * and arrive in order when `deliver` is called, by itself in a later turn unless `held`.
 */
import { LogWatches } from '../../src/threads/log-watches.ts';
import type { LiveLogs } from '../../src/logs/live/live-logs.ts';
import { MirroredLogs } from '../../src/threads/mirrored-logs.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { LogReader } from '../../src/logs/files/log.ts';

/** What one side sent and the other has not got. */
class Wire {
  readonly #sent: (() => void)[] = [];
  readonly #held: boolean;

  constructor(held: boolean) {
    this.#held = held;
  }

  send<T>(message: T, arrive: (message: T) => void): Promise<void> {
    const copy = structuredClone(message);
    return new Promise((resolve) => {
      this.#sent.push(() => {
        arrive(copy);
        resolve();
      });
      if (!this.#held) setImmediate(() => this.deliver(1));
    });
  }

  get size(): number {
    return this.#sent.length;
  }

  deliver(count: number): void {
    for (const arrive of this.#sent.splice(0, count)) arrive();
  }
}

export interface MirrorOptions {
  streams: LiveLogs;
  reader: LogReader;
  logger: Logger;
  ringBytes?: number;
  held?: boolean;
}

export function mirrored({ streams, reader, logger, ringBytes, held = false }: MirrorOptions) {
  const home = new Wire(held);
  const thread = new Wire(held);
  const watches = new LogWatches({
    streams,
    logger,
    tell: (moves) => thread.send(moves, (got) => logs.moved(got)),
  });
  const logs = new MirroredLogs({
    reader,
    logger,
    watch: (message) => void home.send(message, (got) => watches.watch(got)),
    unwatch: (message) => void home.send(message, (got) => watches.unwatch(got)),
    ...(ringBytes !== undefined && { ringBytes }),
  });
  return { logs, watches, home, thread };
}
