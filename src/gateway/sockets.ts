/** Owns how many connections a gateway has, of all its threads, and which further ones it takes. */
import { Crowd, type CrowdOptions } from './crowd.ts';
import { type MetricFamily, singleSample } from './metrics-text.ts';
import { Peers } from './peers.ts';

/** What the threads that listen on a port share of its connections. */
export interface SharedSockets {
  /** The number of open connections of all threads, in its first element. */
  readonly sockets: Int32Array;
  readonly threads: number;
}

export interface SocketsOptions extends Omit<CrowdOptions, 'threads'> {
  shared: SharedSockets | null;
}

export class Sockets {
  readonly #options: SocketsOptions;
  readonly #peers = new Peers();
  readonly #crowd: Crowd;
  #own = 0;
  #refused = 0;

  constructor(options: SocketsOptions) {
    this.#options = options;
    this.#crowd = new Crowd({ ...options, threads: options.shared?.threads ?? 1 });
  }

  /** The address of every open connection of this thread; null when they have several. */
  get only(): string | null {
    return this.#peers.only;
  }

  get isCrowded(): boolean {
    const { shared } = this.#options;
    return this.#crowd.isCrowded(shared === null ? this.#own : Atomics.load(shared.sockets, 0));
  }

  /** Whether connections from the address are to make room for others. */
  mustYield(peer: string): boolean {
    return this.isCrowded && !this.#options.trusted(peer);
  }

  /** False: the connection is to be closed. It counts until then. */
  opened(peer: string): boolean {
    const sockets = this.#change(1);
    this.#peers.opened(peer);
    const admitted = this.#crowd.admits(peer, sockets) && sockets <= this.#options.maxSockets;
    if (!admitted) this.#refused += 1;
    return admitted;
  }

  closed(): void {
    this.#change(-1);
    this.#peers.closed();
  }

  families(): MetricFamily[] {
    return [
      singleSample('gangway_http_sockets', 'Open connections.', this.#own),
      singleSample(
        'gangway_http_refused_sockets_total',
        'Connections above the limit, or of who had too many.',
        this.#refused,
      ),
    ];
  }

  #change(change: 1 | -1): number {
    this.#own += change;
    const { shared } = this.#options;
    return shared === null ? this.#own : Atomics.add(shared.sockets, 0, change) + change;
  }
}
