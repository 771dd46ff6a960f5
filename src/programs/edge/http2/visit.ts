/** Owns a request of a visitor who speaks HTTP/2, and its answer: one stream. */
import type { AnswerHead } from '../http1/answer-head.ts';
import { withoutNames } from '../http1/fields.ts';
import type { RequestHead } from '../http1/request-head.ts';
import { type Notice, noticeText } from '../pages.ts';
import type { Origin, Visit, VisitEvents } from '../visit.ts';
import { type ErrorCode, errors } from './frames.ts';
import type { HpackEncoder } from './hpack-encoder.ts';
import type { Request } from './request-fields.ts';
import { HeldBody } from './held-body.ts';
import type { Share } from './holdings.ts';
import { SendStream } from './send-stream.ts';
import type { Sender } from './sender.ts';

/** What a visit needs of its session. */
export interface VisitSession {
  readonly origin: Origin;
  readonly sender: Sender;
  readonly encoder: HpackEncoder;
  readonly share: Share;
  /** For `Date`. */
  readonly date: string;
  /** So much of its body is not held any more. */
  taken(visit: Http2Visit, bytes: number): void;
  reset(visit: Http2Visit, code: ErrorCode): void;
  /** Some of its answer is. */
  sent(visit: Http2Visit): void;
}

/** Of a body: nobody has asked for it, it is told as it comes, it waits, or nobody is told. */
type BodyWay = 'held' | 'flows' | 'paused' | 'dropped';

/** From here on it is sent at once, more of it waits, or all streams of the session have too much. */
const [sendFrom, waitFrom, sessionMax] = [16 * 1024, 64 * 1024, 1024 * 1024];

export class Http2Visit implements Visit {
  readonly head: RequestHead;
  readonly origin: Origin;
  /** All bytes that are given are copied. */
  readonly holdsBytes = false;
  readonly out: SendStream;
  /** How much the client may send still, and how much more it is to be told. */
  window: number;
  owed = 0;
  /** Its end has come. */
  isReceived = false;
  readonly #session: VisitSession;
  readonly #expectsContinue: boolean;
  #events: VisitEvents | undefined;
  #way: BodyWay = 'held';
  readonly #held = new HeldBody();
  #received = 0;
  #trailers = '';
  #hasNoBody = false;
  #awaitsDrain = false;

  /** `windows`: how much may be sent, and come. */
  constructor(
    session: VisitSession,
    id: number,
    { head, expectsContinue }: Request,
    windows: { sends: number; receives: number },
  ) {
    this.#session = session;
    this.origin = session.origin;
    this.head = head;
    this.#expectsContinue = expectsContinue;
    this.window = windows.receives;
    this.out = new SendStream(id, windows.sends, () => this.#sent());
  }

  /** Its answer is not whole: whoever gives that looks how long it takes. */
  get isWatched(): boolean {
    return this.#events !== undefined;
  }

  listen(events: VisitEvents): void {
    this.#events = events;
  }

  takeBody(): void {
    if (this.#way !== 'held') return;
    this.#way = 'flows';
    if (this.#expectsContinue && this.#received === 0 && !this.isReceived) {
      this.out.interim(this.#session.encoder.status(100));
      this.#session.sender.ready(this.out);
    }
    this.#readOn();
  }

  pauseBody(): void {
    if (this.#way === 'flows') this.#way = 'paused';
  }

  resumeBody(): void {
    if (this.#way !== 'paused') return;
    this.#way = 'flows';
    this.#readOn();
  }

  dropBody(): void {
    this.#way = 'dropped';
    for (let bytes = this.#shift(); bytes !== undefined; bytes = this.#shift())
      this.#session.taken(this, bytes.length);
  }

  interim({ status, fields }: AnswerHead): void {
    if (status === 100 || this.out.isOver) return;
    const { encoder, sender } = this.#session;
    this.out.interim(encoder.status(status) + encoder.lines(fields));
    sender.ready(this.out);
  }

  answer({ status, fields, body, trailer }: AnswerHead): void {
    if (this.out.isOver) return;
    const { encoder, sender } = this.#session;
    let block = encoder.status(status) + encoder.lines(fields);
    if (typeof body === 'number' && status !== 204)
      block += encoder.field('content-length', String(body));
    if (body === 'chunked' && trailer !== '') block += encoder.field('trailer', trailer);
    this.#hasNoBody = status === 204 || status === 304 || this.head.method === 'HEAD';
    if (this.#hasNoBody) this.out.end('');
    this.out.head(block);
    sender.ready(this.out);
  }

  bytes(bytes: Buffer, from: number, to: number): void {
    if (this.#hasNoBody || this.out.isOver || from === to) return;
    this.out.data(bytes.toString('latin1', from, to));
  }

  flush(): boolean {
    const { out } = this;
    const { sender, share } = this.#session;
    if (out.isOver) return true;
    sender.ready(out);
    if (out.held >= sendFrom) sender.flush();
    const isMuch = sender.held >= sessionMax || share.isTight;
    const isFull = out.held >= waitFrom || (out.held > 0 && isMuch);
    this.#awaitsDrain = isFull;
    return !isFull;
  }

  end(trailers: string): void {
    this.#events = undefined;
    this.dropBody();
    if (this.out.isOver) return;
    const { encoder, sender } = this.#session;
    this.out.end(this.#hasNoBody ? '' : encoder.lines(trailers));
    sender.ready(this.out);
  }

  notice(notice: Notice): void {
    this.#events = undefined;
    this.dropBody();
    if (this.out.isOver) return;
    const { encoder, sender, date } = this.#session;
    const text = noticeText(this.head, notice, date, true);
    const end = text.indexOf('\r\n\r\n');
    const lines = withoutNames(text.slice(text.indexOf('\r\n') + 2, end + 2), ['connection']);
    this.out.head(encoder.status(notice.status) + encoder.lines(lines));
    const body = text.slice(end + 4);
    if (body !== '') this.out.data(body);
    this.out.end('');
    sender.ready(this.out);
  }

  cut(): void {
    this.#events = undefined;
    this.#session.reset(this, errors.internal);
  }

  /** Some of its body came. False: it is more than its head told. */
  receive(bytes: Buffer, from: number, to: number): boolean {
    const { body } = this.head;
    this.#received += to - from;
    if (typeof body === 'number' && this.#received > body) return false;
    // What waits comes first.
    if (this.#way === 'held' || this.#way === 'paused' || this.#held.length > 0) {
      this.#held.add(bytes, from, to);
      this.#session.share.add(to - from);
      return true;
    }
    this.#pass(bytes, from, to);
    return true;
  }

  /** All that came at once was told. */
  flushBody(): void {
    if (this.#way === 'flows') this.#events?.bodyFlush();
  }

  /** Its body is whole. False: it is less than its head told. `trailers`: lines, each with its end. */
  receiveEnd(trailers: string): boolean {
    const { body } = this.head;
    if (typeof body === 'number' && this.#received < body) return false;
    this.isReceived = true;
    this.#trailers = trailers;
    if (this.#way !== 'held') this.#endBody();
    return true;
  }

  /** The stream is no more. */
  gone(): void {
    const events = this.#events;
    this.#events = undefined;
    events?.gone();
  }

  #pass(bytes: Buffer, from: number, to: number): void {
    if (this.#way !== 'dropped') this.#events?.bodyBytes(bytes, from, to);
    this.#session.taken(this, to - from);
  }

  #readOn(): void {
    while (this.#way === 'flows') {
      const bytes = this.#shift();
      if (bytes === undefined) break;
      this.#pass(bytes, 0, bytes.length);
      this.flushBody();
    }
    if (this.isReceived) this.#endBody();
  }

  /** Of what waits, some. */
  #shift(): Buffer | undefined {
    const bytes = this.#held.shift();
    if (bytes !== undefined) this.#session.share.add(-bytes.length);
    return bytes;
  }

  #endBody(): void {
    if (this.#held.length > 0 || this.#way === 'dropped') return;
    // It is told once.
    this.#way = 'dropped';
    this.#events?.bodyEnd(this.#trailers);
  }

  #sent(): void {
    this.#session.sent(this);
    if (!this.#awaitsDrain || this.out.held >= sendFrom) return;
    this.#awaitsDrain = false;
    this.#events?.drained();
  }
}
