/**
 * Owns the body of a restore on its way into a file. Its beginning is held until somebody has decided about it;
 * the client is paused meanwhile.
 */
import type { ReceivedFile } from '../../archives/bulk-messages.ts';
import type { IncomingFile } from '../../archives/receiving/bulk-lane.ts';
import type { ServiceError } from '../../lib/errors.ts';
import type { BodyFlow, BodySink } from '../transport.ts';

/** The client left: there is nobody to answer. */
export class ClientLeft extends Error {}

export class ArtifactBody implements BodySink {
  flow: BodyFlow | null = null;
  /** Is told how many bytes have come. */
  progress: (bytes: number) => void = () => undefined;
  readonly #headBytes: number;
  readonly #head = Promise.withResolvers<Uint8Array>();
  readonly #received = Promise.withResolvers<ReceivedFile>();
  #held: ArrayBuffer[] = [];
  #bytes = 0;
  #incoming: IncomingFile | null = null;
  #isEnded = false;
  #failure: Error | null = null;

  constructor(headBytes: number) {
    this.#headBytes = headBytes;
    // Whoever waits for one of them hears of a failure.
    this.#head.promise.catch(() => undefined);
    this.#received.promise.catch(() => undefined);
  }

  /** The first bytes, all that there are when there are fewer. Rejects as `into`. */
  get head(): Promise<Uint8Array> {
    return this.#head.promise;
  }

  /** Writes everything into the file. Rejects with ClientLeft, and with the errors of body and file. */
  async into(incoming: IncomingFile): Promise<ReceivedFile> {
    if (this.#failure !== null) {
      await incoming.abort();
      throw this.#failure;
    }
    this.#incoming = incoming;
    for (const bytes of this.#held.splice(0)) incoming.write(bytes);
    if (this.#isEnded) this.#finish(incoming);
    else this.flow?.resume();
    return this.#received.promise;
  }

  /** The file cannot be written. */
  broke(error: Error): void {
    this.#failure ??= error;
    this.#received.reject(error);
  }

  chunk(bytes: ArrayBuffer): boolean {
    this.#bytes += bytes.byteLength;
    this.progress(this.#bytes);
    if (this.#incoming !== null) return this.#failure === null && this.#incoming.write(bytes);
    this.#held.push(bytes.slice(0));
    if (this.#bytes < this.#headBytes) return true;
    this.#showHead();
    return false;
  }

  end(): void {
    this.#isEnded = true;
    this.#showHead();
    if (this.#incoming !== null && this.#failure === null) this.#finish(this.#incoming);
  }

  fail(reason: ServiceError | 'aborted'): void {
    const error = reason === 'aborted' ? new ClientLeft() : reason;
    this.#failure ??= error;
    this.#head.reject(error);
    void (this.#incoming?.abort() ?? Promise.resolve()).then(() => this.#received.reject(error));
  }

  #finish(incoming: IncomingFile): void {
    incoming.end().then(this.#received.resolve, this.#received.reject);
  }

  #showHead(): void {
    const parts = this.#held.map((part) => Buffer.from(part));
    this.#head.resolve(Buffer.concat(parts).subarray(0, this.#headBytes));
  }
}
