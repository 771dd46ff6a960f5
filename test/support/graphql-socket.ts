/** A connection that speaks GraphQL over WebSocket frame by frame, right or wrong. */
import { once } from 'node:events';
import type { ConnectionOptions } from 'node:tls';
import { WebSocket } from 'ws';

export interface Frame {
  type: string;
  id?: string;
  payload?: unknown;
}

export interface Closed {
  code: number;
  reason: string;
}

export class RawGraphqlSocket {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  /** Resolves when the connection is closed. */
  readonly closed: Promise<Closed>;
  #taken = 0;
  #arrived: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
        this.#arrived();
      });
    });
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      this.frames.push(JSON.parse(data.toString()) as Frame);
      this.#arrived();
    });
  }

  /** Connects; rejects with the status of an answer that refuses it. */
  static async open(
    url: string,
    headers: Record<string, string> = {},
    protocols: string[] = ['graphql-transport-ws'],
    tls: ConnectionOptions = {},
  ): Promise<RawGraphqlSocket> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, {
      ...tls,
      headers,
      perMessageDeflate: false,
    });
    const own = new RawGraphqlSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('unexpected-response', (_request, { statusCode }) => {
        socket.terminate();
        reject(new RefusedHandshake(statusCode ?? 0));
      });
      socket.on('error', reject);
    });
    return own;
  }

  /** Connects and is acknowledged. */
  static async start(
    url: string,
    headers: Record<string, string> = {},
    payload?: Record<string, unknown>,
  ): Promise<RawGraphqlSocket> {
    const own = await RawGraphqlSocket.open(url, headers);
    own.send({ type: 'connection_init', ...(payload && { payload }) });
    const ack = await own.next();
    if (ack?.type !== 'connection_ack') throw new Error(`Not acknowledged: ${String(ack?.type)}`);
    return own;
  }

  send(frame: unknown): void {
    this.socket.send(JSON.stringify(frame));
  }

  subscribe(id: string, query: string, variables: Record<string, unknown> = {}): void {
    this.send({ id, type: 'subscribe', payload: { query, variables } });
  }

  /** The next frame; undefined when the connection was closed first. */
  async next(): Promise<Frame | undefined> {
    while (this.#taken >= this.frames.length) {
      if (this.socket.readyState === 3) return undefined;
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    return this.frames[this.#taken++];
  }

  async close(): Promise<void> {
    if (this.socket.readyState === 3) return;
    const closed = once(this.socket, 'close');
    this.socket.terminate();
    await closed;
  }
}

export class RefusedHandshake extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The handshake was answered with ${status}.`);
    this.status = status;
  }
}
