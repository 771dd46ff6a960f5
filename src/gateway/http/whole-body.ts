/** Owns the gathering of a short body: one buffer out of chunks. */
import type { ServiceError } from '../../lib/errors.ts';
import type { BodySink } from '../transport.ts';

/** A sink that hands over the whole body; after an abort it never does. */
export class WholeBody implements BodySink {
  readonly #take: (body: Buffer) => void;
  readonly #refuse: (reason: ServiceError) => void;
  readonly #keeps: boolean;
  #chunks: Buffer[] | undefined;

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
    this.#chunks ??= [];
    this.#chunks.push(Buffer.from(bytes.slice(0)));
    return true;
  }

  end(): void {
    const chunks = this.#chunks ?? [];
    const [only] = chunks;
    this.#take(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
  }

  fail(reason: ServiceError | 'aborted'): void {
    if (reason !== 'aborted') this.#refuse(reason);
  }
}
