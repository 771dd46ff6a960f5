/**
 * Owns what becomes of errors on this thread that nobody caught.
 *
 * 1. They are logged and counted, and the thread goes on serving: what was thrown is a request, a timer or
 *    an event of one, and nothing here is changed but by an actor (which is discarded by its own
 *    supervisor) or in a transaction (which is whole or not at all).
 * 2. What nobody may go on behind is not thrown but told, by whoever finds it: a store that cannot be
 *    written any more, a thread that is gone. `serve.ts` then ends the service in order.
 * 3. Before the service listens the default holds: a start that fails ends.
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

  /** From now on what nobody caught ends nothing on this thread. */
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

  /** While the process ends its log may be closed: a throw from here would end it before its time. */
  #tell(log: () => void): void {
    try {
      log();
    } catch {
      // There is nobody left to tell.
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
