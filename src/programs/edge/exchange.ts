/**
 * Owns one request on its way to an app, and the answer on its way back.
 *
 * 1. Nothing of a body is taken from the visitor before there is a connection to send it over.
 * 2. Neither side is read faster than the other takes it.
 * 3. When an app answers before it has read all, the rest of the request is read and dropped behind the answer.
 * 4. If a target did not begin to take a request, the app's other targets are tried. A request that an app may have
 *    begun to work on is sent again only if its method is safe, it has no body, and a kept connection broke. Then it
 *    goes over a new one: the app may have closed all that are kept.
 * 5. Every failure is answered once, or the visitor's connection is cut.
 * 6. It ends when nothing moves for as long as the app's settings say, and at the latest when they say. A WebSocket
 *    may be silent and last for as long as it likes.
 */
import type { Target } from '../../protocol/edge-messages.ts';
import type { Balancer } from '../../lib/balancer.ts';
import type { Ended } from './access-lines.ts';
import { bodyBytesMax, refusalBefore } from './app-limits.ts';
import type { AppConnection, AppEvents } from './http1/app-connection.ts';
import type { AnswerHead } from './http1/answer-head.ts';
import { type EdgeStatus, newRequestId, type Notice, noticeOf, vacancyNotice } from './pages.ts';
import type { RequestTurns } from './request-turns.ts';
import type { LiveRoute } from './routes.ts';
import type { Upstream } from './upstreams.ts';
import type { Visit, VisitEvents } from './visit.ts';
import type { Watch, Watched } from './watch.ts';

/** What exchanges need of the edge, and tell it. */
export interface ExchangeHost {
  readonly turns: RequestTurns;
  readonly watch: Watch;
  readonly balancer: Balancer<Target>;
  upstreamOf(target: Target): Upstream;
  /** What the app is to see of the request. */
  headFor(visit: Visit, requestId: string): string;
  cameByHttps(visit: Visit): boolean;
  failed(target: Target, requestId: string, error: unknown, again: boolean): void;
  /** For the access log of the app. */
  log(app: string, visit: Visit, ended: Ended): void;
}

const triesMax = 4;
/** What a request costs of a turn, over a kept connection and over a new one. */
const [keptCost, newCost] = [1, 4];
const hasHsts = /^strict-transport-security:/im;
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

type Phase = 'begins' | 'sent' | 'answered' | 'over';
/** Of the body: it is for the visitor to go on, or for the app to take what came; nothing of it is to come. */
type BodyPhase = 'awaited' | 'paused' | 'over';

export class Exchange implements VisitEvents, AppEvents, Watched {
  /** As the app and the visitor know it. */
  readonly #requestId: string;
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
  readonly #bodyMax: number;
  readonly #startedS: number;
  /** When something came or was taken last. */
  #movedS: number;
  #bodyPhase: BodyPhase = 'over';
  #tries = 0;
  #wasTaken = false;
  #wantsNew = false;
  #connection: AppConnection | undefined;
  #upstream: Upstream | undefined;

  constructor(visit: Visit, host: ExchangeHost, route: LiveRoute) {
    this.#visit = visit;
    this.#host = host;
    this.#route = route;
    this.#targets = host.balancer.order(route.targets);
    // The panel looks for a request by its id, so that is nobody's choice.
    const { requestId = newRequestId() } = route.panel === undefined ? visit.head : {};
    this.#requestId = requestId;
    this.#bodyMax = visit.head.isWebSocketUpgrade ? Infinity : bodyBytesMax(route.settings);
    this.#startedS = host.watch.nowS;
    this.#movedS = this.#startedS;
    host.watch.add(this);
    route.load.underWay++;
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

  get holdsBody(): boolean {
    return this.#connection?.holdsBytes ?? false;
  }

  begin(): void {
    const refusal = refusalBefore(this.#route, this.#visit.head);
    if (refusal === undefined) this.#try();
    else this.#answer(refusal);
  }

  /** Called each second. */
  look(nowS: number): void {
    if (this.#status === 101) return;
    const { idleSeconds, totalSeconds } = this.#route.settings;
    const isLate = totalSeconds !== null && nowS - this.#startedS > totalSeconds;
    if (isLate || nowS - this.#movedS > idleSeconds)
      this.#end(this.#bodyPhase === 'awaited' ? 408 : 504);
  }

  #try(): void {
    const target = this.#targets[this.#tries++ % this.#targets.length];
    if (target === undefined) {
      this.#refuse();
      return;
    }
    const upstream = this.#host.upstreamOf(target);
    this.#upstream = upstream;
    this.#host.balancer.begin(target);
    const isKept = !this.#wantsNew && upstream.hasIdle;
    this.#host.turns.take(upstream.turns, isKept ? keptCost : newCost, this);
  }

  /** Its turn has come. */
  go(): void {
    const upstream = this.#upstream;
    if (this.#phase === 'over' || upstream === undefined) return;
    const kept = this.#wantsNew ? undefined : upstream.takeIdle();
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
    if (this.#bytesIn > this.#bodyMax) {
      this.#end(413);
      return;
    }
    const isChunked = this.#visit.head.body === 'chunked';
    if (isChunked) connection.text(`${(to - from).toString(16)}\r\n`);
    connection.bytes(bytes, from, to);
    if (isChunked) connection.text('\r\n');
  }

  bodyFlush(): void {
    this.#movedS = this.#host.watch.nowS;
    if (this.#connection?.flush() !== false) return;
    this.#bodyPhase = 'paused';
    this.#visit.pauseBody();
  }

  bodyEnd(trailers: string): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#bodyPhase = 'over';
    this.#movedS = this.#host.watch.nowS;
    if (this.#status === 101) {
      connection.endSending();
      return;
    }
    if (this.#visit.head.body === 'chunked') connection.text(`0\r\n${trailers}\r\n`);
    connection.sent();
  }

  bodyMalformed(): void {
    this.#end(400);
  }

  drained(): void {
    this.#movedS = this.#host.watch.nowS;
    this.#connection?.resume();
  }

  gone(): void {
    this.#leave();
    this.#finish(false);
  }

  answerInterim(head: AnswerHead): void {
    this.#noteAnswers();
    this.#movedS = this.#host.watch.nowS;
    this.#visit.interim(head);
  }

  answerHead(head: AnswerHead): void {
    this.#noteAnswers();
    this.#phase = 'answered';
    this.#status = head.status;
    if (head.status === 101) this.#route.counts?.socketOpened();
    this.#movedS = this.#host.watch.nowS;
    this.#visit.answer({ ...head, fields: head.fields + this.#ownFields(head) });
  }

  answerBytes(bytes: Buffer, from: number, to: number): void {
    this.#bytesOut += to - from;
    this.#visit.bytes(bytes, from, to);
  }

  answerFlush(): boolean {
    this.#movedS = this.#host.watch.nowS;
    return this.#visit.flush();
  }

  answerEnd(trailers: string): void {
    this.#connection = undefined;
    this.#finish();
    this.#visit.end(trailers);
  }

  appDrained(): void {
    this.#movedS = this.#host.watch.nowS;
    if (this.#bodyPhase !== 'paused') return;
    this.#bodyPhase = 'awaited';
    this.#visit.resumeBody();
  }

  failed(error: Error): void {
    const target = this.#upstream?.target;
    const again = this.#mayBeSentAgain();
    // It takes connections and answers nothing: with the fewest under way it would draw all of them.
    const isNoUse = this.#phase === 'sent' && this.#connection?.isReused === false;
    if (target !== undefined && isNoUse) this.#host.balancer.noteRefused(target);
    this.#connection = undefined;
    this.#wasTaken = true;
    if (target !== undefined) this.#host.failed(target, this.#requestId, error, again);
    if (again) {
      this.#phase = 'begins';
      this.#wantsNew = true;
      this.#endTry();
      this.#try();
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
    this.#movedS = this.#host.watch.nowS;
    const hasBody = this.#visit.head.body !== 0;
    connection.send(this, this.#host.headFor(this.#visit, this.#requestId), hasBody);
    if (!hasBody || this.#connection !== connection) return;
    this.#bodyPhase = 'awaited';
    this.#visit.takeBody();
  }

  #noteAnswers(): void {
    if (this.#upstream !== undefined) this.#host.balancer.noteTaken(this.#upstream.target);
  }

  #notConnected(target: Target, error: unknown): void {
    if (this.#phase === 'over') return;
    this.#host.balancer.noteRefused(target);
    this.#endTry();
    const again = this.#tries < Math.min(this.#targets.length, triesMax);
    this.#host.failed(target, this.#requestId, error, again);
    if (again) this.#try();
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
    this.#answer(isKnown ? vacancyNotice(route) : noticeOf(502, route));
  }

  /** Where that is still possible it is answered. */
  #end(status: EdgeStatus): void {
    const isAnswered = this.#phase === 'answered';
    this.#leave();
    if (isAnswered) this.#cut();
    else this.#answer(noticeOf(status, this.#route));
  }

  /** In the app's place. */
  #answer(notice: Notice): void {
    this.#status = notice.status;
    this.#byEdge = true;
    this.#finish();
    this.#visit.notice({ ...notice, requestId: this.#requestId });
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

  #ownFields({ fields, date }: AnswerHead): string {
    const own = `x-request-id: ${this.#requestId}\r\ndate: ${date || this.#host.watch.date}\r\n`;
    const { hsts } = this.#route.settings;
    if (hsts === null || hasHsts.test(fields) || !this.#host.cameByHttps(this.#visit)) return own;
    return `${own}strict-transport-security: max-age=${String(hsts)}\r\n`;
  }

  #leave(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  #finish(isWhole = true): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#endTry();
    this.#host.watch.delete(this);
    this.#route.load.underWay--;
    const { counts, settings } = this.#route;
    if (counts === undefined) return;
    const ms = performance.now() - this.#startedAt;
    const status = this.#status;
    const [byEdge, bytesIn, bytesOut] = [this.#byEdge, this.#bytesIn, this.#bytesOut];
    if (status === 101) counts.socketClosed(bytesIn, bytesOut);
    else counts.finished({ status: isWhole ? status : 0, byEdge, bytesIn, bytesOut, ms });
    if (settings.accessLog) {
      const startedAtMs = performance.timeOrigin + this.#startedAt;
      const ended = { startedAtMs, status, bytesIn, bytesOut, ms, requestId: this.#requestId };
      this.#host.log(counts.app, this.#visit, ended);
    }
  }
}
