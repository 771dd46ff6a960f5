/**
 * Owns one client of an event stream over a plain socket: its request, the answer's chunks, the events.
 *
 * 1. Whoever opens it is told each event once, as bytes, which hold nothing else later.
 * 2. Streams that share a `SeenEvents` read what all of them get once, and are told the very same object.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { requestBytes } from './requests.ts';

export interface StreamRequest {
  port: number;
  path: string;
  headers?: Readonly<Record<string, string>>;
}

/** Owns what many streams get alike: bytes as a socket gave them, when they are whole events, and these. */
export class SeenEvents {
  readonly #seen: { received: Buffer; events: readonly Buffer[] }[] = [];
  /** For all sockets: what is in it is read before another one fills it. */
  readonly received = Buffer.allocUnsafeSlow(receivedBytes);

  find(received: Buffer): readonly Buffer[] | undefined {
    return this.#seen.find((one) => one.received.equals(received))?.events;
  }

  keep(received: Buffer, events: readonly Buffer[]): void {
    this.#seen.unshift({ received: Buffer.from(received), events });
    this.#seen.length = Math.min(this.#seen.length, seenMax);
  }
}

const receivedBytes = 64 * 1024;
/** What all streams of a log get comes to them one behind the other: the newest are enough. */
const seenMax = 8;
const none = Buffer.alloc(0);
const headEnd = '\r\n\r\n';
const carriageReturn = 0x0d;

export class EventStream {
  readonly socket: Socket;
  /** Resolves at the first event; rejects on whatever is no stream of events. */
  readonly opened: Promise<void>;
  readonly #seen: SeenEvents;
  readonly #onEvent: (event: Buffer) => void;
  readonly #onLost: (reason: Error) => void;
  #resolve: () => void = () => undefined;
  #reject: (reason: Error) => void = () => undefined;
  #rest: Buffer = none;
  #part: Buffer = none;
  #state: 'head' | 'body' | 'closed' = 'head';

  /** `onLost` hears of a stream that ended or made no sense after it was opened. */
  constructor(
    { port, path, headers = {} }: StreamRequest,
    seen: SeenEvents,
    onEvent: (event: Buffer) => void,
    onLost: (reason: Error) => void,
  ) {
    this.#seen = seen;
    this.#onEvent = onEvent;
    this.#onLost = onLost;
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const callback = (length: number): boolean => {
      this.#receive(seen.received.subarray(0, length));
      return true;
    };
    const onread = { buffer: seen.received, callback };
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread });
    this.socket.write(requestBytes({ path, headers }));
    this.socket.on('error', (error) => this.#fail(error));
    this.socket.on('close', () => this.#fail(new Error(`${path}: the stream was closed`)));
  }

  /** Lets go of the socket at once, as a client does that loses its network. */
  close(): void {
    this.#state = 'closed';
    this.socket.destroy();
  }

  #fail(reason: Error): void {
    if (this.#state === 'closed') return;
    this.close();
    this.#reject(reason);
    this.#onLost(reason);
  }

  #receive(chunk: Buffer): void {
    try {
      if (this.#state !== 'body' || !this.#isBetween()) {
        this.#take(chunk, []);
        return;
      }
      const known = this.#seen.find(chunk);
      if (known !== undefined) {
        for (const event of known) this.#tell(event);
        return;
      }
      const events: Buffer[] = [];
      this.#take(chunk, events);
      if (this.#isBetween()) this.#seen.keep(chunk, events);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #tell(event: Buffer): void {
    this.#resolve();
    this.#onEvent(event);
  }

  /** All that came is a whole number of chunks and of events. */
  #isBetween(): boolean {
    return this.#rest.length === 0 && this.#part.length === 0;
  }

  #take(chunk: Buffer, events: Buffer[]): void {
    const received = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = none;
    let at = 0;
    if (this.#state === 'head') {
      const length = received.indexOf(headEnd);
      const head = received.toString('latin1', 0, length < 0 ? received.length : length);
      if (length < 0) {
        this.#rest = Buffer.from(received);
        return;
      }
      if (!head.startsWith('HTTP/1.1 200 ') || !/\r\ntransfer-encoding: *chunked/i.test(head)) {
        throw new Error(`no event stream: ${received.toString('latin1', 0, 400)}`);
      }
      this.#state = 'body';
      at = length + headEnd.length;
    }
    this.#chunks(received, at, events);
  }

  #chunks(received: Buffer, from: number, events: Buffer[]): void {
    let at = from;
    while (at < received.length && this.#state !== 'closed') {
      // What ends a chunk may come with the next one only: nothing waits for it.
      const sizeAt = received[at] === carriageReturn ? at + 2 : at;
      const lineEnd = received.indexOf('\r\n', sizeAt);
      if (lineEnd < 0) break;
      const size = Number.parseInt(received.toString('latin1', sizeAt, lineEnd), 16);
      if (!(size > 0)) throw new Error('the stream ended');
      const start = lineEnd + 2;
      if (received.length < start + size) break;
      this.#events(received.subarray(start, start + size), events);
      at = start + size;
      if (received[at] === carriageReturn && at + 1 < received.length) at += 2;
    }
    this.#rest = at === received.length ? none : Buffer.from(received.subarray(at));
  }

  #events(bytes: Buffer, events: Buffer[]): void {
    const text = this.#part.length === 0 ? bytes : Buffer.concat([this.#part, bytes]);
    let at = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', at)) {
      const event = Buffer.from(text.subarray(at, end));
      events.push(event);
      this.#tell(event);
      at = end + 2;
    }
    this.#part = at === text.length ? none : Buffer.from(text.subarray(at));
  }
}
