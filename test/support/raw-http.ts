/** Speaks HTTP by bytes: for requests that no decent client would send. */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

export class RawClient {
  readonly socket: Socket;
  received = '';
  /** How the connection ended; undefined while it is open. */
  ended: 'fin' | 'reset' | undefined;
  #wake: (() => void)[] = [];

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1');
      this.#changed();
    });
    this.socket.on('end', () => {
      this.ended ??= 'fin';
      this.#changed();
    });
    this.socket.on('error', () => {
      this.ended ??= 'reset';
      this.#changed();
    });
    this.socket.on('close', () => {
      this.ended ??= 'reset';
      this.#changed();
    });
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Waits until `condition` holds, looking at every change. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
      });
    }
  }

  /** The next answer with a Content-Length. */
  async answer(): Promise<RawAnswer> {
    await this.until(() => complete(this.received) || this.ended !== undefined);
    const parsed = parse(this.received);
    if (parsed === undefined) throw new Error(`no answer, but ${this.ended}: ${this.received}`);
    this.received = this.received.slice(parsed.length);
    return parsed.answer;
  }

  async closed(): Promise<'fin' | 'reset'> {
    await this.until(() => this.ended !== undefined);
    this.socket.destroy();
    return this.ended ?? 'reset';
  }

  destroy(): void {
    this.socket.destroy();
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

function complete(received: string): boolean {
  return parse(received) !== undefined;
}

function parse(received: string): { answer: RawAnswer; length: number } | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [line = '', ...fields] = received.slice(0, end).split('\r\n');
  const headers = new Map(
    fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const;
    }),
  );
  const status = Number(line.split(' ')[1]);
  const length = status === 204 ? 0 : Number(headers.get('content-length') ?? 0);
  const body = received.slice(end + 4, end + 4 + length);
  if (body.length < length) return undefined;
  return { answer: { status, headers, body }, length: end + 4 + length };
}
