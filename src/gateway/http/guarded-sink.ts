/**
 * Owns catching the errors of a body's reader. The HTTP library calls the reader, and an error that
 * reached the library would end the process; it fails the exchange instead.
 */
import type { ServiceError } from '../../lib/errors.ts';
import type { BodySink } from '../transport.ts';

export class GuardedSink implements BodySink {
  readonly #sink: BodySink;
  readonly #exchange: { fail(thrown: unknown): void };

  constructor(sink: BodySink, exchange: { fail(thrown: unknown): void }) {
    this.#sink = sink;
    this.#exchange = exchange;
  }

  lent(bytes: ArrayBuffer): boolean {
    try {
      return this.#sink.lent?.(bytes) ?? false;
    } catch (error) {
      this.#exchange.fail(error);
      return true;
    }
  }

  chunk(bytes: ArrayBuffer): boolean {
    try {
      return this.#sink.chunk(bytes);
    } catch (error) {
      this.#exchange.fail(error);
      return true;
    }
  }

  end(): void {
    try {
      this.#sink.end();
    } catch (error) {
      this.#exchange.fail(error);
    }
  }

  fail(reason: ServiceError | 'aborted'): void {
    try {
      this.#sink.fail(reason);
    } catch (error) {
      this.#exchange.fail(error);
    }
  }
}
