/**
 * Owns messages as they are read, and remembers those that come again. Agents send the same few again
 * and again with other ids, and to parse one takes longer than to answer it.
 *
 * 1. A message is known when all its bytes are, but for those of its id, and the id is a plain number or
 *    text. It then says what it said when it was parsed.
 * 2. A message is kept when it comes for the second time. What is kept is frozen, and bounded in number
 *    and length.
 */
import { readMessage, type RpcId, type RpcMessage, type RpcParams } from '../protocol/json-rpc.ts';
import { RecentMap } from '../lib/recent-map.ts';
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
  #callKey: Buffer | undefined;

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
  get callKey(): Buffer {
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

const knownMax = 1_000;
const bytesMax = 2_048;
/** A number without sign, fraction and leading zeros, or a text that means what it shows. */
const plainId = /"id":(0|[1-9][0-9]{0,14}|"[ !#-[\]-~]{0,100}")/;
// Stands in for an id.
const stranger = 'id of nobody';

export class KnownMessages {
  readonly #known = new RecentMap<MessageContent>(knownMax);
  /** What came once. */
  readonly #seen = new RecentMap<true>(knownMax);

  /** Reads one message; never throws. */
  read(body: Uint8Array): ReadMessage {
    const split = body.length <= bytesMax ? splitOf(body) : null;
    if (split === null) return contentOf(readMessage(body));
    // JSON holds no such byte, so it keeps the two apart.
    const key = `${split.before}\0${split.after}`;
    const content = this.#known.get(key);
    if (content !== undefined) return { kind: 'request', id: split.id, content };
    const read = contentOf(readMessage(body));
    const isFirst = this.#seen.get(key) === undefined;
    if (isFirst) this.#seen.set(key, true);
    else if (read.kind === 'request' && isIdOf(read.id, split)) {
      freeze(read.content.params);
      this.#known.set(key, read.content);
    }
    return read;
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
  const found = plainId.exec(text);
  const id = found?.[1];
  if (!found || id === undefined) return null;
  const end = found.index + found[0].length;
  const before = text.slice(0, end - id.length);
  return { before, after: text.slice(end), id: id.startsWith('"') ? id.slice(1, -1) : Number(id) };
}

/** Whether what was cut out is the id of the message: what is put in its place must be the id then. */
function isIdOf(id: RpcId, { before, after, id: cut }: Split): boolean {
  if (cut !== id || id === stranger) return false;
  const other = readMessage(Buffer.from(`${before}"${stranger}"${after}`, 'latin1'));
  return other.kind === 'request' && other.id === stranger;
}

/** So that nobody changes what many share. Not deeper than a message may nest. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.values(value).forEach(freeze);
  Object.freeze(value);
}
