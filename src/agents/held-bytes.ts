/**
 * Owns how much visitors may leave unread together on one connection of an agent: beyond it, streams are broken off until
 * it is enough. The first is the one of which nothing was taken for longest.
 */
import http2 from 'node:http2';

interface Held {
  came: number;
  /** As it was last looked at. */
  taken: number;
}

/** It is looked at what waits each time that so much has come. */
const lookBytes = 1024 * 1024;
/** Streams of which less waits are left alone. */
const littleBytes = 64 * 1024;

export class HeldBytes {
  readonly #maxBytes: number;
  /** In the order in which something was last taken of them, as far as that was seen. */
  readonly #streams = new Map<http2.Http2Stream, Held>();
  #cameSinceLook = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Before its first byte. */
  watch(stream: http2.Http2Stream): void {
    const held: Held = { came: 0, taken: 0 };
    this.#streams.set(stream, held);
    stream.once('close', () => this.#streams.delete(stream));
    const push = stream.push.bind(stream);
    stream.push = (chunk: Uint8Array | null) => {
      const hasRoom = push(chunk);
      const bytes = chunk?.length ?? 0;
      held.came += bytes;
      this.#cameSinceLook += bytes;
      if (this.#cameSinceLook >= lookBytes) this.#look();
      return hasRoom;
    };
  }

  #look(): void {
    this.#cameSinceLook = 0;
    let sum = 0;
    for (const [stream, held] of [...this.#streams]) {
      sum += stream.readableLength;
      const taken = held.came - stream.readableLength;
      if (taken === held.taken) continue;
      held.taken = taken;
      this.#streams.delete(stream);
      this.#streams.set(stream, held);
    }
    for (const stream of this.#streams.keys()) {
      if (sum <= this.#maxBytes) return;
      if (stream.readableLength < littleBytes) continue;
      sum -= stream.readableLength;
      this.#streams.delete(stream);
      stream.close(http2.constants.NGHTTP2_CANCEL);
      // One that is closed alone keeps what waits until it is read.
      stream.destroy();
    }
  }
}
