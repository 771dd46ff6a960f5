/**
 * Owns whom the gateway takes when most of its connections are open, so that nobody can have them all. Who
 * has a connection is its network; all of loopback is one. A trusted proxy comes for many and is never held
 * back.
 *
 * 1. Anybody may open a connection until three quarters of them are open. Beyond, the gateway is crowded.
 * 2. While it is crowded, a network gets no further connection that opened an eighth of all lately, or has
 *    requests under way on a quarter of all.
 * 3. While it is crowded, a connection is closed with its answer.
 *
 * The HTTP library tells that a connection has closed, not which one. Yet a connection without a request
 * under way lives for no longer than `idleMs`, or until its next request, which then is its last. So all that a
 * network has is what it opened lately and its requests under way.
 */
import type { Clock } from '../lib/clock.ts';
import { type InNetworks, sourceOf } from '../lib/networks.ts';
import { type Limit, RateLimit, type RateLimitOptions } from '../lib/rate-limit.ts';

export interface CrowdOptions {
  /** Of all threads together. */
  maxSockets: number;
  /** Threads that listen on the port. */
  threads: number;
  trusted: InNetworks;
  /** The addresses of requests under way on this thread. */
  peers: () => Iterable<string>;
  clock: Clock;
  /** Makes the limit of what a network opens. Default: of this thread alone. */
  newLimit?: (name: string, options: RateLimitOptions) => Limit;
}

/** The library closes a connection that brings no whole head in 10 s, which it looks at every 4 s. */
const idleMs = 14_000;
/** How long a count of the requests under way is good. */
const countedMs = 1000;

export class Crowd {
  readonly #options: CrowdOptions;
  readonly #crowdedAt: number;
  readonly #requestsMax: number;
  readonly #opened: Limit;
  #counts: ReadonlyMap<string, number> = new Map();
  #countedAtMs = -Infinity;

  constructor(options: CrowdOptions) {
    const { maxSockets, threads, clock, newLimit = ownLimit } = options;
    this.#options = options;
    this.#crowdedAt = Math.floor((maxSockets * 3) / 4);
    this.#requestsMax = maxSockets / 4 / threads;
    const burst = Math.ceil(maxSockets / 8);
    this.#opened = newLimit('connections', { burst, windowMs: idleMs, clock });
  }

  /** Whether `sockets` are so many that they have to be shared. */
  isCrowded(sockets: number): boolean {
    return sockets > this.#crowdedAt;
  }

  /** Counts a connection that is opened; false: it is to be closed. `sockets` has it counted already. */
  admits(address: string, sockets: number): boolean {
    const source = sourceOf(address);
    const waitS = this.#opened.take(source);
    if (!this.isCrowded(sockets) || this.#options.trusted(address)) return true;
    return waitS === 0 && this.#requestsOf(source) < this.#requestsMax;
  }

  #requestsOf(source: string): number {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#countedAtMs >= countedMs) {
      this.#countedAtMs = nowMs;
      this.#counts = this.#count();
    }
    return this.#counts.get(source) ?? 0;
  }

  #count(): Map<string, number> {
    const bySource = new Map<string, number>();
    for (const peer of this.#options.peers()) {
      const source = sourceOf(peer);
      bySource.set(source, (bySource.get(source) ?? 0) + 1);
    }
    return bySource;
  }
}

function ownLimit(_name: string, options: RateLimitOptions): Limit {
  return new RateLimit(options);
}
