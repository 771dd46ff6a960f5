/**
 * Owns the fence around a reader of a body: its methods run inside callbacks of the HTTP library,
 * where a throw would end the process, and fail the exchange instead.
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
