/**
 * Owns a line of the tests between two TCP ends: it delays, limits, stops and cuts what flows, as a bad network does.
 */
import net from 'node:net';

export interface LineOptions {
  /** One way. */
  delayMs?: number;
  /** Each way, of all connections together. */
  bytesPerS?: number;
}

export interface LinePlace {
  /** Where it listens; default 127.0.0.1 and any port. */
  host?: string;
  port?: number;
}

export interface SlowLine {
  readonly port: number;
  /** Connections at the moment. */
  readonly open: number;
  /** How many were ever made. */
  readonly made: number;
  /** Bytes so far, in the direction of the target and back. */
  readonly carried: { there: number; back: number };
  /** Nothing passes any more, and nobody is told: as when a cable is pulled. New connections hang. */
  pull(): void;
  /** What is there flows again, and new connections are made. */
  plug(): void;
  /** Ends all connections, as a restart on the way does. */
  cut(): void;
  /** From now on, for all connections; what is not named is as if there were no line. */
  becomes(options: LineOptions): void;
  close(): Promise<void>;
}

/** What may wait within the line, one way of one connection, besides what is on its way. */
const queueBytes = 64 * 1024;

/** `target`: a port of 127.0.0.1. */
export async function slowLine(
  target: () => number,
  options: LineOptions & LinePlace = {},
): Promise<SlowLine> {
  const { host = '127.0.0.1', port = 0 } = options;
  const quality = { there: new Quality(options), back: new Quality(options) };
  const pairs = new Set<[net.Socket, net.Socket]>();
  const flows = new Set<Flow>();
  const carried = { there: 0, back: 0 };
  let isPulled = false;
  let made = 0;
  const server = net.createServer({ noDelay: true }, (near) => {
    made += 1;
    const far = net.connect({ port: target(), host: '127.0.0.1', noDelay: true });
    const pair: [net.Socket, net.Socket] = [near, far];
    const there = new Flow(near, far, quality.there, (n) => (carried.there += n));
    const back = new Flow(far, near, quality.back, (n) => (carried.back += n));
    pairs.add(pair);
    for (const flow of [there, back]) {
      flows.add(flow);
      flow.isPulled = isPulled;
    }
    for (const one of pair) {
      one.on('error', () => one.destroy());
      one.once('close', () => {
        if (!near.destroyed || !far.destroyed) return;
        pairs.delete(pair);
        for (const flow of [there, back]) flows.delete(flow);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const pull = (pulled: boolean): void => {
    isPulled = pulled;
    for (const flow of flows) {
      flow.isPulled = pulled;
      flow.look();
    }
  };
  const cut = (): void => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  return {
    port: (server.address() as net.AddressInfo).port,
    get open() {
      return pairs.size;
    },
    get made() {
      return made;
    },
    carried,
    pull: () => pull(true),
    plug: () => pull(false),
    cut,
    becomes(next) {
      quality.there.become(next);
      quality.back.become(next);
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a line is like one way, and when bytes may leave so that no more of them do than it takes. */
class Quality {
  delayMs = 0;
  /** What may wait within it. */
  heldMax = 0;
  #bytesPerMs = Infinity;
  #freeAtMs = 0;

  constructor(options: LineOptions) {
    this.become(options);
  }

  become({ delayMs = 0, bytesPerS = Infinity }: LineOptions): void {
    this.delayMs = delayMs;
    this.#bytesPerMs = bytesPerS / 1000;
    this.heldMax = queueBytes + Math.min((bytesPerS * delayMs) / 1000 || 0, 8 * 1024 * 1024);
  }

  dueAtMs(bytes: number): number {
    this.#freeAtMs = Math.max(this.#freeAtMs, performance.now()) + bytes / this.#bytesPerMs;
    return this.#freeAtMs + this.delayMs;
  }
}

const pieceBytes = 16 * 1024;

interface Held {
  chunk: Buffer;
  dueAtMs: number;
}

/** What one end sends to the other; the end of the one is the end of the other, once all has arrived. */
class Flow {
  isPulled = false;
  readonly #from: net.Socket;
  readonly #to: net.Socket;
  readonly #quality: Quality;
  readonly #held: Held[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: net.Socket, to: net.Socket, quality: Quality, count: (bytes: number) => void) {
    this.#from = from;
    this.#to = to;
    this.#quality = quality;
    from.on('data', (whole: Buffer) => {
      count(whole.length);
      for (let at = 0; at < whole.length; at += pieceBytes) {
        const chunk = whole.subarray(at, at + pieceBytes);
        this.#held.push({ chunk, dueAtMs: quality.dueAtMs(chunk.length) });
      }
      this.#bytes += whole.length;
      this.look();
    });
    from.once('close', () => this.look());
    to.once('close', () => clearTimeout(this.#timer));
  }

  look(): void {
    clearTimeout(this.#timer);
    if (this.isPulled || this.#to.destroyed) return;
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      const waitMs = next.dueAtMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.look(), waitMs);
        break;
      }
      this.#held.shift();
      this.#bytes -= next.chunk.length;
      this.#to.write(next.chunk);
    }
    if (this.#from.destroyed && this.#held.length === 0) this.#to.end(() => this.#to.destroy());
    else if (this.#bytes > this.#quality.heldMax) this.#from.pause();
    else this.#from.resume();
  }
}
