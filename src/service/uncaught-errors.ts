/**
 * Owns the errors on this thread that nobody caught.
 *
 * 1. They are logged and counted, and the thread goes on serving. No state can be half changed by them: an
 *    actor is discarded by its supervisor, and a transaction is whole or not at all.
 * 2. Failures after which nothing may go on are not thrown but reported to `serve.ts`, which ends the
 *    service in order: a store that cannot be written any more, a thread that is gone.
 * 3. Until the service listens the default holds: an error ends the start.
 */
import type { MetricFamily } from '../gateway/metrics-text.ts';
import type { Logger } from '../lib/log.ts';

/** The events of `process` that this listens to; each thread has its own. */
export interface Uncaught {
  on(event: 'uncaughtException', listener: (error: unknown) => void): unknown;
  on(event: 'unhandledRejection', listener: (reason: unknown) => void): unknown;
}

export class LastResort {
  readonly #logger: Logger;
  readonly #counts = { exception: 0, rejection: 0 };

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** From now on uncaught errors do not end the process. */
  listen(uncaught: Uncaught = process): void {
    uncaught.on('uncaughtException', (err) => {
      this.#counts.exception += 1;
      this.#tell(() => this.#logger.error({ err }, 'exception_not_caught'));
    });
    uncaught.on('unhandledRejection', (err) => {
      this.#counts.rejection += 1;
      this.#tell(() => this.#logger.error({ err }, 'rejection_not_handled'));
    });
  }

  /** The log may be closed while the process ends; an error here would end it too early. */
  #tell(log: () => void): void {
    try {
      log();
    } catch {
      // The log is closed.
    }
  }

  families(): MetricFamily[] {
    return [
      {
        name: 'gangway_uncaught_errors_total',
        help: 'Errors that nobody caught: bugs that the service outlived.',
        type: 'counter',
        samples: Object.entries(this.#counts).map(([kind, value]) => ({ labels: { kind }, value })),
      },
    ];
  }
}
