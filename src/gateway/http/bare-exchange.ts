/**
 * Owns the quick way of a bare route: one object serves request after request, and an answer given at
 * once is two calls into the library. Whatever else a handler asks for is done by a whole exchange,
 * made when asked.
 *
 * 1. It is used again only when its handler has answered before returning, and returned nothing that
 *    may still answer.
 */
import type { ServiceError } from '../../lib/errors.ts';
import type { HeadBlocks } from './answer-head.ts';
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
import type { HttpExchange } from './exchange.ts';
import type { RouteCounts } from '../metrics.ts';
import type { HttpRequest, HttpResponse } from '../uws.ts';

export interface BareExchangeOptions {
  route: Route;
  counts: RouteCounts;
  blocks: HeadBlocks;
  whole: (response: HttpResponse, request: HttpRequest) => HttpExchange;
  /** The handler threw after its answer. */
  bug: (error: unknown) => void;
  /** It answered again. */
  dropped: (status: number) => void;
}

export class BareExchange implements Exchange {
  readonly method: Method;
  readonly route: string;
  readonly #options: BareExchangeOptions;
  #response: HttpResponse | undefined;
  #request: HttpRequest | undefined;
  #exchange: HttpExchange | undefined;
  #reusable = true;

  constructor(options: BareExchangeOptions) {
    this.#options = options;
    this.method = options.route.method;
    this.route = options.route.path;
  }

  /** Whether it may serve the next request, after `serve` gave no whole exchange. */
  get reusable(): boolean {
    return this.#reusable;
  }

  /**
   * Calls the handler. Returns the whole exchange when one was needed, or is since there is no answer
   * yet; undefined when the answer is given.
   */
  serve(response: HttpResponse, request: HttpRequest): HttpExchange | undefined {
    this.#response = response;
    this.#request = request;
    let running: ReturnType<Route['handle']> = undefined;
    try {
      running = this.#options.route.handle(this);
    } catch (error) {
      if (this.#isFree()) this.#options.bug(error);
      else this.#whole().fail(error);
    }
    if (this.#isFree()) {
      if (running instanceof Promise) {
        this.#reusable = false;
        running.catch(this.#options.bug);
      }
      return undefined;
    }
    const exchange = this.#whole();
    exchange.run({ handle: () => running });
    return exchange;
  }

  send(status: number, headers: Headers, body: Uint8Array | string): void {
    const response = this.#response;
    if (this.#isFree()) {
      this.#options.dropped(status);
      return;
    }
    if (response === undefined || status !== 200) {
      this.#whole().send(status, headers, body);
      return;
    }
    const { first, rest } = this.#options.blocks.fixed(headers);
    response.writeHeader(first, rest);
    response.end(body);
    this.#options.counts.count(200, false, body.length, null);
    this.#response = undefined;
    this.#request = undefined;
  }

  get requestId(): string {
    return this.#whole().requestId;
  }

  get address(): string {
    return this.#whole().address;
  }

  get fromLoopback(): boolean {
    return this.#whole().fromLoopback;
  }

  get secure(): boolean {
    return this.#whole().secure;
  }

  get aborted(): boolean {
    return this.#exchange?.aborted ?? false;
  }

  get signal(): AbortSignal {
    return this.#whole().signal;
  }

  get query(): URLSearchParams {
    return this.#whole().query;
  }

  get params(): Exchange['params'] {
    return this.#whole().params;
  }

  get head(): Exchange['head'] {
    return this.#whole().head;
  }

  param(name: string): string {
    return this.#whole().param(name);
  }

  header(name: string): string {
    return this.#whole().header(name);
  }

  headerCount(name: string): number {
    return this.#whole().headerCount(name);
  }

  onAbort(callback: () => void): void {
    this.#whole().onAbort(callback);
  }

  note(notes: LineNotes): void {
    this.#whole().note(notes);
  }

  body(maxBytes: number): Promise<Buffer> {
    return this.#whole().body(maxBytes);
  }

  lendBody(
    maxBytes: number,
    take: (body: Buffer) => void,
    refuse: (reason: ServiceError) => void,
  ): void {
    this.#whole().lendBody(maxBytes, take, refuse);
  }

  streamBody(maxBytes: number, sink: BodySink): BodyFlow {
    return this.#whole().streamBody(maxBytes, sink);
  }

  sendLent(status: number, headers: Headers, body: Uint8Array): void {
    this.#whole().sendLent(status, headers, body);
  }

  json(status: number, value: unknown, headers?: Headers): void {
    this.#whole().json(status, value, headers);
  }

  problem(error: ServiceError): void {
    this.#whole().problem(error);
  }

  stream(status: number, headers: Headers): ResponseStream {
    return this.#whole().stream(status, headers);
  }

  addHeader(name: string, value: string): void {
    this.#whole().addHeader(name, value);
  }

  #isFree(): boolean {
    return this.#response === undefined && this.#exchange === undefined;
  }

  /** From here on the whole exchange has the response; `send` goes there too. */
  #whole(): HttpExchange {
    if (this.#exchange !== undefined) return this.#exchange;
    const [response, request] = [this.#response, this.#request];
    if (response === undefined || request === undefined) {
      throw new Error(`Cannot use the exchange of ${this.route}: it has been answered`);
    }
    this.#response = undefined;
    this.#request = undefined;
    this.#exchange = this.#options.whole(response, request);
    return this.#exchange;
  }
}
