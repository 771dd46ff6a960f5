/**
 * Owns a connection to an app, in HTTP/1.1: one request after the other, each with its answer.
 *
 * 1. A head that cannot be passed on, a body that nobody can find the end of, and an app that only ever says that it
 *    goes on are failures of the exchange.
 * 2. It may carry another request only when the last and its answer are whole, nothing came behind, and the app has
 *    not said otherwise.
 * 3. How long it is kept counts from the head of the answer: the app may have been done then, however long its visitor
 *    takes to take the rest.
 */
import type { NetConnectOpts, Socket } from 'node:net';

import { connectWithin } from '../../../lib/connect.ts';
import type { Watch } from '../watch.ts';
import { type AnswerHead, readAnswerHead, statusLine } from './answer-head.ts';
import { BodyReader } from './body-reader.ts';
import type { Framing } from './framing.ts';
import { HeadText } from './head-text.ts';
import { Outlet } from './outlet.ts';
import { ReadMemory } from './read-buffers.ts';

/** What an exchange is told by its connection. After `answerEnd` or `failed` it is told nothing more. */
export interface AppEvents {
  /** Answers to `HEAD` have no body. */
  readonly isHead: boolean;
  readonly mayUpgrade: boolean;
  /** Whether bytes of more than `copiedMax` that were given are still to be read. */
  readonly holdsBytes: boolean;
  answerInterim(head: AnswerHead): void;
  answerHead(head: AnswerHead): void;
  answerBytes(bytes: Buffer, from: number, to: number): void;
  /** All that came at once was told. False: nothing more is to come until `resume`. */
  answerFlush(): boolean;
  answerEnd(trailers: string): void;
  appDrained(): void;
  failed(error: Error): void;
}

/** `path`: of the panel's socket, or of one that leads to another server. */
export type AppAddress = { host: string; port: number } | { path: string };

const connectMs = 5000;
const interimMax = 100;
/** For how long it is kept unused, unless the app says less. */
const keptS = 60;
/**
 * Gangway's gateway does not say that it closes a connection which is unused for 8 to 12 s, and one to another server has
 * room there that others wait for.
 */
const keptToSocketS = 5;
/** An app closes a connection it has kept for as long as it said; a request is not to cross that. */
const earlierS = 2;

export class AppConnection {
  readonly #watch: Watch;
  readonly #release: (connection: AppConnection) => void;
  readonly #headText = new HeadText(statusLine);
  #socket: Socket | undefined;
  #outlet: Outlet | undefined;
  #events: AppEvents | undefined;
  readonly #memory = new ReadMemory();
  #head: AnswerHead | undefined;
  #body: BodyReader | undefined;
  #interim = 0;
  #isSent = false;
  #isPaused = false;
  readonly #keptForS: number;
  #keptS = Infinity;
  /** When the head of the answer came. */
  #headS = 0;
  /** It has carried a request before this one. */
  isReused = false;

  /** Rejects when the app does not take it. `release`: it may carry another request. */
  static async open(
    address: AppAddress,
    watch: Watch,
    release: (connection: AppConnection) => void,
  ): Promise<AppConnection> {
    const connection = new AppConnection(watch, release, 'path' in address ? keptToSocketS : keptS);
    const options: NetConnectOpts = {
      ...address,
      noDelay: true,
      onread: {
        buffer: () => connection.#memory.buffer,
        callback: (length, bytes) => {
          connection.#take(length, bytes as Buffer);
          return true;
        },
      },
    };
    connection.#attach(await connectWithin(options, connectMs));
    return connection;
  }

  private constructor(
    watch: Watch,
    release: (connection: AppConnection) => void,
    keptForS: number,
  ) {
    this.#watch = watch;
    this.#release = release;
    this.#keptForS = keptForS;
  }

  /** Whether bytes that were given are still to be read. */
  get holdsBytes(): boolean {
    return this.#outlet?.holdsBytes ?? false;
  }

  get isOpen(): boolean {
    return this.#socket !== undefined && !this.#socket.destroyed && this.#socket.writable;
  }

  /** Sends what `head` says. A request without a body is whole with it. */
  send(events: AppEvents, head: string, hasBody: boolean): void {
    this.#events = events;
    this.#head = undefined;
    this.#interim = 0;
    this.#isSent = !hasBody;
    if (!this.isOpen) {
      this.#fail(new Error('Cannot send: the app has closed the connection'));
      return;
    }
    this.#outlet?.text(head);
    this.#outlet?.flush();
  }

  text(text: string): void {
    this.#outlet?.text(text);
  }

  bytes(bytes: Buffer, from: number, to: number): void {
    this.#outlet?.bytes(bytes, from, to);
  }

  /** False: no more is to be given until `appDrained`. */
  flush(): boolean {
    return this.#outlet?.flush() ?? true;
  }

  /** The request is whole. */
  sent(): void {
    this.#isSent = true;
    this.flush();
  }

  /** Of a connection that has changed its protocol: the visitor sends no more. */
  endSending(): void {
    this.#socket?.end();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket?.resume();
  }

  /** Nobody is told. */
  destroy(): void {
    this.#events = undefined;
    this.#socket?.destroy();
  }

  /** Whether it may carry a request now. */
  get isKept(): boolean {
    return this.isOpen && this.#watch.nowS < this.#keptS;
  }

  /** While it carries a request that is for the exchange to watch. */
  look(nowS: number): void {
    if (this.#events === undefined && nowS >= this.#keptS) this.#socket?.destroy();
  }

  #attach(socket: Socket): void {
    this.#socket = socket;
    this.#outlet = new Outlet(socket);
    let why = new Error('The app has closed the connection');
    socket.on('error', (error) => (why = error));
    socket.on('end', () => this.#end());
    socket.on('drain', () => this.#events?.appDrained());
    socket.once('close', () => {
      this.#watch.delete(this);
      this.#fail(why);
    });
    this.#watch.add(this);
    socket.resume();
  }

  #take(length: number, bytes: Buffer): void {
    const events = this.#events;
    if (events === undefined) {
      this.#socket?.destroy(); // Nobody asked for it.
      return;
    }
    let at = 0;
    const interim = this.#interim;
    while (this.#head === undefined) {
      if (at === length) {
        if (this.#interim > interim && !events.answerFlush()) this.#pause();
        return;
      }
      at = this.#readHead(events, bytes, at, length);
      if (this.#events === undefined) return;
    }
    this.#readBody(events, bytes, at, length);
  }

  #readHead(events: AppEvents, bytes: Buffer, from: number, length: number): number {
    const text = this.#headText;
    const at = text.read(bytes, from, length);
    if (text.state === 'partial') return at;
    const head = text.state === 'whole' ? readAnswerHead(text.text) : undefined;
    text.clear();
    if (head === undefined || (head.status === 101 && !mayChange(events, head))) {
      this.#fail(new Error('Cannot pass on the answer: its head is malformed'));
    } else if (head.status >= 200 || head.status === 101) {
      this.#head = head;
      this.#headS = this.#watch.nowS;
      this.#body = new BodyReader(framingFor(events, head));
      events.answerHead(head);
    } else if (this.#interim++ < interimMax) events.answerInterim(head);
    else this.#fail(new Error('Cannot wait for an answer: only interim ones come'));
    return at;
  }

  #readBody(events: AppEvents, bytes: Buffer, from: number, length: number): void {
    const body = this.#body;
    if (body === undefined) return;
    let at = from;
    while (at < length && !body.isWhole) {
      at = body.read(bytes, at, length);
      if (body.isMalformed) {
        this.#fail(new Error('Cannot pass on the answer: its body is malformed'));
        return;
      }
      if (body.to > body.from) events.answerBytes(bytes, body.from, body.to);
      if (this.#events !== events) return;
    }
    if (body.isWhole) this.#finish(events, at === length);
    else if (!events.answerFlush()) this.#pause();
    this.#memory.hasRead(length, this.#events === events, events.holdsBytes);
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  /** `isAll`: nothing came behind. */
  #finish(events: AppEvents, isAll: boolean): void {
    const head = this.#head;
    const trailers = this.#body?.trailers ?? '';
    this.#events = undefined;
    this.#body = undefined;
    if (isAll && this.#isSent && head?.keepsConnection === true) {
      this.isReused = true;
      const toldS = head.keepsForS ?? this.#keptForS + earlierS;
      this.#keptS = this.#headS + Math.min(toldS - earlierS, this.#keptForS);
      if (this.isKept) this.#release(this);
      else this.#socket?.destroy();
    } else this.#socket?.destroy();
    events.answerEnd(trailers);
  }

  #end(): void {
    const events = this.#events;
    // Else 'close' follows, and is a failure.
    if (events !== undefined && this.#body?.mayEnd === true) this.#finish(events, false);
  }

  #fail(error: Error): void {
    const events = this.#events;
    this.destroy();
    events?.failed(error);
  }
}

function mayChange({ mayUpgrade }: AppEvents, { upgrade }: AnswerHead): boolean {
  return mayUpgrade && upgrade.toLowerCase() === 'websocket';
}

function framingFor(events: AppEvents, { status, body }: AnswerHead): Framing {
  if (status === 101) return 'until-close';
  return events.isHead || status === 204 || status === 304 ? 0 : body;
}
