/**
 * Owns how much of an HTTP/2 connection may be on its way to us: as much as the line takes without a queue. On a slow line
 * whatever more is sent waits in front of it, and with it what somebody waits for.
 *
 * The time of an answer tells: well above the shortest that was seen, the window is halved; near it, it grows.
 */
import type { Http2Session } from 'node:http2';

export interface WindowBounds {
  min: number;
  start: number;
  max: number;
}

/** Answers that are slower by so much are due to a queue. */
const [queueFactor, queueMs] = [2, 150];
const [freeFactor, freeMs] = [1.5, 50];
/** The shortest time is forgotten by and by: the way may have become a longer one. */
const forgetFactor = 1.01;

export class FittingWindow {
  readonly #session: Pick<Http2Session, 'setLocalWindowSize' | 'destroyed'>;
  readonly #bounds: WindowBounds;
  #bytes: number;
  #shortestMs = Infinity;

  constructor(
    session: Pick<Http2Session, 'setLocalWindowSize' | 'destroyed'>,
    bounds: WindowBounds,
  ) {
    this.#session = session;
    this.#bounds = bounds;
    this.#bytes = bounds.start;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Call this once the connection is there. */
  open(): void {
    this.#session.setLocalWindowSize(this.#bytes);
  }

  /** A question was answered after so long. */
  answered(ms: number): void {
    this.#shortestMs = Math.min(this.#shortestMs * forgetFactor, ms);
    const { min, max } = this.#bounds;
    let bytes = this.#bytes;
    if (ms > queueFactor * this.#shortestMs + queueMs) bytes = Math.max(min, bytes / 2);
    else if (ms < freeFactor * this.#shortestMs + freeMs) bytes = Math.min(max, bytes * 1.5);
    bytes = Math.floor(bytes);
    if (bytes === this.#bytes || this.#session.destroyed) return;
    this.#bytes = bytes;
    this.#session.setLocalWindowSize(bytes);
  }
}
