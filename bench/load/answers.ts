/**
 * Owns reading whole HTTP/1.1 answers from a socket, by Content-Length or in chunks; pure. Answers
 * without a body of their own kind (1xx, 204, 304) and those that end with the connection are not read.
 */

export interface HttpAnswer {
  status: number;
  body: Buffer;
  /** Of the whole answer: head, body and the framing of chunks. */
  bytes: number;
}

const headEnd = '\r\n\r\n';
const none = Buffer.alloc(0);

export class AnswerReader {
  #received: Buffer = none;
  readonly #later: Buffer[] = [];
  #laterBytes = 0;
  /** With fewer bytes the answer that has begun is not whole: until then they are only kept. */
  #needed = 0;

  /**
   * The answers that are whole now, in order. Throws on what is no HTTP answer. A chunk that is lent
   * is the reader's only during this call, and the bodies are the caller's only until the next one.
   */
  push(chunk: Buffer, isLent = false): HttpAnswer[] {
    const isWhole = this.#received.length + this.#laterBytes + chunk.length >= this.#needed;
    this.#later.push(isLent && !isWhole ? Buffer.from(chunk) : chunk);
    this.#laterBytes += chunk.length;
    if (!isWhole) return [];
    const isAlone = this.#received.length === 0 && this.#later.length === 1;
    this.#received = isAlone ? chunk : Buffer.concat([this.#received, ...this.#later]);
    this.#later.length = 0;
    this.#laterBytes = 0;
    this.#needed = 0;
    const answers: HttpAnswer[] = [];
    for (let answer = this.#next(); answer !== null; answer = this.#next()) answers.push(answer);
    if (isLent && this.#received.length > 0) this.#received = Buffer.from(this.#received);
    return answers;
  }

  #next(): HttpAnswer | null {
    const received = this.#received;
    const headLength = received.indexOf(headEnd);
    if (headLength < 0) return null;
    const head = received.toString('latin1', 0, headLength);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`no answer: ${head.slice(0, 80)}`);
    const start = headLength + headEnd.length;
    const framed = /\r\ntransfer-encoding: *chunked/i.test(head)
      ? chunkedBody(received, start)
      : sizedBody(received, start, Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0));
    if (framed.body === null) {
      this.#needed = framed.end;
      return null;
    }
    this.#received = received.length === framed.end ? none : received.subarray(framed.end);
    return { status, body: framed.body, bytes: framed.end };
  }
}

interface Framed {
  /** Null where it is not whole. */
  body: Buffer | null;
  /** Where the next answer begins, or as far as it goes at least. */
  end: number;
}

function sizedBody(received: Buffer, start: number, length: number): Framed {
  const end = start + length;
  return { body: received.length < end ? null : received.subarray(start, end), end };
}

function chunkedBody(received: Buffer, start: number): Framed {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = received.indexOf('\r\n', at);
    if (lineEnd < 0) return { body: null, end: received.length + 1 };
    const size = Number.parseInt(received.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error('no chunk size where one must stand');
    const next = lineEnd + 2 + size + 2;
    if (received.length < next) return { body: null, end: next };
    if (size === 0) {
      const [only = none] = parts;
      return { body: parts.length <= 1 ? only : Buffer.concat(parts), end: next };
    }
    parts.push(received.subarray(lineEnd + 2, next - 2));
    at = next;
  }
}
