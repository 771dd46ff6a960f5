/**
 * Owns what all exchanges have in common, wherever the client is: the request as a handler sees it, its
 * notes, the client's leaving, and the failure of a handler.
 *
 * 1. When a handler throws or rejects, `answerFailure` decides what the client is told. Anything but a
 *    ServiceError is logged with its cause.
 */
import { asServiceError, type ErrorCode, type ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type {
  BodyFlow,
  BodySink,
  Exchange,
  Headers,
  LineNotes,
  Method,
  ResponseStream,
  Route,
} from '../transport.ts';
import { problemDocument, problemHeaders } from './problem.ts';
import type { DroppedAnswer } from '../metrics.ts';
import type { RequestHead } from './request-head.ts';
import { WholeBody } from './body-sinks.ts';

/** The parts of a request that are plain data. */
type RequestSide = Pick<Exchange, 'head' | 'params'>;

export interface FailureHost {
  readonly logger: Logger;
  /** An error is the answer. */
  refused(code: ErrorCode): void;
  /** An answer came that nobody waited for. */
  dropped(why: DroppedAnswer): void;
}

const jsonType: Headers = Object.freeze({ 'Content-Type': 'application/json' });

export abstract class BaseExchange implements Exchange {
  readonly #request: RequestSide;
  readonly #host: FailureHost;
  #query: URLSearchParams | undefined;
  #controller: AbortController | undefined;
  #abortCallbacks: (() => void)[] = [];
  #notes: LineNotes | undefined;
  #aborted = false;
  #refuse: Route['refuse'];

  constructor(request: RequestSide, host: FailureHost) {
    this.#request = request;
    this.#host = host;
  }

  abstract readonly requestId: string;
  abstract readonly method: Method;
  abstract readonly headOnly: boolean;
  abstract readonly route: string;
  abstract readonly address: string;
  abstract readonly fromLoopback: boolean;
  abstract readonly secure: boolean;
  abstract streamBody(maxBytes: number, sink: BodySink): BodyFlow;
  abstract send(status: number, headers: Headers, body: Uint8Array | string): void;
  abstract stream(status: number, headers: Headers, length?: number): ResponseStream;
  abstract addHeader(name: string, value: string): void;
  /** Tells the client that the handler has failed. */
  protected abstract answerFailure(error: ServiceError): void;

  body(maxBytes: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.streamBody(maxBytes, new WholeBody(resolve, reject, true));
    });
  }

  lendBody(
    maxBytes: number,
    take: (body: Buffer) => void,
    refuse: (reason: ServiceError) => void,
  ): void {
    this.streamBody(maxBytes, new WholeBody(take, refuse, false));
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#request.head.query);
    return this.#query;
  }

  get head(): RequestHead {
    return this.#request.head;
  }

  get params(): Readonly<Record<string, string>> {
    return this.#request.params;
  }

  param(name: string): string {
    const value = this.#request.params[name];
    if (value === undefined) throw new Error(`Cannot read parameter ${name}: the route has none`);
    return value;
  }

  header(name: string): string {
    return this.#request.head.header(name);
  }

  headerCount(name: string): number {
    return this.#request.head.headerCount(name);
  }

  onAbort(callback: () => void): void {
    this.#abortCallbacks.push(callback);
    if (this.#aborted) queueMicrotask(() => this.tellLeft());
  }

  note(notes: LineNotes): void {
    this.#notes = this.#notes === undefined ? notes : { ...this.#notes, ...notes };
  }

  get notes(): LineNotes | undefined {
    return this.#notes;
  }

  sendLent(status: number, headers: Headers, body: Uint8Array): void {
    this.send(status, headers, Buffer.from(body));
  }

  json(status: number, value: unknown, headers?: Headers): void {
    const all = headers === undefined ? jsonType : { ...jsonType, ...headers };
    this.send(status, all, JSON.stringify(value));
  }

  problem(error: ServiceError): void {
    this.#host.refused(error.code);
    this.send(error.status, problemHeaders(error), problemDocument(error, this.requestId));
  }

  /** Calls the route's handler. */
  run(route: Pick<Route, 'handle' | 'refuse'>): void {
    this.#refuse = route.refuse?.bind(route);
    try {
      const running = route.handle(this);
      if (running instanceof Promise) {
        running.catch((error: unknown) => {
          this.fail(error);
        });
      }
    } catch (error) {
      this.fail(error);
    }
  }

  /** A handler threw or rejected. */
  fail(thrown: unknown): void {
    const error = asServiceError(thrown);
    if (error.code === 'INTERNAL') {
      const fields = { err: thrown, route: this.route, requestId: this.requestId };
      this.#host.logger.error(fields, 'request_failed');
    }
    this.answerFailure(error);
  }

  /** Answers with an error on behalf of the handler. */
  protected refuse(error: ServiceError): void {
    if (this.#refuse === undefined) {
      this.problem(error);
      return;
    }
    this.#host.refused(error.code);
    this.#refuse(this, error);
  }

  /** Drops an answer of the handler. */
  protected drop(status: number, why: DroppedAnswer): void {
    this.#host.dropped(why);
    const { route, requestId } = this;
    this.#host.logger.warn({ route, requestId, status, why }, 'answer_dropped');
  }

  /** From here on nobody waits, and nothing may be answered. */
  protected markLeft(): void {
    this.#aborted = true;
  }

  /** Tells whoever asked that the client has left. */
  protected tellLeft(): void {
    this.#controller?.abort();
    for (const callback of this.#abortCallbacks.splice(0)) {
      // The library calls this, and an error that reached it would end the process.
      try {
        callback();
      } catch (error) {
        this.fail(error);
      }
    }
  }
}
