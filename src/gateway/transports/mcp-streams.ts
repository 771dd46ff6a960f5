/**
 * Owns answers of the MCP endpoint that are Server-Sent Events: calls that report their progress, and
 * listeners.
 *
 * 1. At most `openMax` calls and as many listeners are open. The two are counted apart, so that listeners
 *    take no place of calls. Beyond that TOO_MANY_STREAMS.
 * 2. A listener ends within a second after its token lost its right.
 * 3. A comment every `pingMs` keeps the connection alive.
 * 4. `drain` ends the listeners. A call is ended by the signal of its exchange.
 */
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import { type Clock, every } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { McpAnswer } from '../../mcp/answer.ts';
import { sseComment, sseHeaders } from '../../protocol/sse.ts';
import type { Exchange, ResponseStream } from '../transport.ts';

export interface McpStreamsOptions {
  clock: Clock;
  logger: Logger;
  /** The limit for calls, and again for listeners; default 1,024. */
  openMax?: number;
}

interface Listener {
  stream: ResponseStream;
  /** The last event, which says that we end the stream and nothing went wrong. */
  last: string;
  mayStay: () => boolean;
}

const ping = sseComment('ping');
const pingMs = 15_000;
const checkMs = 500;

export class McpStreams {
  readonly #options: Required<McpStreamsOptions>;
  readonly #open = new Set<ResponseStream>();
  readonly #listeners = new Set<Listener>();
  #stopPings: (() => void) | null = null;
  #stopChecks: (() => void) | null = null;
  #draining = false;

  constructor(options: McpStreamsOptions) {
    this.#options = { openMax: 1_024, ...options };
  }

  get size(): number {
    return this.#open.size;
  }

  /** Runs a call that sends events, until its response. Rejects when there is no room for one more. */
  async run(exchange: Exchange, { run }: Extract<McpAnswer, { kind: 'events' }>): Promise<void> {
    const stream = this.#begin(exchange, this.#open.size - this.#listeners.size);
    try {
      await run((json) => void stream.write(eventOf(json)));
    } catch (error) {
      // The head is sent, so the stream can only end without a response.
      const { code } = asServiceError(error);
      this.#options.logger.error({ err: error, code }, 'mcp_stream_failed');
    } finally {
      this.#end(stream);
    }
  }

  /** Holds a connection open, as long as `mayStay` allows it. Throws as `run`. */
  listen(
    exchange: Exchange,
    { first, last }: Extract<McpAnswer, { kind: 'listen' }>,
    mayStay: () => boolean,
  ): void {
    const stream = this.#begin(exchange, this.#listeners.size);
    stream.write(eventOf(first));
    const listener = { stream, last, mayStay };
    this.#listeners.add(listener);
    exchange.onAbort(() => this.#listeners.delete(listener));
    this.#stopChecks ??= every(this.#options.clock, checkMs, () => this.#check());
  }

  drain(): void {
    this.#draining = true;
    for (const { stream, last } of this.#listeners) {
      stream.write(eventOf(last));
      this.#end(stream);
    }
    this.#listeners.clear();
    this.#rest();
  }

  #begin(exchange: Exchange, alike: number): ResponseStream {
    const { clock, openMax } = this.#options;
    if (this.#draining) throw new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
    if (alike >= openMax) {
      throw new ServiceError('TOO_MANY_STREAMS', `There are ${openMax} such streams already.`);
    }
    const stream = exchange.stream(200, sseHeaders);
    this.#open.add(stream);
    exchange.onAbort(() => {
      this.#open.delete(stream);
      this.#rest();
    });
    this.#stopPings ??= every(clock, pingMs, () => {
      for (const one of this.#open) one.write(ping);
    });
    return stream;
  }

  #end(stream: ResponseStream): void {
    if (!stream.closed) stream.end();
    this.#open.delete(stream);
    this.#rest();
  }

  #check(): void {
    for (const listener of this.#listeners) {
      if (listener.mayStay()) continue;
      this.#listeners.delete(listener);
      this.#end(listener.stream);
    }
  }

  /** Stops the timer while nothing is open. */
  #rest(): void {
    if (this.#listeners.size === 0) {
      this.#stopChecks?.();
      this.#stopChecks = null;
    }
    if (this.#open.size > 0) return;
    this.#stopPings?.();
    this.#stopPings = null;
  }
}

function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}
