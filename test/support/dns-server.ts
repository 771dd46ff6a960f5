/**
 * A DNS server in this process, over UDP on 127.0.0.1: it knows the records it was given, of types A, AAAA, CNAME and
 * TXT, and says of every other name that there is none.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const types = { A: 1, CNAME: 5, TXT: 16, AAAA: 28 } as const;
export type DnsType = keyof typeof types;

export class DnsServer {
  /** Values by type and name, such as `TXT _gangway.shop.example`; may be changed at any time. */
  readonly records = new Map<string, readonly string[]>();
  /** What was asked, in the same form. */
  readonly asked: string[] = [];
  /** Whether it takes questions without a word. */
  silent = false;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (message, { port, address }) => {
      const answer = this.#answer(message);
      if (answer !== null && !this.silent) socket.send(answer, port, address);
    });
  }

  static async open(): Promise<DnsServer> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new DnsServer(socket);
  }

  /** `host:port`. */
  get address(): string {
    return `127.0.0.1:${String(this.#socket.address().port)}`;
  }

  set(type: DnsType, name: string, ...values: string[]): void {
    this.records.set(`${type} ${name.toLowerCase()}`, values);
  }

  unset(type: DnsType, name: string): void {
    this.records.delete(`${type} ${name.toLowerCase()}`);
  }

  async close(): Promise<void> {
    this.#socket.close();
    await once(this.#socket, 'close');
  }

  #answer(message: Buffer): Buffer | null {
    if (message.length < 17) return null;
    const { name, end } = nameAt(message, 12);
    const question = message.subarray(12, end + 4);
    const type = (Object.keys(types) as DnsType[]).find(
      (one) => types[one] === message.readUInt16BE(end),
    );
    this.asked.push(`${type ?? '?'} ${name}`);
    const found = type === undefined ? [] : this.#find(type, name);
    const isThere = [...this.records.keys()].some((key) => key.endsWith(` ${name}`));
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    // A response, with authority and recursion; NXDOMAIN for names without any record.
    head.writeUInt16BE(0x8580 | (isThere ? 0 : 3), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    return Buffer.concat([head, question, ...found]);
  }

  #find(type: DnsType, name: string): Buffer[] {
    const alias = this.records.get(`CNAME ${name}`)?.[0];
    if (alias !== undefined && type !== 'CNAME') {
      return [record(name, 'CNAME', alias), ...this.#find(type, alias.toLowerCase())];
    }
    return (this.records.get(`${type} ${name}`) ?? []).map((value) => record(name, type, value));
  }
}

function nameAt(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function record(name: string, type: DnsType, value: string): Buffer {
  const data = dataOf(type, value);
  const head = Buffer.alloc(10);
  head.writeUInt16BE(types[type], 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([encoded(name), head, data]);
}

function dataOf(type: DnsType, value: string): Buffer {
  if (type === 'A') return Buffer.from(value.split('.').map(Number));
  if (type === 'CNAME') return encoded(value);
  if (type === 'AAAA') {
    const [before = '', after = ''] = value.split('::');
    const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
    const [front, back] = [groups(before), groups(after)];
    const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0');
    return Buffer.from(
      [...front, ...zeros, ...back].map((one) => one.padStart(4, '0')).join(''),
      'hex',
    );
  }
  return Buffer.concat([Buffer.of(value.length), Buffer.from(value, 'latin1')]);
}

function encoded(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(label, 'latin1'));
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.of(label.length), label]),
    Buffer.of(0),
  ]);
}
