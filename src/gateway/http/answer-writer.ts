/**
 * Owns writing one answer to the library's response object. `exchange.ts` decides who may write, and
 * when.
 *
 * 1. Every write is corked.
 * 2. The head is written as one block.
 */
import { answerLines, headerLine, statusLine, toBlock } from './answer-head.ts';
import type { HeadBlock } from './answer-head.ts';
import type { Headers } from '../transport.ts';
import type { ExchangeHost, ExchangeRequest } from './exchange-host.ts';
import type { HttpResponse } from '../uws.ts';

export interface LargeAnswer {
  /** Called when the socket has room. False when the answer is no longer wanted. */
  writable: () => boolean;
  /** Called when the library has the last byte; the response object is gone then. */
  sent: () => void;
}

type Host = Pick<ExchangeHost<never>, 'closing' | 'blocks'>;

const noHeaders: Headers = Object.freeze({});

/** The library collects so many bytes before it writes. */
const corkBytes = 16 * 1024;

export class AnswerWriter {
  readonly #response: HttpResponse;
  readonly #host: Host;
  readonly #request: ExchangeRequest;
  readonly #exchange: { readonly requestId: string };
  #extraLines = '';
  /** True while the library has corked: during its calls of the handler, and with a part of the body. */
  corked = true;

  constructor(
    response: HttpResponse,
    host: Host,
    request: ExchangeRequest,
    exchange: { readonly requestId: string },
  ) {
    this.#response = response;
    this.#host = host;
    this.#request = request;
    this.#exchange = exchange;
  }

  /** Whether the connection ends with this answer. */
  get closes(): boolean {
    return this.#request.lastOnConnection || this.#host.closing;
  }

  get #headOnly(): boolean {
    return this.#request.method === 'HEAD';
  }

  addHeader(name: string, value: string): void {
    const line = headerLine(name, value);
    this.#extraLines = this.#extraLines === '' ? line : `${this.#extraLines}\r\n${line}`;
  }

  /** Begins an answer that continues later; `more` runs in the same cork. */
  begin(status: number, headers: Headers, more: () => void): void {
    this.#cork(() => {
      this.#head(status, headers);
      more();
    });
  }

  /** The head of the answer that ends HTTP on this connection; `switchOver` adds the rest, in the same cork. */
  switching(switchOver: () => void): void {
    this.#cork(() => {
      this.#head(101, noHeaders);
      switchOver();
    });
  }

  /** The head of a longer answer; without a length, of one whose length is not known. */
  headAlone(status: number, headers: Headers, length?: number): void {
    this.#cork(() => {
      this.#head(status, headers);
      if (this.closes) this.#response.writeHeader('Connection', 'close');
      if (length !== undefined) this.#response.writeHeader('Content-Length', String(length));
      this.#response.endWithoutBody();
    });
  }

  /** Inside the cork that wrote the head of an answer of known length. */
  sayWhetherClosed(): void {
    if (this.closes) this.#response.writeHeader('Connection', 'close');
  }

  /** Sends all at once; the library copies what the socket does not take. Returns the bytes of the body. */
  whole(status: number, headers: Headers, bytes: Uint8Array): number {
    const bodiless = this.#headOnly || status === 204 || status === 304;
    if (this.corked) this.#whole(status, headers, bytes, bodiless);
    else {
      this.#response.cork(() => {
        this.#whole(status, headers, bytes, bodiless);
      });
    }
    return bodiless ? 0 : bytes.byteLength;
  }

  #whole(status: number, headers: Headers, bytes: Uint8Array, bodiless: boolean): void {
    this.#head(status, headers);
    if (bodiless) this.#endBodiless(bytes.byteLength);
    else this.#response.end(bytes, this.closes);
  }

  /** Sends as much as the socket takes, and the rest when it has room, without a copy. */
  large(status: number, headers: Headers, bytes: Uint8Array, answer: LargeAnswer): void {
    const response = this.#response;
    const attempt = (from: number): boolean => {
      let took = false;
      this.#cork(() => {
        const [ok, done] = response.tryEnd(bytes.subarray(from), bytes.byteLength);
        took = ok;
        if (done) answer.sent();
      });
      return took;
    };
    response.onWritable((offset) => !answer.writable() || attempt(offset));
    this.#cork(() => {
      this.#head(status, headers);
      if (this.closes) response.writeHeader('Connection', 'close');
      attempt(0);
    });
  }

  /**
   * Sends the whole answer as head fields. The request then stays open for the library, which is the only
   * way to read on after an answer. The line end that follows counts as part of the body.
   *
   * When the rest may look like a second request, the library cuts the connection before it has sent
   * what is corked. Padding fills the cork, so that the answer is sent at once.
   */
  ahead(status: number, headers: Headers, bytes: Uint8Array): void {
    const padding = this.#request.doubtful && this.corked ? corkBytes : 0;
    const length = bytes.byteLength + padding + 2;
    const lines = `${this.#lines(headers)}\r\nConnection: close\r\nContent-Length: ${length}`;
    const { first, rest } = toBlock(`${lines}\r\n\r\n`);
    const content = this.#headOnly ? [] : [bytes, Buffer.alloc(padding, ' ')];
    this.#cork(() => {
      this.#response.writeStatus(statusLine(status));
      this.#response.writeHeader(first, Buffer.concat([Buffer.from(rest), ...content]));
    });
  }

  #cork(write: () => void): void {
    if (this.corked) write();
    else this.#response.cork(write);
  }

  #head(status: number, headers: Headers): void {
    const response = this.#response;
    if (status !== 200) response.writeStatus(statusLine(status));
    const { first, rest } = this.#known(status, headers) ?? toBlock(this.#lines(headers));
    response.writeHeader(first, rest);
  }

  #known(status: number, headers: Headers): HeadBlock | undefined {
    if (this.#extraLines !== '') return undefined;
    const { blocks } = this.#host;
    if (this.#request.route?.constant !== undefined && status === 200) return blocks.fixed(headers);
    return blocks.withId(headers, this.#exchange.requestId);
  }

  #lines(headers: Headers): string {
    const extra = this.#extraLines;
    const lines = `X-Request-Id: ${this.#exchange.requestId}\r\n${answerLines(headers)}`;
    return `${lines}${extra && `\r\n${extra}`}`;
  }

  /**
   * The length of a body that is not sent is written as a plain field. If the library were told of it, it
   * would wait for the body, and close the connection at the next request.
   */
  #endBodiless(length: number): void {
    if (this.closes) this.#response.writeHeader('Connection', 'close');
    if (this.#headOnly) this.#response.writeHeader('Content-Length', String(length));
    this.#response.endWithoutBody();
  }
}
