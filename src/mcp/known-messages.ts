/**
 * Owns messages as they are read, and remembers those that come again. Agents send the same few again
 * and again with other ids, and to parse one takes longer than to answer it.
 *
 * 1. A message is known when all its bytes are, but for those of its id, and the id is a plain number or
 *    text. It then says what it said when it was parsed.
 * 2. A message is kept when it comes for the second time. What is kept is frozen, and bounded in number
 *    and length.
 */
import {
  isObject,
  readMessage,
  type RpcId,
  type RpcMessage,
  type RpcParams,
} from '../protocol/json-rpc.ts';
import { clientOf, metaOf } from './revision.ts';
import type { ClientInfo } from './tool.ts';

/** What the access log tells of a request. */
export interface RequestNote {
  rpc: string;
  tool: string | null;
  client: string | null;
  traceparent: string | null;
}

/** What a message says. Many messages that differ in their ids only share one. */
export class MessageContent {
  readonly method: string;
  readonly params: RpcParams;
  /** Who speaks, where it says so. */
  readonly client: ClientInfo | null;
  #note: RequestNote | undefined;
  #callKey: Uint8Array | undefined;

  constructor(method: string, params: RpcParams) {
    this.method = method;
    this.params = params;
    this.client = clientOf(params);
  }

  /** `rpc`, `tool`: the method and the tool, where there are such; the same each time. */
  note(rpc: string, tool: string | null): RequestNote {
    if (this.#note === undefined) {
      const { traceparent } = metaOf(this.params);
      this.#note = Object.freeze({
        rpc,
        tool,
        client: this.client?.name ?? null,
        traceparent: typeof traceparent === 'string' ? traceparent : null,
      });
    }
    return this.#note;
  }

  /** What a call of a tool asks for, as bytes that no other call has. */
  get callKey(): Uint8Array {
    const { name, arguments: args = {} } = this.params;
    this.#callKey ??= Buffer.from(`${String(name)} ${JSON.stringify(args)}`);
    return this.#callKey;
  }
}

/** A message as it was read. */
export type ReadMessage =
  | { kind: 'request'; id: RpcId; content: MessageContent }
  | { kind: 'notification'; content: MessageContent }
  | Extract<RpcMessage, { kind: 'refused' }>;

/** A text without its id, and that id. */
interface Split {
  before: string;
  after: string;
  id: RpcId;
}

const knownMax = 500;
const bytesMax = 2_048;
const idMark = '"id":';
const idDigitsMax = 15;
const idTextMax = 100;
// Stands in for an id.
const stranger = 'id of nobody';

export class KnownMessages {
  readonly #known = new Map<string, MessageContent>();
  /** What came once. */
  readonly #seen = new Set<string>();

  /** Reads one message; never throws. */
  read(body: Uint8Array): ReadMessage {
    const split = body.length <= bytesMax ? splitOf(body) : null;
    if (split === null) return contentOf(readMessage(body));
    // JSON holds no such byte, so it keeps the two apart.
    const key = `${split.before}\0${split.after}`;
    const content = this.#known.get(key);
    if (content !== undefined) return { kind: 'request', id: split.id, content };
    const read = contentOf(readMessage(body));
    if (read.kind === 'request' && this.#comesAgain(key) && isIdOf(read.id, split)) {
      if (this.#known.size >= knownMax) this.#known.clear();
      this.#known.set(key, frozen(read.content));
    }
    return read;
  }

  #comesAgain(key: string): boolean {
    if (this.#seen.delete(key)) return true;
    if (this.#seen.size >= knownMax) this.#seen.clear();
    this.#seen.add(key);
    return false;
  }
}

function contentOf(message: RpcMessage): ReadMessage {
  if (message.kind === 'refused') return message;
  const content = new MessageContent(message.method, message.params);
  if (message.kind === 'notification') return { kind: 'notification', content };
  return { kind: 'request', id: message.id, content };
}

/** The message around its first plain id, which may be one of an inner object; null without any. */
function splitOf(body: Uint8Array): Split | null {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
  const mark = text.indexOf(idMark);
  if (mark === -1) return null;
  const start = mark + idMark.length;
  const end = text.charCodeAt(start) === quote ? textEnd(text, start) : digitsEnd(text, start);
  if (end === -1) return null;
  const token = text.slice(start, end);
  const id = text.charCodeAt(start) === quote ? token.slice(1, -1) : Number(token);
  return { before: text.slice(0, start), after: text.slice(end), id };
}

/** Behind a number without sign, fraction and leading zeros; -1 for any other. */
function digitsEnd(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end++;
  const digits = end - start;
  if (digits === 0 || digits > idDigitsMax) return -1;
  if (digits > 1 && text.charCodeAt(start) === zero) return -1;
  return end;
}

const quote = 0x22;
const zero = 0x30;
const backslash = 0x5c;

function isDigit(char: number): boolean {
  return char >= zero && char <= zero + 9;
}

/** Behind a text in quotes that means what it shows; -1 for any other. */
function textEnd(text: string, start: number): number {
  for (let at = start + 1; at <= start + 1 + idTextMax; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) return at + 1;
    if (!(char >= 0x20 && char < 0x7f) || char === backslash) return -1;
  }
  return -1;
}

/** Whether what was cut out is the id of the message: what is put in its place must be the id then. */
function isIdOf(id: RpcId, { before, after, id: cut }: Split): boolean {
  if (cut !== id || id === stranger) return false;
  const other = readMessage(Buffer.from(`${before}"${stranger}"${after}`, 'latin1'));
  return other.kind === 'request' && other.id === stranger;
}

/** So that nobody changes what many share. */
export function frozen(content: MessageContent): MessageContent {
  freeze(content.params);
  return content;
}

// Not deeper than a message may nest.
function freeze(value: unknown): void {
  if (Array.isArray(value)) value.forEach(freeze);
  else if (isObject(value)) Object.values(value).forEach(freeze);
  Object.freeze(value);
}
