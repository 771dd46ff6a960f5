/** The part of the package `ws` that tests use; it ships no types. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage, Server } from 'node:http';
  import type { ConnectionOptions } from 'node:tls';

  type SocketOptions = ConnectionOptions & {
    headers?: Record<string, string>;
    perMessageDeflate?: boolean;
    autoPong?: boolean;
    protocolVersion?: number;
  };

  export class WebSocket extends EventEmitter {
    constructor(url: string, options?: SocketOptions);
    constructor(url: string, protocols: string | string[], options?: SocketOptions);
    readonly protocol: string;
    readonly readyState: number;
    send(data: string | Uint8Array, options?: { binary?: boolean; fin?: boolean }): void;
    ping(): void;
    close(code?: number): void;
    pause(): void;
    resume(): void;
    terminate(): void;
    on(event: 'close', listener: (code: number, reason: Buffer) => void): this;
    on(event: 'ping' | 'pong' | 'open', listener: () => void): this;
    on(event: 'unexpected-response', listener: (req: unknown, res: IncomingMessage) => void): this;
    on(event: 'message', listener: (data: Buffer) => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
    once(event: string, listener: (value: unknown) => void): this;
    once(
      event: 'unexpected-response',
      listener: (req: unknown, res: IncomingMessage) => void,
    ): this;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: { server: Server });
    readonly clients: Set<WebSocket>;
    on(event: 'connection', listener: (socket: WebSocket, req: IncomingMessage) => void): this;
  }
}
