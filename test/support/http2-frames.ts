/** Owns HTTP/2 by the frame (RFC 9113, 4), for tests: also what no decent client would send. */
import { once } from 'node:events';
import tls, { type TLSSocket } from 'node:tls';

export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  rst: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const [endStream, endHeaders, padded, withPriority] = [1, 4, 8, 32];

export interface Frame {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
}

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK (RFC 7541): each field as a literal with its name, that no table keeps. */
export function fieldBlock(...fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer => {
    if (value.length > 126) throw new Error('Cannot write a length of several bytes');
    return Buffer.concat([Buffer.of(value.length), Buffer.from(value, 'latin1')]);
  };
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

const magic = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const preface = Buffer.concat([magic, frame(types.settings, 0, 0)]);

export class RawHttp2 {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  #rest = Buffer.alloc(0);
  /** Bytes that are no frames. */
  #skip = 0;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
  }

  /** Of 127.0.0.1; nothing is sent yet. */
  static async open(port: number, servername: string, ca: string): Promise<RawHttp2> {
    const at = { host: '127.0.0.1', port, servername, ca };
    const socket = tls.connect({ ...at, ALPNProtocols: ['h2'] });
    const raw = new RawHttp2(socket);
    await once(socket, 'secureConnect');
    return raw;
  }

  /** As the server, from the first byte of the other side. */
  static answering(socket: TLSSocket): RawHttp2 {
    const raw = new RawHttp2(socket);
    raw.#skip = magic.length;
    return raw;
  }

  write(...frames: readonly Uint8Array[]): boolean {
    return this.socket.write(Buffer.concat(frames));
  }

  get isClosed(): boolean {
    return this.socket.closed || this.socket.readableEnded;
  }

  /** The last one of GOAWAY; undefined: none came. */
  get goawayCode(): number | undefined {
    return this.frames.findLast(({ type }) => type === types.goaway)?.payload.readUInt32BE(4);
  }

  /** Of RST_STREAM. */
  resetCode(stream: number): number | undefined {
    return this.#of(types.rst, stream)?.payload.readUInt32BE(0);
  }

  /** Whether all of the answer came. */
  isAnswered(stream: number): boolean {
    return this.frames.some(
      (one) => one.stream === stream && one.type <= types.headers && (one.flags & endStream) !== 0,
    );
  }

  /** That of DATA frames. */
  body(stream: number): string {
    const parts = this.frames.filter((one) => one.stream === stream && one.type === types.data);
    return Buffer.concat(parts.map(({ payload }) => payload)).toString('latin1');
  }

  #of(type: number, stream: number): Frame | undefined {
    return this.frames.find((one) => one.type === type && one.stream === stream);
  }

  #take(bytes: Buffer): void {
    const skipped = Math.min(this.#skip, bytes.length);
    this.#skip -= skipped;
    let rest = Buffer.concat([this.#rest, bytes.subarray(skipped)]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3);
      const [type = 0, flags = 0] = rest.subarray(3, 5);
      const stream = rest.readUInt32BE(5) & 0x7fffffff;
      this.frames.push({ type, flags, stream, payload: rest.subarray(9, end) });
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }
}
