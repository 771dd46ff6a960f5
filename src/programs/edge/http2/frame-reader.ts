/**
 * Owns where frames of HTTP/2 begin and end (RFC 9113, 4.1), however their bytes come.
 *
 * 1. Data is told as it comes; every other frame is told whole, and is held until then: one of them at most.
 * 2. A frame that is larger than what was agreed on is not waited for.
 */
import {
  type ErrorCode,
  errors,
  frameBytesMax,
  frameFlags,
  frameHeadBytes,
  frameTypes,
} from './frames.ts';

export interface FrameEvents {
  /** `length`: with padding, all of which counts for flow control. */
  dataBegins(stream: number, length: number): void;
  data(bytes: Buffer, from: number, to: number): void;
  dataEnds(endsStream: boolean): void;
  /** Any other frame. */
  frame(frame: Frame): void;
  /** It is too large, or there is more padding than frame. */
  wrongFrame(code: ErrorCode): void;
}

/** The payload is from `from` to `to`, until the call returns. */
export interface Frame {
  type: number;
  flags: number;
  stream: number;
  bytes: Buffer;
  from: number;
  to: number;
}

type State = 'head' | 'payload' | 'pad-length' | 'data' | 'padding' | 'stopped';

export class FrameReader {
  readonly #events: FrameEvents;
  #state: State = 'head';
  /** What is there of a head that is not whole. */
  readonly #head = Buffer.alloc(frameHeadBytes);
  /** What is there of a payload that is not whole. */
  #payload: Buffer | undefined;
  #held = 0;
  #type = 0;
  #flags = 0;
  #stream = 0;
  #length = 0;
  /** Of data, and of the padding behind it. */
  #left = 0;
  #padding = 0;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  /** Whether nothing of a frame is there whose rest is not. */
  get isBetweenFrames(): boolean {
    return this.#state === 'head' && this.#held === 0;
  }

  /** Nothing more is told. */
  stop(): void {
    this.#state = 'stopped';
    this.#payload = undefined;
  }

  read(bytes: Buffer, from: number): void {
    let at = from;
    while (at < bytes.length) {
      switch (this.#state) {
        case 'head':
          at = this.#readHead(bytes, at);
          break;
        case 'payload':
          at = this.#readPayload(bytes, at);
          break;
        case 'pad-length':
          this.#padded(bytes[at++] ?? 0);
          break;
        case 'data':
          at = this.#readData(bytes, at);
          break;
        case 'padding':
          at = this.#skipPadding(bytes, at);
          break;
        case 'stopped':
          return;
      }
    }
  }

  #readHead(bytes: Buffer, from: number): number {
    if (this.#held === 0 && bytes.length - from >= frameHeadBytes) {
      this.#begin(bytes, from);
      return from + frameHeadBytes;
    }
    const copied = bytes.copy(this.#head, this.#held, from);
    this.#held += copied;
    if (this.#held === frameHeadBytes) {
      this.#held = 0;
      this.#begin(this.#head, 0);
    }
    return from + copied;
  }

  #begin(head: Buffer, at: number): void {
    this.#length = head.readUIntBE(at, 3);
    this.#type = head[at + 3] ?? 0;
    this.#flags = head[at + 4] ?? 0;
    this.#stream = head.readUInt32BE(at + 5) & 0x7fffffff;
    if (this.#length > frameBytesMax) this.#events.wrongFrame(errors.frameSize);
    else if (this.#type === frameTypes.data) this.#beginData();
    else if (this.#length === 0) this.#tell(head, 0);
    else this.#state = 'payload';
  }

  #beginData(): void {
    this.#events.dataBegins(this.#stream, this.#length);
    if (this.#state === 'stopped') return;
    this.#left = this.#length;
    this.#padding = 0;
    if (this.#flags & frameFlags.padded) {
      if (this.#length === 0) this.#events.wrongFrame(errors.protocol);
      else this.#state = 'pad-length';
    } else if (this.#length > 0) this.#state = 'data';
    else this.#endData();
  }

  #padded(padding: number): void {
    this.#left = this.#length - 1 - padding;
    this.#padding = padding;
    if (this.#left < 0) this.#events.wrongFrame(errors.protocol);
    else if (this.#left > 0) this.#state = 'data';
    else if (padding > 0) this.#state = 'padding';
    else this.#endData();
  }

  #readData(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#left);
    this.#left -= to - from;
    this.#events.data(bytes, from, to);
    if (this.#left > 0 || this.#isStopped()) return to;
    if (this.#padding > 0) this.#state = 'padding';
    else this.#endData();
    return to;
  }

  #skipPadding(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#padding);
    this.#padding -= to - from;
    if (this.#padding === 0) this.#endData();
    return to;
  }

  #endData(): void {
    this.#state = 'head';
    this.#events.dataEnds((this.#flags & frameFlags.endStream) !== 0);
  }

  #readPayload(bytes: Buffer, from: number): number {
    const missing = this.#length - this.#held;
    if (this.#held === 0 && bytes.length - from >= missing) {
      this.#tell(bytes, from);
      return from + missing;
    }
    this.#payload ??= Buffer.allocUnsafe(this.#length);
    const to = Math.min(bytes.length, from + missing);
    bytes.copy(this.#payload, this.#held, from, to);
    this.#held += to - from;
    if (this.#held === this.#length) {
      const payload = this.#payload;
      this.#payload = undefined;
      this.#held = 0;
      this.#tell(payload, 0);
    }
    return to;
  }

  #tell(bytes: Buffer, from: number): void {
    this.#state = 'head';
    const [type, flags, stream] = [this.#type, this.#flags, this.#stream];
    this.#events.frame({ type, flags, stream, bytes, from, to: from + this.#length });
  }

  #isStopped(): boolean {
    return this.#state === 'stopped';
  }
}
