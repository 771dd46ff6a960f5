/**
 * Owns bytes on their way out of a thread: sent in chunks, as many as the receiver has asked for.
 *
 * 1. No more bytes are under way than that, except what is written without waiting for room.
 * 2. When the receiver closes the port, waiting for room ends, and nothing more is sent.
 */
import type { MessagePort } from 'node:worker_threads';
import { asFailure } from '../task-failure.ts';
import type { SendReply } from './messages.ts';

const chunkBytesDefault = 64 * 1024;

class CalledOff extends Error {}

/** Sends what `work` writes, and how it ended. */
export async function sendThrough(
  port: MessagePort,
  work: (outlet: Outlet) => Promise<void>,
  chunkBytes?: number,
): Promise<void> {
  const outlet = new Outlet(port, chunkBytes);
  try {
    await work(outlet);
    outlet.end();
  } catch (error) {
    if (!(error instanceof CalledOff)) outlet.fail(error);
  }
}

export class Outlet {
  readonly #port: MessagePort;
  #room = 0;
  #isClosed = false;
  #wake: () => void = () => undefined;
  readonly #chunkBytes: number;
  /** Null while nothing is in it: who waits for room holds none. */
  #chunk: Buffer<ArrayBuffer> | null = null;
  #filled = 0;

  constructor(port: MessagePort, chunkBytes = chunkBytesDefault) {
    this.#port = port;
    this.#chunkBytes = chunkBytes;
    port.on('message', (bytes: number) => {
      this.#room += bytes;
      this.#wake();
    });
    port.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  /** Resolves when so many bytes may be written, all at once. Throws CalledOff. */
  async room(bytes = 1): Promise<void> {
    while (this.#room < bytes && !this.#isClosed) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#isClosed) throw new CalledOff();
  }

  begin(): void {
    this.#post({ type: 'begun' });
  }

  /** Copies the bytes. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) {
      const piece = bytes.subarray(done, done + this.#chunkBytes - this.#filled);
      this.#chunk ??= Buffer.allocUnsafeSlow(this.#chunkBytes);
      this.#chunk.set(piece, this.#filled);
      this.#filled += piece.length;
      done += piece.length;
      if (this.#filled === this.#chunkBytes) this.#flush();
    }
  }

  end(): void {
    this.#flush();
    this.#post({ type: 'end' });
  }

  fail(error: unknown): void {
    this.#post({ type: 'failed', failure: asFailure(error) });
  }

  #flush(): void {
    if (this.#chunk === null) return;
    const bytes = this.#chunk.subarray(0, this.#filled);
    this.#room -= bytes.length;
    this.#post({ type: 'chunk', bytes }, [this.#chunk.buffer]);
    this.#chunk = null;
    this.#filled = 0;
  }

  #post(reply: SendReply, transfer: ArrayBuffer[] = []): void {
    if (!this.#isClosed) this.#port.postMessage(reply, transfer);
  }
}
