/** Owns writing to a stream no faster than its client reads. */
import type { ResponseStream } from '../transport.ts';

export class PacedStream {
  readonly #stream: ResponseStream;
  readonly #signal: AbortSignal;
  #isFull = false;
  #writable: (() => void) | null = null;

  /** `signal` ends the waiting: the client has left, or the stream is to end. */
  constructor(stream: ResponseStream, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.onWritable(() => this.#resume());
    signal.addEventListener('abort', () => this.#resume(), { once: true });
  }

  /** Writes, and waits until more can be written; false when nothing more should be. */
  async write(chunk: Uint8Array | string): Promise<boolean> {
    if (this.#stream.closed) return false;
    this.#isFull = !this.#stream.write(chunk);
    if (this.#isFull && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#writable = resolve;
      });
    }
    return !this.#isOver();
  }

  /** Writes unless the socket is full. */
  writeIfIdle(chunk: string): void {
    if (!this.#isFull && !this.#stream.closed) this.#isFull = !this.#stream.write(chunk);
  }

  #isOver(): boolean {
    return this.#stream.closed || this.#signal.aborted;
  }

  #resume(): void {
    this.#isFull = false;
    this.#writable?.();
    this.#writable = null;
  }
}
