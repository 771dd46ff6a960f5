/**
 * Owns one stream of HTTP/2 as plain bytes both ways, the same for who opened and who answers it.
 *
 * 1. It ends when the other side has said that all was sent. Whatever else stops the bytes is an error, never an end.
 *    So pieces go with their lengths, and an empty one is the last: Node ends a stream that it breaks off, and
 *    trailers of a stream that breaks off at the wrong moment abort its process.
 * 2. Who destroys it before both sides have ended breaks it for the other side, too.
 * 3. What nobody reads here stays with the other side, but for the window of the stream.
 */
import http2 from 'node:http2';
import { Duplex } from 'node:stream';

import { lumpedPush } from './small-pieces.ts';

export interface Http2DuplexOptions {
  stream: http2.Http2Stream;
  /** Answers the other side with 200, unless that is done; called before the first byte leaves. */
  accept?: () => void;
  /** What it breaks with where nobody here broke it. */
  broken: () => Error;
}

interface Written {
  chunk: Buffer;
}

const headBytes = 4;

export class Http2Duplex extends Duplex {
  readonly #stream: http2.Http2Stream;
  readonly #broken: () => Error;
  readonly #accept: (() => void) | undefined;
  readonly #push = lumpedPush(this);
  readonly #head = Buffer.alloc(headBytes);
  #headFilled = 0;
  /** Bytes of the piece that is arriving. */
  #left = 0;
  #hasEnded = false;

  constructor({ stream, accept, broken }: Http2DuplexOptions) {
    super({ allowHalfOpen: true });
    this.#stream = stream;
    this.#broken = broken;
    this.#accept = accept;
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('error', () => this.destroy(this.#broken()));
    for (const event of ['end', 'close']) {
      stream.once(event, () => {
        if (!this.#hasEnded || (event === 'close' && !this.writableFinished)) {
          this.destroy(this.#broken());
        }
      });
    }
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this._writev([{ chunk }], done);
  }

  override _writev(chunks: readonly Written[], done: (error?: Error | null) => void): void {
    const pieces = chunks.map(({ chunk }) => chunk).filter(({ length }) => length > 0);
    const last = pieces.pop();
    if (last === undefined) {
      done();
      return;
    }
    this.#accept?.();
    const stream = this.#stream;
    stream.cork();
    for (const piece of pieces) {
      stream.write(headOf(piece.length));
      stream.write(piece);
    }
    stream.write(headOf(last.length));
    // The end of an empty write is never told: the last one has to have bytes.
    stream.write(last, (error) => done(error ? this.#broken() : null));
    stream.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#accept?.();
    this.#stream.end(headOf(0), () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const isOver = this.#hasEnded && this.writableFinished && error === null;
    if (!this.#stream.closed && !isOver) this.#stream.close(http2.constants.NGHTTP2_CANCEL);
    done(error);
  }

  #take(chunk: Buffer): void {
    let hasRoom = true;
    for (let at = 0; at < chunk.length && !this.#hasEnded && !this.destroyed;) {
      if (this.#left > 0) {
        const part = chunk.subarray(at, at + this.#left);
        this.#left -= part.length;
        at += part.length;
        hasRoom = this.#push(part);
        continue;
      }
      this.#head[this.#headFilled++] = chunk[at++] ?? 0;
      if (this.#headFilled < headBytes) continue;
      this.#headFilled = 0;
      this.#left = this.#head.readUInt32BE();
      if (this.#left > 0) continue;
      this.#hasEnded = true;
      this.push(null);
    }
    if (!hasRoom) this.#stream.pause();
  }
}

function headOf(bytes: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(bytes);
  return head;
}
