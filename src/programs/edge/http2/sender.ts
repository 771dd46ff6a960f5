/**
 * Owns what a session sends.
 *
 * 1. All of one turn of the loop goes in one write: each costs a record of TLS and a call of the kernel.
 * 2. What concerns the connection goes first. Then streams send by rounds, a frame of data each.
 * 3. While the client takes nothing, streams wait. Of what else waits so much is kept, and no more.
 */
import type { TLSSocket } from 'node:tls';

import { firstWindow, windowMax } from './frames.ts';
import type { SendStream } from './send-stream.ts';

/** Of data in one write, and of what waits that is no stream's. */
const [turnBytes, controlMax] = [128 * 1024, 64 * 1024];

export class Sender {
  readonly #socket: TLSSocket;
  readonly #overwhelmed: () => void;
  readonly #next = (): void => this.#nextTurn();
  readonly #ready = new Set<SendStream>();
  /** Those that wait for the connection's window alone. */
  readonly #starved = new Set<SendStream>();
  #window = firstWindow;
  #control = '';
  #isScheduled = false;
  #isStopped = false;
  /** Data that is not sent, of all streams. */
  pending = 0;

  /** `overwhelmed`: the client asks for more than it takes. */
  constructor(socket: TLSSocket, overwhelmed: () => void) {
    this.#socket = socket;
    this.#overwhelmed = overwhelmed;
    socket.on('drain', this.#next);
  }

  /** Frames that are no stream's answer. */
  control(frames: string): void {
    this.#control += frames;
    if (this.#control.length > controlMax) this.#overwhelmed();
    else this.#schedule();
  }

  /** There is more to be sent of it. */
  ready(stream: SendStream): void {
    this.#ready.add(stream);
    this.#schedule();
  }

  forget(stream: SendStream): void {
    this.#ready.delete(stream);
    this.#starved.delete(stream);
    this.pending -= stream.pending;
    stream.drop();
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
    this.#socket.write(text, 'latin1');
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
    const frames = stream.take(this.#window);
    const taken = before - stream.pending;
    this.#window -= taken;
    this.pending -= taken;
    if (stream.isSendable(this.#window)) this.#ready.add(stream);
    else if (stream.pending > 0 && stream.hasWindow) this.#starved.add(stream);
    return frames;
  }

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
