/**
 * Owns HTTP/2 (RFC 9113) as far as load needs it, over one connection: requests without a body, many at once, whose
 * answers are small. Of compressed heads (RFC 7541) no more is read than that the status is 200.
 */
import { type Dialogue, type Heard, nothing } from './dialogues.ts';

const headBytes = 9;
const [data, headers, settings, ping, windowUpdate] = [0, 1, 4, 6, 8];
const [endStream, ack, endHeaders] = [1, 1, 4];
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** So much of the connection's window that a load never comes to its end. */
const windowBytes = 2 ** 30;
/** Fields of HPACK's table: whole ones, and names of those whose value follows. */
const [methodGet, schemeHttp, schemeHttps, status200] = [0x82, 0x86, 0x87, 0x88];
const [authorityName, pathName] = [0x01, 0x04];

interface Question {
  askedMs: number;
  isFound: boolean;
  bytes: number;
}

export class Http2Dialogue implements Dialogue {
  readonly opening: Buffer;
  readonly isOpen = true;
  readonly #head: Buffer;
  readonly #expected: Buffer;
  readonly #questions = new Map<number, Question>();
  #next = 1;
  #received: Buffer = nothing;

  constructor(host: string, path: string, expected: Buffer, scheme: 'http' | 'https') {
    const window = Buffer.alloc(4);
    window.writeUInt32BE(windowBytes);
    this.opening = Buffer.concat([
      preface,
      frame(settings, 0, 0),
      frame(windowUpdate, 0, 0, window),
    ]);
    this.#head = Buffer.concat([
      Buffer.from([methodGet, scheme === 'http' ? schemeHttp : schemeHttps]),
      field(authorityName, host),
      field(pathName, path),
    ]);
    this.#expected = expected;
  }

  ask(askedMs: number): Buffer {
    this.#questions.set(this.#next, { askedMs, isFound: false, bytes: 0 });
    const question = frame(headers, endStream | endHeaders, this.#next, this.#head);
    this.#next += 2;
    return question;
  }

  read(chunk: Buffer): Heard {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const askedMs: number[] = [];
    const replies: Buffer[] = [];
    let at = 0;
    for (;;) {
      const received = this.#received.subarray(at);
      if (received.length < headBytes) break;
      const end = headBytes + received.readUIntBE(0, 3);
      if (received.length < end) break;
      const [type = 0, flags = 0] = received.subarray(3, 5);
      const payload = received.subarray(headBytes, end);
      const stream = received.readUInt32BE(5);
      if (stream === 0) replies.push(replyTo(type, flags, payload));
      else this.#take(stream, type, flags, payload, askedMs);
      at += end;
    }
    this.#received = this.#received.subarray(at);
    return { askedMs, reply: Buffer.concat(replies) };
  }

  #take(stream: number, type: number, flags: number, payload: Buffer, askedMs: number[]): void {
    const question = this.#questions.get(stream);
    if (question === undefined) throw new Error(`wrong: stream ${stream} was answered before`);
    if (type === headers && !question.isFound) question.isFound = isFound(payload);
    else if (type === data) this.#takeData(question, payload);
    else if (type !== windowUpdate) throw new Error(`wrong: a frame of type ${type}`);
    if (type === windowUpdate || (flags & endStream) === 0) return;
    if (question.bytes !== this.#expected.length) throw new Error('wrong: the answer is not whole');
    this.#questions.delete(stream);
    askedMs.push(question.askedMs);
  }

  #takeData(question: Question, payload: Buffer): void {
    const end = question.bytes + payload.length;
    const isExpected = payload.equals(this.#expected.subarray(question.bytes, end));
    if (!question.isFound || !isExpected) throw new Error('wrong: other bytes came');
    question.bytes = end;
  }
}

/** Of what concerns the whole connection. */
function replyTo(type: number, flags: number, payload: Buffer): Buffer {
  const isAsked = (flags & ack) === 0;
  if (type === settings && isAsked) return frame(settings, ack, 0);
  if (type === ping && isAsked) return frame(ping, ack, 0, payload);
  if (type === settings || type === ping || type === windowUpdate) return nothing;
  throw new Error(`wrong: a frame of type ${type} ends the connection`);
}

/** Behind changes of the table's size, which may come first. */
function isFound(head: Buffer): boolean {
  const first = head.find((byte) => byte >> 5 !== 1);
  if (first !== status200) throw new Error('wrong: the status is not 200');
  return true;
}

function field(name: number, value: string): Buffer {
  return Buffer.concat([Buffer.from([name, value.length]), Buffer.from(value, 'latin1')]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer = nothing): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
