/**
 * Owns a connection of a visitor who speaks HTTP/1.1 or 1.0: one request after the other, each with its answer.
 *
 * 1. The next request is read when the last is answered, and the visitor takes answers. Of what comes before not much is
 *    taken meanwhile.
 * 2. A request that cannot be read is answered once, and nothing behind it is read.
 * 3. A connection whose next head does not come, or on which nothing moves, is closed in time.
 */
import type { Socket } from 'node:net';

import { lastStatuses, type Notice, noticeText, refusalText } from '../pages.ts';
import type { Origin, Visit, VisitEvents, VisitorHost } from '../visit.ts';
import type { AnswerHead } from './answer-head.ts';
import { type AnswerWay, answerWayOf, framingLines } from './answer-framing.ts';
import { BodyReader } from './body-reader.ts';
import { HeadText } from './head-text.ts';
import { Outlet } from './outlet.ts';
import type { Accepted, ReadMemory } from './read-buffers.ts';
import { noHead, readRequestHead, type RequestHead, requestLine } from './request-head.ts';

/** For a head; for a kept connection, longer than common clients keep one, so that it is not closed under a request. */
const [headS, keepS] = [30, 75];
const silenceS = 600;
/** What came behind the last answer is taken for so long, so that the answer is not lost with it. */
const lingerS = 3;
/** So many requests that came together are answered in one turn of the loop, and so many bytes of them are taken. */
const [atOnceMax, heldMax] = [16, 64 * 1024];

const [cr, lf] = [13, 10];
const bareAnswers = {
  malformed: '400 Bad Request',
  'too-long': '431 Request Header Fields Too Large',
  late: '408 Request Timeout',
} as const;

const nothing = (): void => undefined;
const continueHead = { status: 100, reason: 'Continue', fields: '' };

type Phase = 'head' | 'visit' | 'closing' | 'closed';
type BodyWay = 'held' | 'flows' | 'dropped' | 'over';

export class VisitorConnection implements Visit {
  head: RequestHead = noHead;
  readonly origin: Origin;
  readonly #socket: Socket;
  readonly #host: VisitorHost;
  readonly #outlet: Outlet;
  readonly #headText = new HeadText(requestLine);
  #phase: Phase = 'head';
  /** What is not read yet. */
  #held: Buffer | undefined;
  #isBorrowed = false;
  #isPaused = false;
  /** The visitor sends no more. */
  #isEnded = false;
  /** When the phase began, or something moved. */
  #sinceS: number;
  #requests = 0;

  #events: VisitEvents | undefined;
  #over: () => void = nothing;
  #body: BodyReader | undefined;
  #bodyWay: BodyWay = 'over';
  #hasContinued = false;
  #answerWay: AnswerWay = 'none';
  #isAnswered = false;
  #keeps = false;

  /** `accepted`: what it reads into, unless that is a stream's. */
  constructor(socket: Socket, origin: Origin, host: VisitorHost, accepted?: Accepted) {
    this.#socket = socket;
    this.origin = origin;
    this.#host = host;
    this.#outlet = new Outlet(socket);
    this.#sinceS = host.watch.nowS;
    host.watch.add(this);
    if (accepted === undefined) socket.on('data', (bytes: Buffer) => this.#take(bytes));
    else accepted.take = (bytes) => this.#borrow(accepted.memory, bytes);
    socket.on('end', () => this.#end());
    socket.on('drain', () => this.#drained());
    socket.once('close', () => this.#closed());
  }

  get holdsBytes(): boolean {
    return this.#outlet.holdsBytes;
  }

  /** It asks nothing. */
  get isIdle(): boolean {
    return this.#phase === 'head' && this.#headText.text === '';
  }

  listen(events: VisitEvents): void {
    this.#events = events;
  }

  takeBody(): void {
    if (this.#bodyWay !== 'held') return;
    this.#bodyWay = 'flows';
    this.#readOn();
  }

  pauseBody(): void {
    if (this.#bodyWay === 'flows') this.#pause();
  }

  resumeBody(): void {
    if (this.#bodyWay === 'flows') this.#readOn();
  }

  dropBody(): void {
    if (this.#bodyWay === 'over') return;
    this.#bodyWay = 'dropped';
    this.#readOn();
  }

  interim({ status, reason, fields }: Pick<AnswerHead, 'status' | 'reason' | 'fields'>): void {
    if (this.head.isOld) return;
    if (status === 100) {
      if (!this.head.expectsContinue || this.#hasContinued) return;
      this.#hasContinued = true;
    }
    this.#outlet.text(`HTTP/1.1 ${String(status)} ${reason}\r\n${fields}\r\n`);
    this.#outlet.flush();
  }

  answer(head: AnswerHead): void {
    if (head.status === 101) {
      this.#switch(head);
      return;
    }
    this.#answerWay = answerWayOf(this.head, head);
    const endIsTold = !this.head.isOld || this.#answerWay === 'none' || head.body !== 'until-close';
    this.#keeps = this.#mayKeep() && endIsTold && !(this.head.isOld && head.body === 'chunked');
    this.#hasContinued = true;
    this.#outlet.text(
      `HTTP/1.1 ${String(head.status)} ${head.reason}\r\n${head.fields}${framingLines(this.head, head)}` +
        (this.#keeps ? 'connection: keep-alive\r\n\r\n' : 'connection: close\r\n\r\n'),
    );
  }

  bytes(bytes: Buffer, from: number, to: number): void {
    if (this.#answerWay === 'none') return;
    if (this.#answerWay === 'chunked') this.#outlet.text(`${(to - from).toString(16)}\r\n`);
    this.#outlet.bytes(bytes, from, to);
    if (this.#answerWay === 'chunked') this.#outlet.text('\r\n');
  }

  flush(): boolean {
    this.#sinceS = this.#host.watch.nowS;
    return this.#outlet.flush();
  }

  end(trailers: string): void {
    if (this.#answerWay === 'chunked') this.#outlet.text(`0\r\n${trailers}\r\n`);
    this.#outlet.flush();
    this.#answered();
  }

  notice(notice: Notice): void {
    this.#keeps = !lastStatuses.has(notice.status) && this.#mayKeep();
    this.#outlet.text(noticeText(this.head, notice, this.#host.watch.date, this.#keeps));
    this.#outlet.flush();
    this.#answered();
  }

  cut(): void {
    this.#socket.destroy();
  }

  look(nowS: number): void {
    const forS = nowS - this.#sinceS;
    switch (this.#phase) {
      case 'head':
        this.#lookForHead(forS);
        return;
      case 'visit':
        if (forS >= 1) this.#goOn();
        // What is dropped behind an answer, or taken of it. Before, the exchange looks.
        if (forS >= silenceS && this.#events === undefined) this.#socket.destroy();
        return;
      case 'closing':
        if (forS >= (this.#outlet.holdsBytes ? silenceS : lingerS)) this.#socket.destroy();
        return;
      case 'closed':
    }
  }

  /** Nothing more is asked here: closes it, unless a request is under way. */
  closeIfIdle(): void {
    if (this.isIdle) this.#close();
  }

  /** An app that knows nothing of `100 Continue` waits for the body, and the visitor for the word. */
  #goOn(): void {
    if (this.#bodyWay === 'flows' && this.head.expectsContinue) this.interim(continueHead);
  }

  #lookForHead(forS: number): void {
    if (this.#headText.text === '' && this.#requests > 0) {
      if (forS >= keepS) this.#close();
    } else if (forS >= headS) this.#refuse('late');
  }

  #borrow(memory: ReadMemory, bytes: Buffer): void {
    this.#isBorrowed = true;
    this.#take(bytes);
    this.#isBorrowed = false;
    const goesOn = this.#bodyWay === 'flows' || this.#bodyWay === 'dropped';
    // Nobody says any more what an app's connection held when its exchange is over.
    memory.hasRead(bytes.length, goesOn, this.#events?.holdsBody ?? true);
  }

  #take(bytes: Buffer): void {
    if ((this.#isPaused || this.#held !== undefined) && this.#phase !== 'closing') {
      this.#hold(bytes);
      return;
    }
    switch (this.#phase) {
      case 'head':
        this.#readHead(bytes);
        return;
      case 'visit':
        if (this.#bodyWay === 'held' || this.#bodyWay === 'over') this.#hold(bytes);
        else this.#readBody(bytes);
        return;
      case 'closing':
      case 'closed':
    }
  }

  #readHead(bytes: Buffer): void {
    const head = this.#headText;
    let at = 0;
    if (head.text === '') {
      // RFC 9112, 2.2: old clients send an empty line behind a body.
      while (bytes[at] === cr && bytes[at + 1] === lf) at += 2;
      if (at === bytes.length) return;
      if (this.#requests > 0) this.#sinceS = this.#host.watch.nowS;
    }
    at = head.read(bytes, at, bytes.length);
    if (head.state === 'partial') return;
    const read = head.state === 'whole' ? readRequestHead(head.text) : undefined;
    const { state } = head;
    head.clear();
    if (read === undefined) {
      this.#refuse(state === 'too-long' ? 'too-long' : 'malformed');
      return;
    }
    if (at < bytes.length) this.#hold(at === 0 ? bytes : bytes.subarray(at));
    this.#begin(read);
  }

  #begin(head: RequestHead): void {
    this.head = head;
    this.#phase = 'visit';
    this.#sinceS = this.#host.watch.nowS;
    this.#requests++;
    this.#hasContinued = false;
    this.#isAnswered = false;
    this.#body = head.body === 0 ? undefined : new BodyReader(head.body);
    this.#bodyWay = this.#body === undefined ? 'over' : 'held';
    this.#over = this.#host.begun(this.#socket);
    this.#host.visit(this);
  }

  #readBody(bytes: Buffer): void {
    const body = this.#body;
    if (body === undefined) return;
    this.#sinceS = this.#host.watch.nowS;
    let at = 0;
    while (at < bytes.length && !body.isWhole) {
      at = body.read(bytes, at, bytes.length);
      if (body.isMalformed) {
        this.#keeps = false;
        if (this.#isAnswered) this.#close();
        else this.#events?.bodyMalformed();
        return;
      }
      if (body.to > body.from && this.#bodyWay === 'flows')
        this.#events?.bodyBytes(bytes, body.from, body.to);
    }
    if (this.#bodyWay === 'flows') this.#events?.bodyFlush();
    if (!body.isWhole) return;
    if (at < bytes.length) this.#hold(bytes.subarray(at));
    const flowed = this.#bodyWay === 'flows';
    this.#bodyWay = 'over';
    if (flowed) this.#events?.bodyEnd(body.trailers);
    else if (this.#isAnswered) this.#next();
  }

  #hold(bytes: Buffer): void {
    const own = this.#isBorrowed ? Buffer.from(bytes) : bytes;
    this.#held = this.#held === undefined ? own : Buffer.concat([this.#held, own]);
    // Of who is not read it is not seen that it leaves.
    if (this.#held.length >= heldMax) this.#pause();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** What is held comes first. */
  #readOn(): void {
    const held = this.#held;
    this.#held = undefined;
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    if (held !== undefined) this.#take(held);
  }

  /** Whether another request may follow, as far as this one goes. */
  #mayKeep(): boolean {
    if (!this.head.keepsConnection || this.#host.isDraining || this.#isEnded) return false;
    if (this.head.isWebSocketUpgrade) return false;
    // Nobody knows whether the body comes now that it was not asked for.
    return !(this.head.expectsContinue && !this.#hasContinued && this.#bodyWay !== 'over');
  }

  #switch({ reason, fields, upgrade }: AnswerHead): void {
    this.#keeps = false;
    this.#answerWay = 'plain';
    this.#outlet.text(
      `HTTP/1.1 101 ${reason}\r\n${fields}connection: upgrade\r\nupgrade: ${upgrade}\r\n\r\n`,
    );
    this.#outlet.flush();
    this.#body = new BodyReader('until-close');
    this.#bodyWay = 'flows';
    this.#readOn();
    if (this.#isEnded) this.#events?.bodyEnd('');
  }

  #answered(): void {
    this.#events = undefined;
    this.#isAnswered = true;
    if (!this.#keeps) this.#close();
    else if (this.#bodyWay === 'over') this.#next();
    else this.dropBody();
  }

  #next(): void {
    this.#sinceS = this.#host.watch.nowS;
    // Answers that nobody takes would pile up.
    if (this.#socket.writableNeedDrain) return;
    this.#phase = 'head';
    this.#over();
    this.#over = nothing;
    if (this.#held === undefined || this.#requests % atOnceMax !== 0) this.#readOn();
    else setImmediate(() => this.#readOn());
  }

  #drained(): void {
    if (this.#events !== undefined) this.#events.drained();
    else if (this.#phase === 'visit' && this.#bodyWay === 'over') this.#next();
  }

  #refuse(why: keyof typeof bareAnswers): void {
    this.#host.answered(parseInt(bareAnswers[why], 10));
    this.#outlet.text(refusalText(bareAnswers[why], this.#host.watch.date));
    this.#outlet.flush();
    this.#close();
  }

  /** Who sends no more is taken to be gone, but for what changes its protocol. */
  #end(): void {
    this.#isEnded = true;
    if (this.#phase === 'head' || this.#isAnswered) this.#close();
    else if (this.#phase === 'visit' && this.#bodyWay === 'flows' && this.#body?.mayEnd === true)
      this.#events?.bodyEnd('');
    else if (this.#phase === 'visit') this.#socket.destroy();
  }

  /** What was written is sent first. */
  #close(): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return;
    this.#phase = 'closing';
    this.#held = undefined;
    this.#sinceS = this.#host.watch.nowS;
    this.#socket.end();
    if (this.#isPaused) this.#socket.resume();
    if (this.#isEnded) this.#socket.destroySoon();
  }

  #closed(): void {
    this.#phase = 'closed';
    this.#host.watch.delete(this);
    this.#over();
    const events = this.#events;
    this.#events = undefined;
    events?.gone();
  }
}
