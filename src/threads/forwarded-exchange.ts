/**
 * Owns one exchange whose client is on another thread: the request that came from there, and the answer
 * until it is sent back.
 *
 * 1. It is answered once, as a whole; nothing is answered after the client has left.
 * 2. The body stays on the client's thread until a handler asks for it. So an answer that needs no body
 *    does not wait for it, and each handler's own bound holds.
 */
import { asServiceError, type ServiceError } from '../lib/errors.ts';
import { BaseExchange, type FailureHost } from '../gateway/http/base-exchange.ts';
import type {
  BodyFlow,
  BodySink,
  Headers,
  LineNotes,
  Method,
  ResponseStream,
} from '../gateway/transport.ts';
import { GuardedSink } from '../gateway/http/body-sinks.ts';
import { RequestHead } from '../gateway/http/request-head.ts';

/** A request as it crosses; plain data. */
export interface ForwardedRequest {
  /** Names the exchange to the thread that has its client. */
  exchange: number;
  requestId: string;
  method: Method;
  /** The route's template. */
  route: string;
  params: Readonly<Record<string, string>>;
  query: string;
  /** As in `RequestHead`. */
  fields: readonly string[];
  address: string;
  fromLoopback: boolean;
  secure: boolean;
}

/** An answer as it crosses; plain data. */
export interface ForwardedAnswer {
  status: number;
  headers: Headers;
  body: Uint8Array | string;
  /** Names and values that were added, in order. */
  added: readonly (readonly [name: string, value: string])[];
  notes: LineNotes | null;
}

export interface ForwardedHost extends FailureHost {
  /** Fetches the whole body; null when the client has left. Rejects as `Exchange.body` does. */
  body(maxBytes: number): Promise<Uint8Array | null>;
  answer(answer: ForwardedAnswer): void;
}

export class ForwardedExchange extends BaseExchange {
  readonly requestId: string;
  readonly method: Method;
  /** HEAD is answered on the thread of its client. */
  readonly headOnly = false;
  readonly route: string;
  readonly address: string;
  readonly fromLoopback: boolean;
  readonly secure: boolean;
  readonly #host: ForwardedHost;
  readonly #added: (readonly [string, string])[] = [];
  #answered = false;

  constructor(request: ForwardedRequest, host: ForwardedHost) {
    const { query, fields, params } = request;
    super({ head: new RequestHead(query, fields), params }, host);
    this.requestId = request.requestId;
    this.method = request.method;
    this.route = request.route;
    this.address = request.address;
    this.fromLoopback = request.fromLoopback;
    this.secure = request.secure;
    this.#host = host;
  }

  /** The body comes as one chunk, within the bound of the client's thread: there is nothing to pause. */
  streamBody(maxBytes: number, sink: BodySink): BodyFlow {
    void this.#deliver(maxBytes, new GuardedSink(sink, this));
    return { resume: () => undefined };
  }

  addHeader(name: string, value: string): void {
    this.#added.push([name, value]);
  }

  send(status: number, headers: Headers, body: Uint8Array | string): void {
    if (this.aborted) return;
    if (this.#answered) {
      this.drop(status, 'again');
      return;
    }
    this.#answered = true;
    const added = this.#added;
    const notes = this.notes ?? null;
    this.#host.answer({ status, headers, body: whole(body), added, notes });
  }

  stream(): ResponseStream {
    throw new Error(`Cannot stream ${this.route}: its client is on another thread`);
  }

  clientLeft(): void {
    if (this.#answered || this.aborted) return;
    this.markLeft();
    this.tellLeft();
  }

  protected override answerFailure(error: ServiceError): void {
    if (!this.#answered && !this.aborted) this.refuse(error);
  }

  async #deliver(maxBytes: number, sink: BodySink): Promise<void> {
    try {
      const bytes = await this.#host.body(maxBytes);
      if (bytes === null || this.aborted) {
        sink.fail('aborted');
        return;
      }
      if (bytes.byteLength > 0) sink.chunk(new Uint8Array(bytes).buffer);
      sink.end();
    } catch (error) {
      sink.fail(this.aborted ? 'aborted' : asServiceError(error));
    }
  }
}

/** A copy when needed: the whole memory behind a view would cross, not only what it shows. */
function whole(body: Uint8Array | string): Uint8Array | string {
  if (typeof body === 'string' || body.byteLength === body.buffer.byteLength) return body;
  return new Uint8Array(body);
}
