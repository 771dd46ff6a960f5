/**
 * Owns the streams of a session (RFC 9113, 5): which there are, and what comes on them.
 *
 * 1. What is wrong about a stream ends that stream alone, and is counted. What makes the client's view of the session
 *    another than ours ends the session.
 * 2. What comes on a stream that was ended here meanwhile is dropped. Its bytes are given back.
 * 3. Behind an answer that is whole nothing more is taken of its request (RFC 9113, 8.1).
 */
import type { TLSSocket } from 'node:tls';

import type { Origin, VisitorHost } from '../visit.ts';
import type { Calm } from './calm.ts';
import { type ErrorCode, errors, firstWindow, resetFrame } from './frames.ts';
import type { DecodedHead } from './hpack-decoder.ts';
import type { Share } from './holdings.ts';
import type { HpackEncoder } from './hpack-encoder.ts';
import { giveBack, type Receives, sessionWindow, streamWindow } from './receive-window.ts';
import { readRequest, readTrailers } from './request-fields.ts';
import type { Sender } from './sender.ts';
import { Http2Visit, type VisitSession } from './visit.ts';

/** What streams need of their session. */
export interface StreamsHost {
  readonly socket: TLSSocket;
  readonly origin: Origin;
  readonly host: VisitorHost;
  readonly sender: Sender;
  readonly calm: Calm;
  readonly encoder: HpackEncoder;
  readonly share: Share;
  /** New streams are not taken any more. */
  readonly isClosed: boolean;
  fail(code: ErrorCode): void;
  /** Something was sent. */
  moved(): void;
  /** No stream is under way any more. */
  idle(): void;
}

export const streamsMax = 128;
/** Of those that were ended here before their client knew. */
const endedMax = 256;
/** What goes along with a request, and with a frame of an answer. */
const [earnedByRequest, earnedByFrame] = [16, 16];

interface UnderWay {
  visit: Http2Visit;
  /** Of its head. */
  bytes: number;
  over: () => void;
}

export class Streams implements VisitSession {
  readonly origin: Origin;
  readonly sender: Sender;
  readonly encoder: HpackEncoder;
  readonly share: Share;
  readonly #session: StreamsHost;
  readonly #underWay = new Map<number, UnderWay>();
  readonly #ended = new Set<number>();
  readonly #receives: Receives = { window: sessionWindow, owed: 0 };
  /** What a stream may send at first. */
  #firstWindow = firstWindow;
  #last = 0;
  /** The one before. */
  #lastButOne = -1;
  /** Whose data comes, whose was told what came at once, and how much of the frame is not told. */
  #current: Http2Visit | undefined;
  #told: Http2Visit | undefined;
  #frameLeft = 0;
  #isEmpty = true;

  constructor(session: StreamsHost) {
    this.#session = session;
    this.origin = session.origin;
    this.sender = session.sender;
    this.encoder = session.encoder;
    this.share = session.share;
  }

  /** The greatest number that a client has used. */
  get last(): number {
    return this.#last;
  }

  get date(): string {
    return this.#session.host.watch.date;
  }

  get isIdle(): boolean {
    return this.#underWay.size === 0;
  }

  /** Whether somebody sees to it that one of them ends. */
  get isWatched(): boolean {
    return [...this.#underWay.values()].some(({ visit }) => visit.isWatched);
  }

  /** A head came. */
  head(stream: number, decoded: DecodedHead, endsStream: boolean): void {
    const known = this.#underWay.get(stream);
    if (known !== undefined) this.#trailers(known.visit, decoded, endsStream);
    else if (stream > this.#last) this.#begin(stream, decoded, endsStream);
    else if (this.#ended.has(stream)) this.#ended[endsStream ? 'delete' : 'add'](stream);
    else this.#session.fail(this.#wasPassedOver(stream) ? errors.protocol : errors.streamClosed);
  }

  dataBegins(stream: number, length: number): void {
    this.#receives.window -= length;
    this.#frameLeft = length;
    this.#isEmpty = true;
    this.#current = this.#underWay.get(stream)?.visit;
    if (this.#isIdleNumber(stream)) this.#session.fail(errors.protocol);
    else if (this.#receives.window < 0) this.#session.fail(errors.flowControl);
    else if (this.#current === undefined) this.#unwanted(stream);
    else this.#awaitData(this.#current, length);
  }

  data(bytes: Buffer, from: number, to: number): void {
    const visit = this.#current;
    this.#frameLeft -= to - from;
    this.#isEmpty = false;
    if (visit !== this.#told) this.flushBodies();
    this.#told = visit;
    if (visit === undefined) this.#giveBack(to - from);
    else if (!visit.receive(bytes, from, to)) {
      this.#giveBack(to - from);
      this.#refuse(visit, errors.protocol);
    }
  }

  dataEnds(endsStream: boolean): void {
    const visit = this.#current;
    if (this.#isEmpty && !endsStream) this.#session.calm.count();
    // What is left is padding.
    if (visit === undefined) this.#giveBack(this.#frameLeft);
    else this.taken(visit, this.#frameLeft);
    if (visit !== undefined && endsStream) this.#receivedAll(visit, '');
  }

  /** All that came at once was told. */
  flushBodies(): void {
    this.#told?.flushBody();
    this.#told = undefined;
  }

  /** RST_STREAM came. */
  resetBy(stream: number): void {
    if (this.#isIdleNumber(stream)) {
      this.#session.fail(errors.protocol);
      return;
    }
    this.#ended.delete(stream);
    const visit = this.#underWay.get(stream)?.visit;
    if (visit === undefined) {
      this.#session.calm.spend();
      return;
    }
    this.#end(visit);
    this.#session.calm.count();
  }

  /** WINDOW_UPDATE of a stream came. */
  widen(stream: number, more: number): void {
    if (this.#isIdleNumber(stream)) {
      this.#session.fail(errors.protocol);
      return;
    }
    const visit = this.#underWay.get(stream)?.visit;
    if (visit === undefined) return;
    if (more === 0) this.#refuse(visit, errors.protocol);
    else if (visit.out.widen(more)) this.sender.ready(visit.out);
    else this.#refuse(visit, errors.flowControl);
  }

  /** SETTINGS_INITIAL_WINDOW_SIZE came: it is that of all streams. */
  setFirstWindow(window: number): void {
    const more = window - this.#firstWindow;
    this.#firstWindow = window;
    for (const { visit } of this.#underWay.values()) {
      if (!visit.out.widen(more)) {
        this.#session.fail(errors.flowControl);
        return;
      }
      this.sender.ready(visit.out);
    }
  }

  /** Nobody is answered any more. */
  close(): void {
    for (const { visit } of [...this.#underWay.values()]) this.#end(visit);
  }

  taken(visit: Http2Visit, bytes: number): void {
    this.#giveBack(bytes);
    if (visit.isReceived) return;
    giveBack(visit, bytes, { stream: visit.out.id, most: streamWindow, sender: this.sender });
  }

  reset(visit: Http2Visit, code: ErrorCode): void {
    if (this.#underWay.get(visit.out.id)?.visit !== visit) return;
    if (!visit.isReceived) this.#leave(visit.out.id);
    this.sender.control(resetFrame(visit.out.id, code));
    this.#end(visit);
  }

  sent(visit: Http2Visit): void {
    this.#session.moved();
    this.#session.calm.earn(earnedByFrame);
    if (!visit.out.isOver) return;
    if (visit.isReceived) this.#end(visit);
    else this.reset(visit, errors.none);
  }

  #begin(stream: number, decoded: DecodedHead, endsStream: boolean): void {
    this.#lastButOne = this.#last === 0 ? -1 : this.#last;
    this.#last = stream;
    if (this.#session.isClosed || this.#underWay.size >= streamsMax) {
      this.#turnAway(stream, errors.refusedStream, endsStream);
      return;
    }
    if (decoded.isTooLarge) {
      const head = this.encoder.status(431) + this.encoder.field('date', this.date);
      this.sender.answer(stream, head);
      if (!endsStream) this.#turnAway(stream, errors.none, false);
      else this.#session.calm.count();
      return;
    }
    const request = readRequest(decoded.fields, endsStream);
    if (request === undefined) {
      this.#turnAway(stream, errors.protocol, endsStream);
      return;
    }
    const { host, socket, calm } = this.#session;
    const windows = { sends: this.#firstWindow, receives: streamWindow };
    const visit = new Http2Visit(this, stream, request, windows);
    visit.isReceived = endsStream;
    const bytes = request.head.fields.length + request.head.target.length;
    this.#underWay.set(stream, { visit, bytes, over: host.begun(socket) });
    this.share.add(bytes);
    calm.earn(earnedByRequest);
    host.visit(visit);
  }

  #trailers(visit: Http2Visit, { fields, isTooLarge }: DecodedHead, endsStream: boolean): void {
    if (visit.isReceived) {
      this.#refuse(visit, errors.streamClosed);
      return;
    }
    const trailers = endsStream && !isTooLarge ? readTrailers(fields) : undefined;
    if (trailers === undefined) this.#refuse(visit, errors.protocol);
    else this.#receivedAll(visit, trailers);
  }

  #receivedAll(visit: Http2Visit, trailers: string): void {
    // What came with it goes on its way with it.
    if (!visit.receiveEnd(trailers)) this.#refuse(visit, errors.protocol);
    else if (visit.out.isOver) this.#end(visit);
  }

  #awaitData(visit: Http2Visit, length: number): void {
    visit.window -= length;
    if (visit.isReceived) this.#refuse(visit, errors.streamClosed);
    else if (visit.window < 0) this.#refuse(visit, errors.flowControl);
  }

  /** Data of a stream that is over. */
  #unwanted(stream: number): void {
    if (!this.#ended.has(stream)) this.#turnAway(stream, errors.streamClosed, true);
  }

  /** It was closed by the one behind it, without having been used (RFC 9113, 5.1.1). */
  #wasPassedOver(stream: number): boolean {
    return stream > this.#lastButOne && stream < this.#last;
  }

  #isIdleNumber(stream: number): boolean {
    return stream > this.#last || stream % 2 === 0;
  }

  /** Ends a stream about which something is wrong. */
  #refuse(visit: Http2Visit, code: ErrorCode): void {
    this.reset(visit, code);
    this.#session.calm.count();
  }

  /** Ends one that there is not. */
  #turnAway(stream: number, code: ErrorCode, endsStream: boolean): void {
    if (!endsStream) this.#leave(stream);
    this.sender.control(resetFrame(stream, code));
    this.#session.calm.count();
  }

  /** More may come on it. */
  #leave(stream: number): void {
    const [first] = this.#ended;
    if (this.#ended.size >= endedMax && first !== undefined) this.#ended.delete(first);
    this.#ended.add(stream);
  }

  #end(visit: Http2Visit): void {
    const { id } = visit.out;
    const known = this.#underWay.get(id);
    if (known === undefined) return;
    this.#underWay.delete(id);
    if (this.#current === visit) this.#current = undefined;
    if (this.#told === visit) this.#told = undefined;
    this.sender.forget(visit.out);
    visit.gone();
    visit.dropBody();
    this.share.add(-known.bytes);
    known.over();
    if (this.#underWay.size === 0) this.#session.idle();
  }

  #giveBack(bytes: number): void {
    const connection = { stream: 0, most: sessionWindow, sender: this.sender };
    giveBack(this.#receives, bytes, connection);
  }
}
