/**
 * Owns where the body of a message ends, and which of the bytes on the connection are its data (RFC 9112, 6 and 7).
 *
 * 1. Chunks are read by the letter: a size that is no plain hexadecimal number, or a line end other than CRLF, is
 *    malformed. Extensions are dropped; they and trailers are bounded.
 */
import { FieldReader } from './fields.ts';
import type { Framing } from './framing.ts';

/** Of all extensions of a message, and of its trailers. */
const [extensionsMax, trailersMax] = [16 * 1024, 8 * 1024];
const sizeDigitsMax = 12;
const [tab, lf, cr, space, semicolon, del] = [9, 10, 13, 32, 59, 127];

/** What may not be told behind a body: framing, routing, who asks, what the body is (RFC 9110, 6.5.1). */
const trailerReader = new FieldReader(
  [
    ...['transfer-encoding', 'content-length', 'host', 'trailer', 'connection', 'keep-alive', 'te'],
    ...['upgrade', 'proxy-connection', 'expect', 'forwarded', 'x-real-ip', 'authorization'],
    ...['proxy-authorization', 'cookie', 'set-cookie', 'content-encoding', 'content-type'],
    ...['content-range', 'cache-control', 'location', 'range', 'max-forwards', 'pragma'],
  ],
  'x-forwarded-',
  true,
);

/** What of the trailers passes on: lines, each with its end. `text`: up to the empty line. Undefined: malformed. */
export function passedTrailers(text: string): string | undefined {
  return trailerReader.read(text, 0)?.passed;
}

type State =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailers'
  | 'until-close'
  | 'whole'
  | 'malformed';

export class BodyReader {
  /** Of the last call of `read`: where its data begins and ends. */
  from = 0;
  to = 0;
  /** Lines that pass on, each with its end; they are there once the body is whole. */
  trailers = '';
  readonly #isChunked: boolean;
  #state: State;
  /** Of the chunk or the body. */
  #left = 0;
  #digits = 0;
  #extensions = 0;

  constructor(framing: Framing) {
    this.#isChunked = framing === 'chunked';
    if (framing === 'chunked') this.#state = 'size';
    else if (framing === 'until-close') this.#state = 'until-close';
    else this.#state = framing === 0 ? 'whole' : 'data';
    if (typeof framing === 'number') this.#left = framing;
  }

  get isWhole(): boolean {
    return this.#state === 'whole';
  }

  get isMalformed(): boolean {
    return this.#state === 'malformed';
  }

  /** Whether the connection may end here. */
  get mayEnd(): boolean {
    return this.#state === 'whole' || this.#state === 'until-close';
  }

  /**
   * Reads on from `at` until some data was read, the body is whole or malformed, or nothing is left, and returns how
   * far that is.
   */
  read(bytes: Buffer, at: number, end: number): number {
    let next = at;
    while (next < end && this.#state !== 'whole' && this.#state !== 'malformed') {
      if (this.#state === 'data') return this.#take(next, end);
      if (this.#state === 'until-close') return this.#takeAll(next, end);
      this.#state = this.#step(bytes[next++] ?? 0);
    }
    this.from = this.to = next;
    return next;
  }

  #take(at: number, end: number): number {
    const taken = Math.min(this.#left, end - at);
    this.#left -= taken;
    if (this.#left === 0) this.#state = this.#isChunked ? 'data-cr' : 'whole';
    this.from = at;
    this.to = at + taken;
    return this.to;
  }

  #takeAll(at: number, end: number): number {
    this.from = at;
    this.to = end;
    return end;
  }

  /** One byte of what is around data. */
  #step(byte: number): State {
    switch (this.#state) {
      case 'size':
        return this.#stepSize(byte);
      case 'extension':
        if (byte === cr) return 'size-lf';
        return isText(byte) && this.#extensions++ < extensionsMax ? 'extension' : 'malformed';
      case 'size-lf':
        if (byte !== lf) return 'malformed';
        this.#digits = 0;
        return this.#left === 0 ? 'trailers' : 'data';
      case 'data-cr':
        return byte === cr ? 'data-lf' : 'malformed';
      case 'data-lf':
        return byte === lf ? 'size' : 'malformed';
      case 'trailers':
        return this.#stepTrailers(byte);
      default:
        return 'malformed';
    }
  }

  #stepSize(byte: number): State {
    const digit = hexValue(byte);
    if (digit >= 0) {
      this.#left = this.#left * 16 + digit;
      return this.#digits++ < sizeDigitsMax ? 'size' : 'malformed';
    }
    if (this.#digits === 0) return 'malformed';
    if (byte === cr) return 'size-lf';
    return byte === semicolon ? 'extension' : 'malformed';
  }

  #stepTrailers(byte: number): State {
    this.trailers += String.fromCharCode(byte);
    const text = this.trailers;
    if (byte !== lf || !(text === '\r\n' || text.endsWith('\r\n\r\n')))
      return text.length < trailersMax ? 'trailers' : 'malformed';
    const passed = passedTrailers(text);
    this.trailers = passed ?? '';
    return passed === undefined ? 'malformed' : 'whole';
  }
}

/** Of a hexadecimal digit; else -1. */
function hexValue(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

function isText(byte: number): boolean {
  return byte === tab || (byte >= space && byte !== del);
}
