/**
 * Owns one connection to a runner: numbered requests, their answers, and its events.
 *
 * 1. Every request ends: with its answer, or with ConnectionLost when the connection ends.
 * 2. At most `requestsMax` requests are under way. More are refused with OVERLOADED.
 */
import fs from 'node:fs';
import type net from 'node:net';
import path from 'node:path';

import { connectWithin } from '../../lib/connect.ts';
import { ServiceError } from '../../lib/errors.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import { runnerSocketDir, runnerSocketName } from '../../protocol/runner-version.ts';
import { socketAddress } from '../../protocol/runner-socket.ts';
import type { RunnerAnswers, RunnerFrame, RunnerRequest } from '../../protocol/runner-messages.ts';
import { Terminals } from './terminals.ts';

/** The runner is not there, or ended while it was asked. */
export class ConnectionLost extends Error {
  constructor(cause?: unknown) {
    super('Cannot ask the runner: the connection is lost', { cause });
    this.name = 'ConnectionLost';
  }
}

export interface ConnectionEvents {
  state(frame: Extract<RunnerFrame, { event: 'state' }>): void;
  lost(): void;
}

interface Waiting {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

const requestsMax = 10_000;
const connectMs = 5000;
const chunkBytes = 64 * 1024;

/** Throws ConnectionLost when nobody listens. `onread`: see `net.connect`. */
export async function connectToRunner(
  dataDir: string,
  onread?: net.OnReadOpts,
): Promise<net.Socket> {
  const dir = path.join(dataDir, runnerSocketDir);
  if (!fs.existsSync(path.join(dir, runnerSocketName))) throw new ConnectionLost();
  const address = socketAddress(dir, runnerSocketName);
  try {
    return await connectWithin({ path: address.path, ...(onread && { onread }) }, connectMs);
  } catch (error) {
    throw new ConnectionLost(error);
  } finally {
    address.release();
  }
}

/** What a driver has of its runner. */
export type Link =
  | { phase: 'idle' }
  | { phase: 'connecting'; connection: Promise<Connection> }
  | { phase: 'connected'; connection: Connection }
  | { phase: 'closed' };

export class Connection {
  readonly terminals = new Terminals(this);
  readonly #lost = new AbortController();
  readonly #socket: net.Socket;
  readonly #events: ConnectionEvents;
  readonly #decoder = new FrameDecoder();
  readonly #waiting = new Map<number, Waiting>();
  #lastNumber = 0;

  private constructor(socket: net.Socket, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.once('close', () => this.#lose());
    socket.on('error', () => undefined); // 'close' follows and tells.
    // Only a request under way keeps this process alive, not the connection.
    socket.unref();
  }

  /** Throws ConnectionLost when nobody listens. */
  static async open(dataDir: string, events: ConnectionEvents): Promise<Connection> {
    let receive: (chunk: Buffer) => void = () => undefined;
    const buffer = Buffer.allocUnsafeSlow(chunkBytes);
    // One buffer for all: logs of apps would leave as much garbage as they have bytes.
    const onread = {
      buffer,
      callback: (length: number): boolean => {
        receive(buffer.subarray(0, length));
        return true;
      },
    };
    const connection = new Connection(await connectToRunner(dataDir, onread), events);
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
    if (this.#socket.destroyed) return Promise.reject(new ConnectionLost());
    if (this.#waiting.size >= requestsMax) {
      return Promise.reject(new ServiceError('OVERLOADED', 'Too many requests to the runner.'));
    }
    const n = ++this.#lastNumber;
    const cancel = (): void => {
      this.#send({ op: 'cancel', request: n, n: ++this.#lastNumber });
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(n, { resolve, reject });
      this.#socket.ref();
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
    this.#socket.destroy();
  }

  #send(frame: RunnerRequest & { n: number }): void {
    if (!this.#socket.destroyed) this.#socket.write(encodeFrame(frame));
  }

  #receive(chunk: Buffer): void {
    let frames: RunnerFrame[];
    try {
      frames = this.#decoder.push(chunk) as RunnerFrame[];
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : undefined);
      return;
    }
    for (const frame of frames) {
      if ('event' in frame) {
        if (frame.event === 'state') this.#events.state(frame);
        else this.terminals.hear(frame);
        continue;
      }
      const waiting = this.#waiting.get(frame.re);
      if (!waiting) continue; // The answer to a `tell`.
      this.#settle(frame.re);
      if ('error' in frame) waiting.reject(ServiceError.fromPlain(frame.error));
      else waiting.resolve(frame.ok);
    }
  }

  #settle(n: number): void {
    this.#waiting.delete(n);
    if (this.#waiting.size === 0) this.#socket.unref();
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
