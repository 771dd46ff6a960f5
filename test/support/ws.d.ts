/** The part of the package `ws` that tests use; it ships no types. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage, Server } from 'node:http';
  import type { ConnectionOptions } from 'node:tls';

  export class WebSocket extends EventEmitter {
    constructor(url: string, options?: ConnectionOptions & { headers?: Record<string, string> });
    send(data: string | Uint8Array): void;
    close(): void;
    terminate(): void;
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
