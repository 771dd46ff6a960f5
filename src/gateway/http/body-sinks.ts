/** Owns two readers of a body: one that gathers it, and one around another that may throw. */
import type { ServiceError } from '../../lib/errors.ts';
import type { BodySink } from '../transport.ts';

/** Hands over the whole body; after an abort it never does. */
export class WholeBody implements BodySink {
  readonly #take: (body: Buffer) => void;
  readonly #refuse: (reason: ServiceError) => void;
  readonly #keeps: boolean;
  readonly #chunks: Buffer[] = [];

  /** Unless it `keeps` them, `take` may be given bytes that are lent until it returns. */
  constructor(
    take: (body: Buffer) => void,
    refuse: (reason: ServiceError) => void,
    keeps: boolean,
  ) {
    this.#take = take;
    this.#refuse = refuse;
    this.#keeps = keeps;
  }

  lent(bytes: ArrayBuffer): boolean {
    if (this.#keeps) return false;
    this.#take(Buffer.from(bytes));
    return true;
  }

  chunk(bytes: ArrayBuffer): boolean {
    this.#chunks.push(Buffer.from(bytes.slice(0)));
    return true;
  }

  end(): void {
    const [first] = this.#chunks;
    this.#take(
      first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks),
    );
  }

  fail(reason: ServiceError | 'aborted'): void {
    if (reason !== 'aborted') this.#refuse(reason);
  }
}

/**
 * Fails the exchange with what another reader throws. The HTTP library calls readers, and an error that
 * reached the library would end the process.
 */
export class GuardedSink implements Required<BodySink> {
  readonly #sink: BodySink;
  readonly #exchange: { fail(thrown: unknown): void };

  constructor(sink: BodySink, exchange: { fail(thrown: unknown): void }) {
    this.#sink = sink;
    this.#exchange = exchange;
  }

  lent(bytes: ArrayBuffer): boolean {
    return this.#guarded(() => this.#sink.lent?.(bytes) ?? false, true);
  }

  chunk(bytes: ArrayBuffer): boolean {
    return this.#guarded(() => this.#sink.chunk(bytes), true);
  }

  end(): void {
    this.#guarded(() => this.#sink.end(), undefined);
  }

  fail(reason: ServiceError | 'aborted'): void {
    this.#guarded(() => this.#sink.fail(reason), undefined);
  }

  #guarded<T>(call: () => T, otherwise: T): T {
    try {
      return call();
    } catch (error) {
      this.#exchange.fail(error);
      return otherwise;
    }
  }
}
