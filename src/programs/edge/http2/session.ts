/**
 * Owns a connection of a visitor who speaks HTTP/2 (RFC 9113).
 *
 * 1. What a session may make the edge hold is bounded: streams, the size of heads, what waits to be sent. What all may
 *    is, too (`holdings.ts`).
 * 2. What costs its client nothing is counted (`calm.ts`); with too much of it the session ends with ENHANCE_YOUR_CALM.
 * 3. Once it drains its client is told so. What that sent before it knew is answered; the session ends with its last
 *    stream.
 * 4. A session on which nothing moves, or whose next head does not become whole, is closed in time. How long a stream may
 *    be silent is for its exchange to say, until its answer is whole.
 */
import type { TLSSocket } from 'node:tls';

import type { Clock } from '../../../lib/clock.ts';
import { sourceOf } from '../../../lib/networks.ts';
import type { Origin, VisitorHost } from '../visit.ts';
import type { Watched } from '../watch.ts';
import { Calm } from './calm.ts';
import { type Frame, type FrameEvents, FrameReader } from './frame-reader.ts';
import {
  type ErrorCode,
  errors,
  firstWindow,
  frameFlags,
  frameTypes,
  goawayFrame,
  pingFrame,
  settingsAck,
  windowFrame,
  windowMax,
} from './frames.ts';
import type { Holdings, Share } from './holdings.ts';
import type { HpackEncoder } from './hpack-encoder.ts';
import { HeadReader } from './head-reader.ts';
import { tableBytes } from './hpack-table.ts';
import { Preface } from './preface.ts';
import { sessionWindow } from './receive-window.ts';
import { Sender } from './sender.ts';
import { ownSettings, readSettings } from './settings.ts';
import { Streams, type StreamsHost } from './streams.ts';

export interface SessionOptions {
  socket: TLSSocket;
  origin: Origin;
  host: VisitorHost;
  clock: Clock;
  encoder: HpackEncoder;
  holdings: Holdings;
  /** It asked too much of others. */
  calmed: () => void;
}

/** As of connections of HTTP/1.1. */
const [headS, keepS, silenceS, lingerS] = [30, 75, 600, 3];
/** So much of what comes behind our last frame is taken, so that this is not lost with it. */
const lingerBytes = 256 * 1024;
/** For the answer to the ping that tells that all has come that was sent before. */
const lastWordS = 2;
const lastWord = 'gangway.';

/** `preface`: the letters, and the settings behind them. */
type Phase = 'preface' | 'open' | 'closing' | 'closed';
/** `told`: streams that the client opened before it knew are still taken. */
type Drain = 'no' | 'told' | 'last';

export class Http2Session implements FrameEvents, StreamsHost, Watched {
  readonly socket: TLSSocket;
  readonly origin: Origin;
  readonly host: VisitorHost;
  readonly calm: Calm;
  readonly sender: Sender;
  readonly encoder: HpackEncoder;
  readonly share: Share;
  readonly #streams: Streams;
  readonly #preface = new Preface();
  readonly #reader = new FrameReader(this);
  readonly #heads: HeadReader;
  readonly #calmed: () => void;
  #phase: Phase = 'preface';
  #drain: Drain = 'no';
  /** The client opens no more. */
  #isLeft = false;
  /** When something moved last, a head or the preface began, it was told that it drains. */
  #sinceS: number;
  #headS: number;
  #drainS = 0;
  #lingered = 0;
  /** It ends without an error. */
  #isWell = false;

  constructor({ socket, origin, host, clock, encoder, holdings, calmed }: SessionOptions) {
    this.socket = socket;
    this.origin = origin;
    this.host = host;
    this.encoder = encoder;
    this.#calmed = calmed;
    this.calm = new Calm(clock, () => this.#lose());
    this.share = holdings.open(sourceOf(origin.address), () => this.#relieve());
    this.sender = new Sender(socket, this.share, () => this.#lose());
    this.#streams = new Streams(this);
    this.#heads = new HeadReader((...head) => this.#streams.head(...head));
    this.#sinceS = this.#headS = host.watch.nowS;
    host.watch.add(this);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('end', () => this.#end());
    socket.on('drain', () => this.moved());
    socket.once('finish', () => this.moved());
    socket.once('close', () => this.#closed());
    this.sender.control(ownSettings + windowFrame(0, sessionWindow - firstWindow));
  }

  get isClosed(): boolean {
    return this.#drain === 'last';
  }

  drain(): void {
    if (this.#drain !== 'no') return;
    this.#drain = 'told';
    this.#drainS = this.host.watch.nowS;
    this.sender.control(goawayFrame(windowMax, errors.none) + pingFrame(lastWord, 0));
  }

  look(nowS: number): void {
    const forS = nowS - this.#sinceS;
    switch (this.#phase) {
      case 'preface':
      case 'open':
        this.#lookAtOpen(nowS, forS);
        return;
      case 'closing':
        if (forS >= this.#closesInS()) this.socket.destroy();
        return;
      case 'closed':
    }
  }

  /** Ends it. Without an error it has been of no use for long, or is over. */
  fail(code: ErrorCode): void {
    if (this.#isOver()) return;
    this.#phase = 'closing';
    this.#isWell = code === errors.none;
    this.moved();
    this.#reader.stop();
    this.sender.last(goawayFrame(this.#streams.last, code));
    this.#streams.close();
  }

  moved(): void {
    this.#sinceS = this.host.watch.nowS;
  }

  idle(): void {
    if (this.#isLeft || this.#drain === 'last') this.fail(errors.none);
  }

  dataBegins(stream: number, length: number): void {
    this.moved();
    if (this.#phase !== 'open' || this.#heads.isWithin) this.fail(errors.protocol);
    else this.#streams.dataBegins(stream, length);
  }

  data(bytes: Buffer, from: number, to: number): void {
    this.moved();
    this.#streams.data(bytes, from, to);
  }

  dataEnds(endsStream: boolean): void {
    this.#streams.dataEnds(endsStream);
  }

  frame(frame: Frame): void {
    this.moved();
    const { type } = frame;
    const isInOrder =
      (this.#phase === 'open' || type === frameTypes.settings) &&
      (!this.#heads.isWithin || type === frameTypes.continuation);
    const error = isInOrder ? this.#obey(frame) : errors.protocol;
    if (error === errors.enhanceYourCalm) this.#lose();
    else if (error !== undefined) this.fail(error);
  }

  wrongFrame(code: ErrorCode): void {
    this.fail(code);
  }

  #take(bytes: Buffer): void {
    if (this.#isOver()) {
      if ((this.#lingered += bytes.length) > lingerBytes) this.socket.destroy();
      if (this.#isWell) this.moved();
      return;
    }
    const at = this.#preface.isWhole ? 0 : this.#preface.read(bytes);
    if (at === undefined) this.fail(errors.protocol);
    else if (at < bytes.length) this.#reader.read(bytes, at);
    this.#streams.flushBodies();
  }

  /** The error that it ends the session with. */
  #obey(frame: Frame): ErrorCode | undefined {
    const length = frame.to - frame.from;
    switch (frame.type) {
      case frameTypes.headers:
        this.#headS = this.host.watch.nowS;
        return this.#heads.headers(frame);
      case frameTypes.continuation:
        return this.#heads.continuation(frame);
      case frameTypes.reset:
        if (length !== 4) return errors.frameSize;
        this.#streams.resetBy(frame.stream);
        return undefined;
      case frameTypes.settings:
        return this.#obeySettings(frame, length);
      case frameTypes.pushPromise:
        return errors.protocol;
      case frameTypes.ping:
        return this.#answerPing(frame, length);
      case frameTypes.goaway:
        return this.#leave(frame.stream, length);
      case frameTypes.windowUpdate:
        return this.#widen(frame, length);
      case frameTypes.priority:
        if (frame.stream === 0) return errors.protocol;
        if (length !== 5) return errors.frameSize;
    }
    this.calm.spend();
    return undefined;
  }

  #obeySettings(frame: Frame, length: number): ErrorCode | undefined {
    const isAck = (frame.flags & frameFlags.ack) !== 0;
    if (frame.stream !== 0 || (isAck && this.#phase !== 'open')) return errors.protocol;
    if (isAck && length > 0) return errors.frameSize;
    this.calm.count();
    if (isAck) return undefined;
    const settings = readSettings(frame);
    if (typeof settings === 'number') return settings;
    if (this.#phase === 'preface') this.#phase = 'open';
    this.sender.control(settingsAck);
    if (settings.tableBytes < tableBytes) this.sender.emptyTable();
    if (settings.window !== undefined) this.#streams.setFirstWindow(settings.window);
    return undefined;
  }

  #answerPing({ stream, flags, bytes, from }: Frame, length: number): ErrorCode | undefined {
    if (stream !== 0) return errors.protocol;
    if (length !== 8) return errors.frameSize;
    this.calm.count();
    const opaque = bytes.toString('latin1', from, from + length);
    if (!(flags & frameFlags.ack)) this.sender.control(pingFrame(opaque, frameFlags.ack));
    else if (opaque === lastWord && this.#drain === 'told') this.#refuseMore();
    return undefined;
  }

  #leave(stream: number, length: number): ErrorCode | undefined {
    if (stream !== 0) return errors.protocol;
    if (length < 8) return errors.frameSize;
    this.calm.count();
    this.#isLeft = true;
    if (this.#streams.isIdle) this.fail(errors.none);
    return undefined;
  }

  #widen({ stream, bytes, from }: Frame, length: number): ErrorCode | undefined {
    if (length !== 4) return errors.frameSize;
    this.calm.spend();
    const more = bytes.readUInt32BE(from) & windowMax;
    if (stream !== 0) this.#streams.widen(stream, more);
    else if (more === 0) return errors.protocol;
    else if (!this.sender.widen(more)) return errors.flowControl;
    return undefined;
  }

  /** What the client opens from now on it can ask another edge. */
  #refuseMore(): void {
    this.#drain = 'last';
    this.sender.control(goawayFrame(this.#streams.last, errors.none));
    if (this.#streams.isIdle) this.fail(errors.none);
  }

  #lookAtOpen(nowS: number, forS: number): void {
    const isIncomplete = this.#phase !== 'open' || this.#heads.isWithin;
    if (isIncomplete && nowS - this.#headS >= headS) this.fail(errors.protocol);
    else if (this.#streams.isIdle && forS >= keepS) this.fail(errors.none);
    else if (!this.#streams.isIdle && forS >= silenceS && !this.#streams.isWatched)
      this.socket.destroy();
    else if (this.#drain === 'told' && nowS - this.#drainS >= lastWordS) this.#refuseMore();
  }

  /** It asks too much. */
  #lose(): void {
    if (this.#isOver()) return;
    this.#calmed();
    this.fail(errors.enhanceYourCalm);
  }

  /** It holds too much. */
  #relieve(): void {
    if (this.#isOver()) this.socket.destroy();
    else this.#lose();
  }

  /**
   * A client that did no wrong closes once it has taken all. What it says meanwhile, to a socket that is no more, would
   * cost it what the kernel has not sent.
   */
  #closesInS(): number {
    if (!this.#isWell) return lingerS;
    return this.socket.writableLength > 0 ? silenceS : keepS;
  }

  /** Who sends no more is taken to be gone. */
  #end(): void {
    if (this.#isOver()) this.socket.destroySoon();
    else this.socket.destroy();
  }

  #isOver(): boolean {
    return this.#phase === 'closing' || this.#phase === 'closed';
  }

  #closed(): void {
    this.#phase = 'closed';
    this.#reader.stop();
    this.host.watch.delete(this);
    this.#streams.close();
    this.share.close();
  }
}
