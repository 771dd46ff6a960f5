/**
 * Owns one request on its way to an app, and the answer on its way back.
 *
 * 1. Nothing of a body is taken from the visitor before there is a connection to send it over.
 * 2. Neither side is read faster than the other takes it.
 * 3. When an app answers before it has read all, the rest of the request is read and dropped behind the answer.
 * 4. If a target did not begin to take a request, the app's other targets are tried. A request that an app may have
 *    begun to work on is sent again only if its method is safe, it has no body, and a kept connection broke.
 * 5. Every failure is answered once, or the visitor's connection is cut.
 */
import type { Target } from '../../protocol/edge-messages.ts';
import type { Balancer } from '../../lib/balancer.ts';
import type { AppConnection, AppEvents } from './http1/app-connection.ts';
import type { AnswerHead } from './http1/answer-head.ts';
import { type Notice, noticeOf, vacancyNotice } from './pages.ts';
import type { RequestTurns } from './request-turns.ts';
import type { LiveRoute } from './routes.ts';
import type { Upstream } from './upstreams.ts';
import type { Visit, VisitEvents } from './visit.ts';

/** What exchanges need of the edge, and tell it. */
export interface ExchangeHost {
  readonly turns: RequestTurns;
  readonly balancer: Balancer<Target>;
  upstreamOf(target: Target): Upstream;
  /** What the app is to see of the request. */
  headFor(visit: Visit): string;
  failed(target: Target, error: unknown, again: boolean): void;
}

const triesMax = 4;
/** What a request costs of a turn, over a kept connection and over a new one. */
const [keptCost, newCost] = [1, 4];
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

type Phase = 'begins' | 'sent' | 'answered' | 'over';

/** Deadlines and limits of an app belong here, and to `AppConnection.look`: they come with its route. */
export class Exchange implements VisitEvents, AppEvents {
  readonly #route: LiveRoute;
  readonly #startedAt = performance.now();
  /** Of the answer; 0: there was none. */
  #status = 0;
  #byEdge = false;
  /** Of the bodies. */
  #bytesIn = 0;
  #bytesOut = 0;
  readonly #visit: Visit;
  readonly #host: ExchangeHost;
  readonly #targets: readonly Target[];
  #phase: Phase = 'begins';
  #tries = 0;
  #wasTaken = false;
  #connection: AppConnection | undefined;
  #upstream: Upstream | undefined;

  constructor(visit: Visit, host: ExchangeHost, route: LiveRoute) {
    this.#visit = visit;
    this.#host = host;
    this.#route = route;
    this.#targets = host.balancer.order(route.targets);
    visit.listen(this);
  }

  get isHead(): boolean {
    return this.#visit.head.method === 'HEAD';
  }

  get mayUpgrade(): boolean {
    return this.#visit.head.isWebSocketUpgrade;
  }

  get holdsBytes(): boolean {
    return this.#visit.holdsBytes;
  }

  begin(): void {
    const target = this.#targets[this.#tries++ % this.#targets.length];
    if (target === undefined) {
      this.#refuse();
      return;
    }
    const upstream = this.#host.upstreamOf(target);
    this.#upstream = upstream;
    this.#host.balancer.begin(target);
    this.#host.turns.take(upstream.turns, upstream.hasIdle ? keptCost : newCost, this);
  }

  /** In the app's place. */
  answer(notice: Notice): void {
    this.#status = notice.status;
    this.#byEdge = true;
    this.#finish();
    this.#visit.notice(notice);
  }

  /** Its turn has come. */
  go(): void {
    const upstream = this.#upstream;
    if (this.#phase === 'over' || upstream === undefined) return;
    const kept = upstream.takeIdle();
    if (kept !== undefined) {
      this.#send(kept);
      return;
    }
    upstream.connect().then(
      (connection) => this.#send(connection),
      (error: unknown) => this.#notConnected(upstream.target, error),
    );
  }

  bodyBytes(bytes: Buffer, from: number, to: number): void {
    const connection = this.#connection;
    this.#bytesIn += to - from;
    if (connection === undefined) return;
    const isChunked = this.#visit.head.body === 'chunked';
    if (isChunked) connection.text(`${(to - from).toString(16)}\r\n`);
    connection.bytes(bytes, from, to);
    if (isChunked) connection.text('\r\n');
  }

  bodyFlush(): void {
    if (this.#connection?.flush() === false) this.#visit.pauseBody();
  }

  bodyEnd(trailers: string): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    if (this.#status === 101) {
      connection.endSending();
      return;
    }
    if (this.#visit.head.body === 'chunked') connection.text(`0\r\n${trailers}\r\n`);
    connection.sent();
  }

  bodyMalformed(): void {
    const isAnswered = this.#phase === 'answered';
    this.#leave();
    if (isAnswered) this.#cut();
    else this.answer(noticeOf(400));
  }

  drained(): void {
    this.#connection?.resume();
  }

  gone(): void {
    this.#leave();
    this.#finish(false);
  }

  answerInterim(head: AnswerHead): void {
    this.#visit.interim(head);
  }

  answerHead(head: AnswerHead): void {
    this.#phase = 'answered';
    this.#status = head.status;
    if (head.status === 101) this.#route.counts?.socketOpened();
    this.#visit.answer(head);
  }

  answerBytes(bytes: Buffer, from: number, to: number): void {
    this.#bytesOut += to - from;
    this.#visit.bytes(bytes, from, to);
  }

  answerFlush(): boolean {
    return this.#visit.flush();
  }

  answerEnd(trailers: string): void {
    this.#connection = undefined;
    this.#finish();
    this.#visit.end(trailers);
  }

  appDrained(): void {
    this.#visit.resumeBody();
  }

  failed(error: Error): void {
    const target = this.#upstream?.target;
    const again = this.#mayBeSentAgain();
    this.#connection = undefined;
    this.#wasTaken = true;
    if (target !== undefined) this.#host.failed(target, error, again);
    if (again) {
      this.#phase = 'begins';
      this.#endTry();
      this.begin();
    } else if (this.#phase === 'answered') this.#cut();
    else this.#refuse();
  }

  #send(connection: AppConnection): void {
    if (this.#phase === 'over') {
      connection.destroy();
      return;
    }
    this.#connection = connection;
    this.#phase = 'sent';
    if (this.#upstream !== undefined) this.#host.balancer.noteTaken(this.#upstream.target);
    const hasBody = this.#visit.head.body !== 0;
    connection.send(this, this.#host.headFor(this.#visit), hasBody);
    if (hasBody && this.#connection === connection) this.#visit.takeBody();
  }

  #notConnected(target: Target, error: unknown): void {
    if (this.#phase === 'over') return;
    this.#host.balancer.noteRefused(target);
    this.#endTry();
    const again = this.#tries < Math.min(this.#targets.length, triesMax);
    this.#host.failed(target, error, again);
    if (again) this.begin();
    else this.#refuse();
  }

  /** The app may have closed its kept connection just then. */
  #mayBeSentAgain(): boolean {
    const { method, body } = this.#visit.head;
    return (
      this.#phase === 'sent' &&
      this.#connection?.isReused === true &&
      body === 0 &&
      safeMethods.has(method) &&
      this.#tries < triesMax
    );
  }

  #refuse(): void {
    const route = this.#route;
    // Without a target, or where none took a connection, the reason may be known.
    const isKnown = !this.#wasTaken && (this.#targets.length === 0 || route.vacancy !== undefined);
    this.answer(isKnown ? vacancyNotice(route) : noticeOf(502, route));
  }

  #cut(): void {
    this.#finish(false);
    this.#visit.cut();
  }

  #endTry(): void {
    const upstream = this.#upstream;
    this.#upstream = undefined;
    if (upstream !== undefined) this.#host.balancer.end(upstream.target);
  }

  #leave(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  #finish(isWhole = true): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#endTry();
    const { counts } = this.#route;
    if (counts === undefined) return;
    const [bytesIn, bytesOut] = [this.#bytesIn, this.#bytesOut];
    if (this.#status === 101) {
      counts.socketClosed(bytesIn, bytesOut);
      return;
    }
    const ms = performance.now() - this.#startedAt;
    const status = isWhole ? this.#status : 0;
    counts.finished({ status, byEdge: this.#byEdge, bytesIn, bytesOut, ms });
  }
}
