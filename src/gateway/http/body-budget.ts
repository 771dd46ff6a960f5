/**
 * Owns the memory that whole bodies of strangers take, who are known only by what their bodies say.
 *
 * 1. The bytes of a body count from when they are here until its request is answered, or its client leaves.
 * 2. All bodies together have fewer than `bytesMax`. One may grow as far as there are bytes left: where many
 *    are large, short ones still come through.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange } from '../transport.ts';
import { WholeBody } from './body-sinks.ts';

export class BodyBudget {
  readonly #bytesMax: number;
  #held = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Gives `work` the body. Rejects as `Exchange.body` does, and with OVERLOADED. */
  async during(
    exchange: Pick<Exchange, 'streamBody'>,
    maxBytes: number,
    work: (body: Buffer) => Promise<void>,
  ): Promise<void> {
    let bytes = 0;
    let isOver = false;
    const letGo = (): void => {
      isOver = true;
      this.#held -= bytes;
      bytes = 0;
    };
    const body = await new Promise<Buffer>((resolve, reject) => {
      const whole = new WholeBody(resolve, reject, true);
      exchange.streamBody(maxBytes, {
        chunk: (chunk) => {
          // What the client still sent comes after a refusal, too.
          if (isOver) return false;
          bytes += chunk.byteLength;
          this.#held += chunk.byteLength;
          if (bytes <= this.#bytesMax - this.#held) return whole.chunk(chunk);
          letGo();
          reject(new ServiceError('OVERLOADED', 'Too much arrives at once. Send it again later.'));
          return false;
        },
        end: () => whole.end(),
        fail: (reason) => {
          letGo();
          whole.fail(reason);
        },
      });
    });
    try {
      await work(body);
    } finally {
      letGo();
    }
  }
}
