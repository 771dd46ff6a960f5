/** Owns the memory into which a thread reads artifacts: a few buffers for all of them, by turns. */
import { sealedBytes } from '../streams/age/payload.ts';

/** As many as Node reads from files at a time. */
const count = 4;

export class ReadBuffers {
  readonly #free: Buffer[] = Array.from({ length: count }, () =>
    Buffer.allocUnsafeSlow(sealedBytes),
  );
  readonly #waiting: ((buffer: Buffer) => void)[] = [];

  /** A chunk of an age file fits in. To be given back; nobody keeps one while it waits for a receiver. */
  async take(): Promise<Buffer> {
    return this.#free.pop() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  give(buffer: Buffer): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(buffer);
    else next(buffer);
  }
}
