/**
 * Owns one connection to a runner: numbered requests, their answers, and its events.
 *
 * 1. Every request ends: with its answer, or with ConnectionLost when the connection ends.
 * 2. At most `requestsMax` requests are under way. More are refused with OVERLOADED.
 * 3. A runner that does not read has at most `unsentMaxBytes` waiting for it, then the connection is given up.
 * 4. One of another machine that tells more states than may be heard waits, with all that it sends behind them.
 */
import { ServiceError } from '../../lib/errors.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import type { RunnerAnswers, RunnerFrame, RunnerRequest } from '../../protocol/runner-messages.ts';
import type { Workload } from '../../protocol/workload.ts';
import { ConnectionLost, type RunnerSocket, type RunnerWay } from './runner-way.ts';
import { Terminals } from './terminals.ts';

export interface ConnectionEvents {
  state(workload: Workload): void;
  lost(): void;
}

interface Waiting {
  op: RunnerRequest['op'];
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

/** What a connection needs of the way to its runner. */
export type ConnectionWay = Pick<
  RunnerWay,
  'connect' | 'decode' | 'errorOf' | 'workloadOf' | 'heldBack'
>;

const requestsMax = 10_000;
const unsentMaxBytes = 32 * 1024 * 1024;

/** What a driver has of its runner. */
export type Link =
  | { phase: 'idle' }
  | { phase: 'connecting'; connection: Promise<Connection> }
  | { phase: 'connected'; connection: Connection }
  | { phase: 'closed' };

export class Connection {
  readonly terminals = new Terminals(this);
  readonly #lost = new AbortController();
  readonly #socket: RunnerSocket;
  readonly #way: ConnectionWay;
  readonly #events: ConnectionEvents;
  readonly #decoder: FrameDecoder;
  readonly #waiting = new Map<number, Waiting>();
  #lastNumber = 0;

  private constructor(socket: RunnerSocket, way: ConnectionWay, events: ConnectionEvents) {
    this.#socket = socket;
    this.#way = way;
    this.#events = events;
    this.#decoder = new FrameDecoder(way.decode ? { decode: way.decode } : {});
    socket.stream.once('close', () => this.#lose());
    socket.stream.on('error', () => undefined); // 'close' follows and tells.
    // Only a request under way keeps this process alive, not the connection.
    socket.hold?.(false);
  }

  /** Rejects as the way does. */
  static async open(way: ConnectionWay, events: ConnectionEvents): Promise<Connection> {
    let receive: (chunk: Uint8Array) => void = () => undefined;
    const socket = await way.connect((chunk) => receive(chunk));
    const connection = new Connection(socket, way, events);
    receive = (chunk) => connection.#receive(chunk);
    return connection;
  }

  /** Aborts when the connection ends. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborting ends a `read`, which is answered without entries, or an `exec`, which is ended. */
  request<Op extends RunnerRequest['op']>(
    request: Extract<RunnerRequest, { op: Op }>,
    signal?: AbortSignal,
  ): Promise<RunnerAnswers[Op]> {
    if (this.#socket.stream.destroyed) return Promise.reject(new ConnectionLost());
    if (this.#waiting.size >= requestsMax) {
      return Promise.reject(new ServiceError('OVERLOADED', 'Too many requests to the runner.'));
    }
    const n = ++this.#lastNumber;
    const cancel = (): void => {
      this.#send({ op: 'cancel', request: n, n: ++this.#lastNumber });
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(n, { op: request.op, resolve, reject });
      this.#socket.hold?.(true);
      this.#send({ ...request, n });
    });
    return answer.finally(() => signal?.removeEventListener('abort', cancel)) as Promise<
      RunnerAnswers[Op]
    >;
  }

  /** For what needs no answer. */
  tell(request: RunnerRequest): void {
    this.#send({ ...request, n: ++this.#lastNumber });
  }

  close(): void {
    this.#socket.stream.destroy();
  }

  #send(frame: RunnerRequest & { n: number }): void {
    const { stream } = this.#socket;
    if (stream.destroyed) return;
    stream.write(encodeFrame(frame));
    if (stream.writableLength > unsentMaxBytes) this.#break(new ConnectionLost());
  }

  #receive(chunk: Uint8Array): void {
    let frames: RunnerFrame[];
    try {
      frames = this.#decoder.push(chunk) as RunnerFrame[];
    } catch (error) {
      this.#break(error);
      return;
    }
    if (this.#way.decode !== null) void this.#hearForeign(frames);
    else for (const frame of frames) this.#hear(frame);
  }

  /** Another machine may send any shape, and as much as it likes. */
  async #hearForeign(frames: readonly RunnerFrame[]): Promise<void> {
    const { stream } = this.#socket;
    for (const frame of frames) {
      try {
        const isState = 'event' in frame && frame.event === 'state';
        for (let held = isState && this.#heldBack(); held; held = this.#heldBack()) {
          stream.pause();
          await held;
        }
        if (stream.destroyed) return;
        this.#hear(frame);
      } catch (error) {
        this.#break(error);
      }
    }
    if (stream.isPaused()) stream.resume();
  }

  #heldBack(): Promise<void> | false {
    return this.#way.heldBack?.() ?? false;
  }

  #break(error: unknown): void {
    this.#socket.stream.destroy(error instanceof Error ? error : undefined);
  }

  #hear(frame: RunnerFrame): void {
    if ('event' in frame) {
      if (frame.event === 'state') this.#events.state(this.#workloadOf(frame.workload));
      else this.terminals.hear(frame);
      return;
    }
    const waiting = this.#waiting.get(frame.re);
    if (!waiting) return; // The answer to a `tell`.
    const answer = 'error' in frame ? null : this.#answerTo(waiting.op, frame.ok);
    this.#settle(frame.re);
    if ('error' in frame) waiting.reject(this.#way.errorOf(frame.error));
    else waiting.resolve(answer);
  }

  #answerTo(op: RunnerRequest['op'], ok: unknown): unknown {
    if (this.#way.decode === null) return ok;
    if (op === 'list') return (ok as unknown[]).map((told) => this.#workloadOf(told));
    if (op !== 'start' && op !== 'inspect') return ok;
    return ok === null ? null : this.#workloadOf(ok);
  }

  #workloadOf(told: unknown): Workload {
    return this.#way.workloadOf?.(told) ?? (told as Workload);
  }

  #settle(n: number): void {
    this.#waiting.delete(n);
    if (this.#waiting.size === 0) this.#socket.hold?.(false);
  }

  #lose(): void {
    const left = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of left) reject(new ConnectionLost());
    this.terminals.lose();
    this.#lost.abort();
    this.#events.lost();
  }
}
