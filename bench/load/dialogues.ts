/**
 * Owns what is spoken over one connection by load of our own, as bytes: HTTP/1.1 and WebSocket here, HTTP/2 in
 * `http2-dialogue.ts`. Pure. Each throws on an answer that is not the expected one.
 */
import { AnswerReader } from './answers.ts';
import { requestBytes } from './requests.ts';

export interface Dialogue {
  /** What is sent before all questions. */
  readonly opening: Buffer;
  /** Whether it may be asked by now. */
  readonly isOpen: boolean;
  ask(nowMs: number): Buffer;
  /** Bytes that came. */
  read(chunk: Buffer): Heard;
}

export interface Heard {
  /** When those questions were asked that are answered now. */
  askedMs: number[];
  /** What is to be sent in return, besides questions. */
  reply: Buffer;
}

export const nothing = Buffer.alloc(0);

/** One question at a time. */
export class Http1Dialogue implements Dialogue {
  readonly opening = nothing;
  readonly isOpen = true;
  readonly #request: Buffer;
  readonly #expected: Buffer;
  readonly #reader = new AnswerReader();
  #askedMs = 0;

  constructor(host: string, path: string, expected: Buffer) {
    this.#request = requestBytes({ path, headers: { host } });
    this.#expected = expected;
  }

  ask(nowMs: number): Buffer {
    this.#askedMs = nowMs;
    return this.#request;
  }

  read(chunk: Buffer): Heard {
    const askedMs = this.#reader.push(chunk).map(({ status, body }) => {
      if (status !== 200 || !body.equals(this.#expected)) throw new Error(`wrong: ${status}`);
      return this.#askedMs;
    });
    return { askedMs, reply: nothing };
  }
}

const [textFrame, isMasked] = [0x81, 0x80];
const shortMax = 125;

/** One message at a time, which must come back. */
export class WebSocketDialogue implements Dialogue {
  readonly opening: Buffer;
  readonly #frame: Buffer;
  readonly #echo: Buffer;
  #received: Buffer = nothing;
  #askedMs = 0;
  isOpen = false;

  /** `message`: of 125 bytes at most. */
  constructor(host: string, path: string, message: Buffer) {
    const { length } = message;
    if (length > shortMax) throw new Error(`a message of ${length} bytes needs another frame`);
    const headers = {
      host,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    };
    this.opening = requestBytes({ path, headers });
    // A mask of zeros changes nothing.
    const head = Buffer.from([textFrame, isMasked | length, 0, 0, 0, 0]);
    this.#frame = Buffer.concat([head, message]);
    this.#echo = Buffer.concat([Buffer.from([textFrame, length]), message]);
  }

  ask(nowMs: number): Buffer {
    this.#askedMs = nowMs;
    return this.#frame;
  }

  read(chunk: Buffer): Heard {
    this.#received = Buffer.concat([this.#received, chunk]);
    if (!this.isOpen) this.#readHead();
    const echo = this.#echo;
    if (!this.isOpen || this.#received.length < echo.length) return { askedMs: [], reply: nothing };
    if (!this.#received.equals(echo)) throw new Error('wrong: another message came back');
    this.#received = nothing;
    return { askedMs: [this.#askedMs], reply: nothing };
  }

  #readHead(): void {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#received.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(`no WebSocket: ${head.slice(0, 80)}`);
    this.#received = this.#received.subarray(end + 4);
    this.isOpen = true;
  }
}
