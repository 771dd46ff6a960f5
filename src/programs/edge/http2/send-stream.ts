/**
 * Owns what of a stream's answer is still to be sent.
 *
 * 1. Data is sent as far as the windows of the stream and of the connection let it.
 * 2. The end goes with the last frame: an answer that is whole when its turn comes has no empty frame behind it.
 */
import { frameBytesMax, frameFlags, frameHead, frameTypes, windowMax } from './frames.ts';

/** What a piece of data takes besides its bytes: an app may send them one by one. */
const pieceBytes = 64;

/** Writes a head that is sent next. */
export type HeadFrames = (stream: number, block: string, endsStream: boolean) => string;

export class SendStream {
  readonly id: number;
  /** Told when some of it was sent. */
  readonly sent: () => void;
  /** Of data that is not sent. */
  pending = 0;
  /** What its session has counted of it. */
  counted = 0;
  isOver = false;
  #window: number;
  /** Heads that come before the one of the answer. */
  readonly #interim: string[] = [];
  #head = '';
  readonly #pieces: string[] = [];
  /** How much of the first piece is sent. */
  #at = 0;
  #trailers = '';
  /** Of heads that are not sent. */
  #headBytes = 0;
  #isEnded = false;

  constructor(id: number, window: number, sent: () => void) {
    this.id = id;
    this.#window = window;
    this.sent = sent;
  }

  /** Of a blocked one: it waits for the connection alone. */
  get hasWindow(): boolean {
    return this.#window > 0;
  }

  /** What is not sent of it, with what that takes. */
  get held(): number {
    return this.pending + this.#headBytes + this.#pieces.length * pieceBytes;
  }

  interim(block: string): void {
    this.#headBytes += block.length;
    this.#interim.push(block);
  }

  head(block: string): void {
    this.#headBytes += block.length;
    this.#head = block;
  }

  data(text: string): void {
    this.#pieces.push(text);
    this.pending += text.length;
  }

  /** `trailers`: their block, or nothing. */
  end(trailers: string): void {
    this.#trailers = trailers;
    this.#isEnded = true;
  }

  /** False: the window is larger than one may be. `more` is less than 0 where a setting takes some back. */
  widen(more: number): boolean {
    this.#window += more;
    return this.#window <= windowMax;
  }

  /** Whether there is a frame that may be sent now. */
  isSendable(connectionWindow: number): boolean {
    if (this.isOver) return false;
    if (this.#interim.length > 0 || this.#head !== '') return true;
    if (this.pending > 0) return this.#window > 0 && connectionWindow > 0;
    return this.#isEnded;
  }

  /** Its next frames, with one of data at most. */
  take(connectionWindow: number, headFrames: HeadFrames): string {
    let text = '';
    for (const block of this.#interim.splice(0)) text += headFrames(this.id, block, false);
    if (this.#head !== '') {
      this.isOver = this.#isLast();
      text += headFrames(this.id, this.#head, this.isOver);
      this.#head = '';
    }
    this.#headBytes = 0;
    const length = Math.min(this.pending, this.#window, connectionWindow, frameBytesMax);
    if (length > 0) text += this.#takeData(length);
    if (this.pending > 0 || this.isOver || !this.#isEnded) return text;
    this.isOver = true;
    if (this.#trailers !== '') return text + headFrames(this.id, this.#trailers, true);
    return text + frameHead(0, frameTypes.data, frameFlags.endStream, this.id);
  }

  /** What is not sent never will be. */
  drop(): void {
    this.isOver = true;
    this.pending = 0;
    this.#headBytes = 0;
    this.#interim.length = 0;
    this.#head = '';
    this.#pieces.length = 0;
  }

  #isLast(): boolean {
    return this.#isEnded && this.pending === 0 && this.#trailers === '';
  }

  #takeData(length: number): string {
    const data = this.#nextData(length);
    this.pending -= length;
    this.#window -= length;
    this.isOver = this.#isLast();
    const flags = this.isOver ? frameFlags.endStream : 0;
    return frameHead(length, frameTypes.data, flags, this.id) + data;
  }

  #nextData(length: number): string {
    let text = '';
    let used = 0;
    for (let piece = this.#pieces[0]; piece !== undefined; piece = this.#pieces[used]) {
      const missing = length - text.length;
      if (missing === 0) break;
      const end = Math.min(piece.length, this.#at + missing);
      text += this.#at === 0 && end === piece.length ? piece : piece.slice(this.#at, end);
      this.#at = end;
      if (end < piece.length) break;
      this.#at = 0;
      used++;
    }
    this.#pieces.splice(0, used);
    return text;
  }
}
