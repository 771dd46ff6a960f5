/**
 * Owns the log line of a request: it shows the route's template, never the path, the query, a cookie or a
 * token. Constant answers are logged at debug level only.
 *
 * 1. With a sink for lines, this file writes the lines itself, in the form of the logger, and hands over
 *    many at a time. A line then costs a tenth of what it costs in the logger.
 * 2. No line waits longer than `heldMs`; `flush` hands over the waiting lines.
 * 3. A line shows a client's own words only as `line-notes.ts` allows.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Ending } from './http/exchange-host.ts';
import type { HttpExchange } from './http/exchange.ts';
import { noteFields, noteMembers } from './line-notes.ts';

/** Takes whole lines of JSON, each with its line end. */
export type LineSink = (lines: string) => void;

export interface AccessLogOptions {
  logger: Logger;
  clock: Clock;
  /** Takes lines in place of the logger; null: no lines are wanted. */
  lines?: LineSink | null | undefined;
}

/** Lines with this many characters together are handed over at once. */
const heldChars = 32_768;
const heldMs = 100;

export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #flush = (): void => {
    this.flush();
  };
  #held = '';
  #cancel: (() => void) | null = null;
  #timeMs = 0;
  #time = '';

  constructor(options: AccessLogOptions) {
    this.#options = options;
  }

  write(exchange: HttpExchange, ending: Ending, durationMs: number): void {
    const { lines, logger } = this.#options;
    if (exchange.definition?.constant !== undefined)
      logger.debug(fieldsOf(exchange, ending, durationMs), 'request');
    else if (lines === undefined) logger.info(fieldsOf(exchange, ending, durationMs), 'request');
    else if (lines !== null) this.#hold(this.#line(exchange, ending, durationMs));
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#held === '') return;
    const held = this.#held;
    this.#held = '';
    this.#options.lines?.(held);
  }

  #hold(line: string): void {
    this.#held += line;
    if (this.#held.length >= heldChars) this.flush();
    else this.#cancel ??= this.#options.clock.after(heldMs, this.#flush);
  }

  /** Only the method is a client's own text, so it alone needs `JSON.stringify`. */
  #line(exchange: HttpExchange, { status, bytes, aborted }: Ending, durationMs: number): string {
    const { route, requestMethod } = exchange;
    const method = requestMethod === exchange.method ? `"${requestMethod}"` : quoted(requestMethod);
    return (
      `{"level":30,"time":"${this.#now()}","route":${route === '' ? 'null' : `"${route}"`},` +
      `"method":${method},"status":${status},"durationMs":${tenths(durationMs)},` +
      `"bytes":${bytes},"requestId":"${exchange.requestId}","address":${quoted(exchange.address)},` +
      `${noteMembers(exchange)}${aborted ? '"aborted":true,' : ''}"msg":"request"}\n`
    );
  }

  #now(): string {
    const nowMs = this.#options.clock.now();
    if (nowMs !== this.#timeMs) {
      this.#timeMs = nowMs;
      this.#time = new Date(nowMs).toISOString();
    }
    return this.#time;
  }
}

function fieldsOf(exchange: HttpExchange, ending: Ending, durationMs: number): object {
  return {
    route: exchange.route || null,
    method: exchange.requestMethod,
    status: ending.status,
    durationMs: tenths(durationMs),
    bytes: ending.bytes,
    requestId: exchange.requestId,
    address: exchange.address,
    ...noteFields(exchange),
    ...(ending.aborted && { aborted: true }),
  };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function quoted(text: string): string {
  return /^[\w.:-]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}
