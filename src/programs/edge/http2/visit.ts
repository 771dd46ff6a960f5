/**
 * Owns a request of a visitor who speaks HTTP/2, and its answer: one stream. It is read as the head of HTTP/1.1 that it
 * becomes for the app, by the same rules.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';

import type { AnswerHead } from '../http1/answer-head.ts';
import { passedTrailers } from '../http1/body-reader.ts';
import { Outlet } from '../http1/outlet.ts';
import { readRequestHead, type RequestHead } from '../http1/request-head.ts';
import { type Notice, noticeText } from '../pages.ts';
import type { Origin, Visit, VisitEvents } from '../visit.ts';

/** RST_STREAM codes of RFC 9113, 7. */
const internalError = 2;
/** Of answers: Node refuses to send these more than once. Joined they mean the same (RFC 9110, 5.2). */
const sentOnce: ReadonlySet<string> = new Set([
  ...['access-control-allow-credentials', 'access-control-max-age', 'age', 'content-encoding'],
  ...['content-language', 'content-location', 'content-md5', 'content-range', 'content-type'],
  ...['date', 'etag', 'expires', 'last-modified', 'location', 'retry-after', 'tk'],
  'x-content-type-options',
]);

/** Undefined: it can be no request. `endsHere`: nothing follows its head. */
export function readHead(headers: IncomingHttpHeaders, endsHere: boolean): RequestHead | undefined {
  const { ':method': method = '', ':path': path = '', ':authority': authority } = headers;
  const host = authority ?? headers.host;
  // Two hosts could be taken for either.
  if (host === undefined || (headers.host ?? host) !== host) return undefined;
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    const value = headers[name];
    // An interim answer is sent here, as soon as the body is wanted.
    if (value === undefined || name.startsWith(':') || name === 'host' || name === 'expect')
      continue;
    for (const one of Array.isArray(value) ? value : [value]) text += `${name}: ${one}\r\n`;
  }
  const isFramed = endsHere || headers['content-length'] !== undefined;
  return readRequestHead(`${text}${isFramed ? '' : 'transfer-encoding: chunked\r\n'}\r\n`);
}

export class Http2Visit implements Visit {
  readonly head: RequestHead;
  readonly origin: Origin;
  readonly #stream: ServerHttp2Stream;
  readonly #outlet: Outlet;
  readonly #expectsContinue: boolean;
  #events: VisitEvents | undefined;
  #trailers = '';
  #hasTrailers = false;
  #awaitsDrain = false;
  #isDropped = false;

  constructor(
    stream: ServerHttp2Stream,
    origin: Origin,
    head: RequestHead,
    expectsContinue: boolean,
  ) {
    this.#stream = stream;
    this.origin = origin;
    this.head = head;
    this.#expectsContinue = expectsContinue;
    this.#outlet = new Outlet(stream);
    // They may be here before the body is taken.
    if (head.body === 'chunked') stream.once('trailers', (trailers) => this.#take(trailers));
  }

  get holdsBytes(): boolean {
    return this.#outlet.holdsBytes;
  }

  listen(events: VisitEvents): void {
    this.#events = events;
  }

  takeBody(): void {
    const stream = this.#stream;
    if (this.#expectsContinue && !stream.destroyed) stream.additionalHeaders({ ':status': 100 });
    stream.on('data', (bytes: Buffer) => {
      if (this.#isDropped) return;
      this.#events?.bodyBytes(bytes, 0, bytes.length);
      this.#events?.bodyFlush();
    });
    stream.once('end', () => {
      // Of one that was broken off, too; what it lacks must not look whole.
      if (!this.#isDropped && !stream.aborted) this.#events?.bodyEnd(this.#trailers);
    });
  }

  pauseBody(): void {
    this.#stream.pause();
  }

  resumeBody(): void {
    this.#stream.resume();
  }

  dropBody(): void {
    this.#isDropped = true;
    this.#stream.resume();
  }

  interim({ status, fields }: AnswerHead): void {
    if (status === 100 || this.#stream.destroyed) return;
    this.#trying(() => this.#stream.additionalHeaders({ ':status': status, ...headersOf(fields) }));
  }

  answer({ status, fields, body, trailer }: AnswerHead): void {
    const list = listOf(status, fields);
    if (typeof body === 'number' && status !== 204) list.push('content-length', String(body));
    const hasTrailers = body === 'chunked' && trailer !== '';
    if (hasTrailers) list.push('trailer', trailer);
    const endStream = status === 204 || status === 304 || this.head.method === 'HEAD';
    this.#respond(list, endStream, hasTrailers);
  }

  bytes(bytes: Buffer, from: number, to: number): void {
    if (this.#stream.writable) this.#outlet.bytes(bytes, from, to);
  }

  flush(): boolean {
    if (!this.#stream.writable || this.#outlet.flush()) return true;
    if (!this.#awaitsDrain) this.#stream.once('drain', () => this.#drained());
    this.#awaitsDrain = true;
    return false;
  }

  end(trailers: string): void {
    const stream = this.#stream;
    this.#events = undefined;
    if (!stream.writable) return;
    this.#outlet.flush();
    if (this.#hasTrailers)
      stream.once('wantTrailers', () =>
        this.#trying(() => stream.sendTrailers(headersOf(trailers))),
      );
    stream.end();
    this.#leaveRest();
  }

  notice(notice: Notice): void {
    this.#events = undefined;
    const text = noticeText(this.head, notice, true);
    const end = text.indexOf('\r\n\r\n');
    const fields = text.slice(text.indexOf('\r\n') + 2, end + 2);
    const body = text.slice(end + 4);
    this.#respond(listOf(notice.status, fields), body === '', false);
    if (body !== '' && this.#stream.writable) this.#stream.end(body, 'latin1');
    this.#leaveRest();
  }

  cut(): void {
    this.#events = undefined;
    // Closed in another way its end could be sent before.
    this.#stream.destroy(new Error('Cannot go on: the answer is not whole'));
  }

  /** The stream is closed. */
  closed(): void {
    const events = this.#events;
    this.#events = undefined;
    events?.gone();
  }

  #respond(list: readonly string[], endStream: boolean, waitForTrailers: boolean): void {
    this.#hasTrailers = waitForTrailers;
    if (this.#stream.destroyed) return;
    this.#trying(() => this.#stream.respond(list, { endStream, waitForTrailers }));
  }

  #take(trailers: IncomingHttpHeaders): void {
    this.#trailers = passedTrailers(`${linesOf(trailers)}\r\n`) ?? '';
  }

  #drained(): void {
    this.#awaitsDrain = false;
    this.#events?.drained();
  }

  /** What HTTP/1.1 allows of fields is not all that HTTP/2 takes. */
  #trying(send: () => void): void {
    try {
      send();
    } catch {
      this.#stream.close(internalError);
    }
  }

  /** The rest of a body is read and dropped: its flow control would keep the stream open. */
  #leaveRest(): void {
    this.#isDropped = true;
    // Where none can come Node does it at the end. Before, it would destroy the stream while its answer is sent, and
    // make an error of each.
    if (this.head.body !== 0) this.#stream.resume();
  }
}

/** Of a head: names and values in turn. `lines`: each with its end. */
function listOf(status: number, lines: string): string[] {
  const list = [':status', String(status)];
  let end: number;
  for (let at = 0; (end = lines.indexOf('\r\n', at)) !== -1; at = end + 2) {
    const colon = lines.indexOf(':', at);
    const name = lines.slice(at, colon).toLowerCase();
    if (name !== 'connection') add(list, name, lines.slice(colon + 1, end).trim());
  }
  return list;
}

function add(list: string[], name: string, value: string): void {
  let known = sentOnce.has(name) ? 0 : list.length;
  while (known < list.length && list[known] !== name) known += 2;
  if (known < list.length) list[known + 1] = `${String(list[known + 1])}, ${value}`;
  else list.push(name, value);
}

/** `lines`: each with its end. */
function headersOf(lines: string): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon === -1) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const known = headers[name];
    if (known === undefined) headers[name] = value;
    else if (sentOnce.has(name)) headers[name] = `${String(known)}, ${value}`;
    else headers[name] = [...(Array.isArray(known) ? known : [known]), value];
  }
  return headers;
}

function linesOf(headers: IncomingHttpHeaders): string {
  let lines = '';
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || name.startsWith(':')) continue;
    for (const one of Array.isArray(value) ? value : [value]) lines += `${name}: ${one}\r\n`;
  }
  return lines;
}
