/**
 * Owns one client of an event stream over a plain socket: its request, the answer's chunks, the events.
 * Whoever opens it is told each event once, as bytes.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { requestBytes } from './requests.ts';

export interface StreamRequest {
  port: number;
  path: string;
  headers?: Readonly<Record<string, string>>;
}

const none = Buffer.alloc(0);
const headEnd = '\r\n\r\n';
const carriageReturn = 0x0d;

export class EventStream {
  readonly socket: Socket;
  /** Resolves at the first event; rejects on whatever is no stream of events. */
  readonly opened: Promise<void>;
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
    onEvent: (event: Buffer) => void,
    onLost: (reason: Error) => void,
  ) {
    this.#onEvent = onEvent;
    this.#onLost = onLost;
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.socket.write(requestBytes({ path, headers }));
    this.socket.on('data', (chunk) => {
      try {
        this.#take(chunk);
      } catch (error) {
        this.#fail(error as Error);
      }
    });
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

  #take(chunk: Buffer): void {
    const received = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = none;
    let at = 0;
    if (this.#state === 'head') {
      const length = received.indexOf(headEnd);
      const head = received.toString('latin1', 0, length < 0 ? received.length : length);
      if (length < 0) {
        this.#rest = received;
        return;
      }
      if (!head.startsWith('HTTP/1.1 200 ') || !/\r\ntransfer-encoding: *chunked/i.test(head)) {
        throw new Error(`no event stream: ${received.toString('latin1', 0, 400)}`);
      }
      this.#state = 'body';
      at = length + headEnd.length;
    }
    this.#chunks(received, at);
  }

  #chunks(received: Buffer, from: number): void {
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
      this.#events(received.subarray(start, start + size));
      at = start + size;
    }
    this.#rest = at === received.length ? none : received.subarray(at);
  }

  #events(bytes: Buffer): void {
    const text = this.#part.length === 0 ? bytes : Buffer.concat([this.#part, bytes]);
    let at = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', at)) {
      this.#resolve();
      this.#onEvent(text.subarray(at, end));
      at = end + 2;
    }
    this.#part = at === text.length ? none : Buffer.from(text.subarray(at));
  }
}
