/** Visitors who ask without a pause, each one request after the other: for what must cost none of them an answer. */
import assert from 'node:assert/strict';
import type http2 from 'node:http2';
import http from 'node:http';
import https from 'node:https';

import { eventually } from './eventually.ts';

/** Resolves with the answer, and rejects where that is none to be glad of. `body`: what is sent, if anything. */
export type Ask = (body?: string) => Promise<string>;

export interface VisitorOptions extends https.RequestOptions {
  isSecure?: boolean;
  /** Each request over a connection of its own. */
  comesAnew?: boolean;
}

export class ConstantLoad {
  readonly #failures: string[] = [];
  readonly #counts: number[];
  readonly #visits: Promise<unknown>;
  #goes = true;

  /** Every other request of each has a body, which its answer must end with. */
  constructor(...asks: readonly Ask[]) {
    this.#counts = asks.map(() => 0);
    this.#visits = Promise.all(asks.map((ask, at) => this.#visit(ask, at)));
  }

  /** That came so far, of all visitors. */
  get answers(): number {
    return this.#counts.reduce((all, one) => all + one);
  }

  /** Each of them gets so many more answers. */
  async more(count: number): Promise<void> {
    const before = [...this.#counts];
    await eventually(
      'answers',
      () =>
        this.#failures.length > 0 ||
        this.#counts.every((asked, at) => asked >= (before[at] ?? 0) + count),
    );
    assert.deepEqual(this.#failures, []);
  }

  /** Asserts that none has failed. */
  async end(): Promise<void> {
    await this.stop();
    assert.deepEqual(this.#failures, []);
  }

  /** Whatever came of them; twice is fine. */
  async stop(): Promise<void> {
    this.#goes = false;
    await this.#visits;
  }

  async #visit(ask: Ask, at: number): Promise<void> {
    while (this.#goes && this.#failures.length < 10) {
      const asked = (this.#counts[at] ?? 0) + 1;
      const body = asked % 2 === 0 ? `body ${String(asked)}` : undefined;
      try {
        const answer = await ask(body);
        assert.ok(answer.endsWith(body ?? ''), answer);
      } catch (error) {
        this.#failures.push(`visitor ${String(at)}, ${new Date().toISOString()}: ${String(error)}`);
      }
      this.#counts[at] = asked;
    }
  }
}

/** Over HTTP/1.1. */
export function visitor({ isSecure = false, comesAnew = false, ...options }: VisitorOptions): Ask {
  const { request, Agent } = isSecure ? https : http;
  const agent = comesAnew ? false : new Agent({ keepAlive: true, maxSockets: 1 });
  return (body) =>
    new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST';
      const asking = request({ host: '127.0.0.1', agent, method, ...options }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (more: string) => (text += more));
        answer.once('error', reject).once('end', () => {
          if (answer.statusCode === 200) resolve(text);
          else reject(new Error(`${String(answer.statusCode)} ${text}`));
        });
      });
      asking.once('error', reject).end(body);
    });
}

/** Over one session of HTTP/2, whose end is a failure, too. */
export function sessionVisitor(session: http2.ClientHttp2Session, authority: string): Ask {
  return async (body) => answerIn(await streamOf(session, authority, body));
}

/** Over one session after the other, as each is told to end. What one did not look at is asked again, as browsers do. */
export function sessionsVisitor(connect: () => http2.ClientHttp2Session, authority: string): Ask {
  const open = () => {
    const opened = connect().on('error', () => undefined); // Its streams end by it.
    opened.unref();
    return opened;
  };
  let session = open();
  return async (body) => {
    for (;;) {
      if (session.closed) session = open();
      const ended = await streamOf(session, authority, body);
      if (ended.rstCode !== refusedStream) return answerIn(ended);
    }
  };
}

interface EndedStream {
  status: number;
  rstCode: number;
  text: string;
}

/** RFC 9113, 8.7. */
const refusedStream = 7;

function answerIn({ status, rstCode, text }: EndedStream): string {
  if (status === 200 && rstCode === 0) return text;
  throw new Error(`${String(status)} ${text}, reset: ${String(rstCode)}`);
}

function streamOf(
  session: http2.ClientHttp2Session,
  authority: string,
  body: string | undefined,
): Promise<EndedStream> {
  return new Promise((resolve) => {
    const method = body === undefined ? 'GET' : 'POST';
    const stream = session.request({ ':authority': authority, ':method': method });
    let [text, status] = ['', 0];
    stream.once('response', (headers) => (status = headers[':status'] ?? 0));
    stream.setEncoding('utf8').on('data', (more: string) => (text += more));
    stream
      .on('error', () => undefined)
      .once('close', () => {
        resolve({ status, rstCode: stream.rstCode, text });
      });
    stream.end(body);
  });
}
