/**
 * Owns the errors on this thread that nobody caught.
 *
 * 1. Such an error is logged and counted, and the thread continues to serve. It leaves no state half
 *    changed: a supervisor discards the actor, and a transaction is whole or not at all.
 * 2. After some failures nothing may continue: a store that cannot be written any more, a thread that is
 *    gone. Those are not thrown but reported to `serve.ts`, which ends the service in order.
 * 3. Until the service listens the default holds: an error ends the start.
 */
import type { MetricFamily } from '../gateway/metrics-text.ts';
import type { Logger } from '../lib/log.ts';

/** The events of `process` that matter here; each thread has its own. */
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

  /** The log may be closed while the process ends. An error here would end it too early. */
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
