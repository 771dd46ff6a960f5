/** Owns the exchanges in flight: their bounds on time, and the wait for their end. */
import { type Clock, every } from '../../lib/clock.ts';
import type { ServiceError } from '../../lib/errors.ts';
import type { HttpExchange } from './exchange.ts';

/** Time between two looks for clients that have their answer. */
const letGoEveryMs = 200;

export class InFlight {
  readonly #clock: Clock;
  readonly #guarded: (work: () => void) => void;
  readonly #exchanges = new Set<HttpExchange>();
  #stopTicking: () => void = () => undefined;
  #emptied: () => void = () => undefined;

  /** `guarded` catches the errors of one exchange, so that the others have their turn. */
  constructor(clock: Clock, guarded: (work: () => void) => void) {
    this.#clock = clock;
    this.#guarded = guarded;
  }

  get size(): number {
    return this.#exchanges.size;
  }

  /** How many answers are streams. */
  streams(): number {
    let count = 0;
    for (const exchange of this.#exchanges) if (exchange.streamed) count += 1;
    return count;
  }

  /** The addresses that their connections come from. */
  *peers(): Iterable<string> {
    for (const { peer } of this.#exchanges) yield peer;
  }

  add(exchange: HttpExchange): void {
    this.#exchanges.add(exchange);
  }

  delete(exchange: HttpExchange): void {
    if (this.#exchanges.delete(exchange) && this.size === 0) this.#emptied();
  }

  /** Has every exchange check its bounds, often enough for the shortest of them. */
  watch(smallestMs: number): void {
    // The library closes stalled sockets after 8 to 12 s unless a tick renews its timer.
    const everyMs = Math.min(Math.max(smallestMs / 4, 10), 4000);
    this.#stopTicking = every(this.#clock, everyMs, () => {
      const nowMs = this.#clock.now();
      for (const exchange of [...this.#exchanges]) this.#guarded(() => exchange.tick(nowMs));
    });
  }

  refuseBodies(error: ServiceError): void {
    for (const exchange of [...this.#exchanges]) exchange.refuseBody(error);
  }

  abortAll(): void {
    for (const exchange of [...this.#exchanges]) exchange.abort();
  }

  /**
   * Resolves when nothing is in flight, or after `ms`. Clients that have their answer and send no more are
   * not waited for.
   */
  async emptyWithin(ms: number): Promise<void> {
    if (this.size === 0) return;
    const stopLooking = every(this.#clock, letGoEveryMs, () => {
      const nowMs = this.#clock.now();
      for (const exchange of [...this.#exchanges]) exchange.letGo(nowMs);
    });
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#emptied = () => {
        cancel();
        resolve();
      };
    });
    stopLooking();
  }

  stop(): void {
    this.#stopTicking();
    this.#emptied();
  }
}
