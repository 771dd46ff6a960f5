/**
 * Owns what a session sends.
 *
 * 1. All of one turn of the loop goes in one write: each costs a record of TLS and a call of the kernel.
 * 2. What concerns the connection goes first. Then streams send by rounds, a frame of data each.
 * 3. While the client takes nothing, streams wait. Of what else waits so much is kept, and no more.
 * 4. A client that wants a smaller table of HPACK is told so with the next head, which is sent behind the word that its
 *    wish is known (RFC 9113, 4.3.1).
 */
import type { TLSSocket } from 'node:tls';

import { firstWindow, headersFrames, windowMax } from './frames.ts';
import { emptyTable } from './hpack-encoder.ts';
import type { Share } from './holdings.ts';
import type { HeadFrames, SendStream } from './send-stream.ts';

/** Of data in one write, and of what waits that is no stream's. */
const [turnBytes, controlMax] = [128 * 1024, 64 * 1024];

export class Sender {
  readonly #socket: TLSSocket;
  readonly #share: Share;
  readonly #overwhelmed: () => void;
  readonly #next = (): void => this.#nextTurn();
  readonly #ready = new Set<SendStream>();
  /** Those that wait for the connection's window alone. */
  readonly #starved = new Set<SendStream>();
  #window = firstWindow;
  #control = '';
  /** What the next head begins with. */
  #headStart = '';
  #isScheduled = false;
  #isStopped = false;
  #held = 0;
  /** What was written, and the client has not taken. */
  #written = 0;

  /** `overwhelmed`: the client asks for more than it takes. */
  constructor(socket: TLSSocket, share: Share, overwhelmed: () => void) {
    this.#socket = socket;
    this.#share = share;
    this.#overwhelmed = overwhelmed;
    socket.on('drain', () => {
      share.add(-this.#written);
      this.#written = 0;
      this.#nextTurn();
    });
  }

  /** Of all streams, what is not sent. */
  get held(): number {
    return this.#held;
  }

  /** Frames that are no stream's answer. */
  control(frames: string): void {
    this.#control += frames;
    if (this.#control.length > controlMax) this.#overwhelmed();
    else this.#schedule();
  }

  /** The client keeps less of what heads tell than it did. */
  emptyTable(): void {
    this.#headStart = emptyTable;
  }

  /** An answer that is whole, of a stream that is none. */
  answer(stream: number, block: string): void {
    this.control(this.#headFrames(stream, block, true));
  }

  /** There is more to be sent of it. */
  ready(stream: SendStream): void {
    this.#count(stream);
    this.#ready.add(stream);
    this.#schedule();
  }

  forget(stream: SendStream): void {
    this.#ready.delete(stream);
    this.#starved.delete(stream);
    stream.drop();
    this.#count(stream);
  }

  /** False: the window is larger than one may be. */
  widen(more: number): boolean {
    this.#window += more;
    for (const stream of this.#starved) this.ready(stream);
    this.#starved.clear();
    return this.#window <= windowMax;
  }

  /** Sends what may be sent now. */
  flush(): void {
    if (this.#isStopped || this.#socket.destroyed || this.#socket.writableNeedDrain) return;
    let text = this.#control;
    this.#control = '';
    const told: SendStream[] = [];
    // One that has more is behind all others again.
    for (const stream of this.#ready) {
      if (text.length >= turnBytes) break;
      this.#ready.delete(stream);
      text += this.#take(stream);
      told.push(stream);
    }
    if (text === '') return;
    if (!this.#socket.write(text, 'latin1')) {
      this.#written = text.length;
      this.#share.add(text.length);
    }
    if (this.#ready.size > 0) this.#schedule();
    for (const stream of told) stream.sent();
  }

  /** Nothing follows. */
  last(frames: string): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#socket.end(this.#control + frames, 'latin1');
  }

  #take(stream: SendStream): string {
    const before = stream.pending;
    const frames = stream.take(this.#window, this.#headFrames);
    this.#window -= before - stream.pending;
    this.#count(stream);
    if (stream.isSendable(this.#window)) this.#ready.add(stream);
    else if (stream.pending > 0 && stream.hasWindow) this.#starved.add(stream);
    return frames;
  }

  #count(stream: SendStream): void {
    const { held } = stream;
    const more = held - stream.counted;
    stream.counted = held;
    this.#held += more;
    this.#share.add(more);
  }

  readonly #headFrames: HeadFrames = (stream, block, endsStream) => {
    const whole = this.#headStart + block;
    this.#headStart = '';
    return headersFrames(stream, whole, endsStream);
  };

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next);
  }

  #nextTurn(): void {
    this.#isScheduled = false;
    this.flush();
  }
}
