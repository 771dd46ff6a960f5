/**
 * Owns whether the other side of an HTTP/2 connection is still there.
 *
 * 1. Every byte of it is a sign of life: an answer may wait behind much else on a slow line.
 * 2. A side that sends nothing for `silenceMs` is gone; so is one that sends, but does not answer for `answerMs`.
 * 3. Who expects a sign of it hears of silence while the connection lasts, and when it ends of silence. One that ends of
 *    anything else may be followed by another.
 * 4. A stall of this process is not taken for silence: time is counted in beats, each of which has the chance to
 *    take what has come.
 */
import type { Http2Session } from 'node:http2';

import { type Clock, every, whenLate } from './clock.ts';

export interface PulseOptions {
  session: Pick<Http2Session, 'ping' | 'closed' | 'destroyed'>;
  /** How many bytes have come so far. */
  received: () => number;
  clock: Clock;
  /** Once. */
  onGone: () => void;
  /** A question was answered after so long. They are asked often while much comes. */
  onAnswer?: (ms: number) => void;
  silenceMs?: number;
  answerMs?: number;
}

interface Expectation {
  forget: () => void;
  fail: () => void;
}

/** Of `silenceMs`, and of the time of an expectation. */
const beats = 4;
/** Of a beat. In each of them with so many bytes it is asked, too. */
const ticks = 4;
const muchBytes = 16 * 1024;

export class Pulse {
  readonly #options: PulseOptions;
  readonly #answerBeats: number;
  readonly #cancel: () => void;
  #seen = 0;
  #seenAtTick = 0;
  #tick = 0;
  #silentBeats = 0;
  /** Since the question that is not answered was sent; null: none is under way. */
  #unansweredBeats: number | null = null;
  #isClosed = false;
  readonly #expecting = new Set<Expectation>();

  constructor(options: PulseOptions) {
    this.#options = options;
    const { clock, silenceMs = 8_000, answerMs = 60_000 } = options;
    const beatMs = silenceMs / beats;
    this.#answerBeats = Math.ceil(answerMs / beatMs);
    this.#cancel = every(clock, beatMs / ticks, () => {
      this.#tick = (this.#tick + 1) % ticks;
      if (this.#tick === 0) whenLate(clock, 0, () => this.#beat());
      else this.#measure();
    });
  }

  /** Calls back once when no byte comes within that time. The returned function ends it. */
  expect(withinMs: number, onSilence: () => void): () => void {
    const { clock, received } = this.#options;
    const before = received();
    this.#ask();
    let left = beats;
    const cancel = every(clock, withinMs / beats, () => {
      if (received() !== before) forget();
      else if ((left -= 1) === 0) expectation.fail();
    });
    const forget = (): void => {
      cancel();
      this.#expecting.delete(expectation);
    };
    const fail = (): void => {
      forget();
      onSilence();
    };
    const expectation = { forget, fail };
    this.#expecting.add(expectation);
    return forget;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
    for (const { forget } of this.#expecting) forget();
  }

  #measure(): void {
    const bytes = this.#options.received();
    if (bytes - this.#seenAtTick >= muchBytes) this.#ask();
    this.#seenAtTick = bytes;
  }

  #beat(): void {
    if (this.#isClosed) return;
    const bytes = this.#options.received();
    this.#silentBeats = bytes === this.#seen ? this.#silentBeats + 1 : 0;
    this.#seen = bytes;
    if (this.#unansweredBeats !== null) this.#unansweredBeats += 1;
    if (this.#silentBeats < beats && (this.#unansweredBeats ?? 0) < this.#answerBeats) {
      this.#ask();
      return;
    }
    for (const { fail } of this.#expecting) fail();
    this.close();
    this.#options.onGone();
  }

  #ask(): void {
    const { session } = this.#options;
    if (this.#unansweredBeats !== null || session.destroyed || session.closed) return;
    // False when it cannot be sent: then it is asked again at the next beat.
    const isSent = session.ping((error, ms) => {
      this.#unansweredBeats = null;
      if (error === null) this.#options.onAnswer?.(ms);
    });
    if (isSent) this.#unansweredBeats = 0;
  }
}
