/**
 * Owns the reading of messages, and remembers repeated ones. Agents send the same few messages again and
 * again with other ids, and parsing one takes longer than answering it.
 *
 * 1. A message is known when all its bytes are, except those of its id, and the id is a plain number or
 *    text. Its content is then that of the first parse.
 * 2. A message is kept when it comes for the second time. Kept messages are frozen, and limited in number
 *    and length.
 */
import { readMessage, type RpcId, type RpcMessage, type RpcParams } from '../protocol/json-rpc.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { clientOf, metaOf } from './revision.ts';
import type { ClientInfo } from './tool.ts';

/** What the access log shows of a request. */
export interface RequestNote {
  rpc: string;
  tool: string | null;
  client: string | null;
  traceparent: string | null;
}

/** The content of a message. Messages that differ only in their ids share one. */
export class MessageContent {
  readonly method: string;
  readonly params: RpcParams;
  /** The client's name and version, when the message holds them. */
  readonly client: ClientInfo | null;
  #note: RequestNote | undefined;
  #callKey: Buffer | undefined;

  constructor(method: string, params: RpcParams) {
    this.method = method;
    this.params = params;
    this.client = clientOf(params);
  }

  /** `rpc`, `tool`: the known method and tool of the message. Returns the same object each time. */
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

  /** Bytes that identify the tool and arguments of a call. */
  get callKey(): Buffer {
    const { name, arguments: args = {} } = this.params;
    this.#callKey ??= Buffer.from(`${String(name)} ${JSON.stringify(args)}`);
    return this.#callKey;
  }
}

/** The result of reading a message. */
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
/** A number without sign, fraction and leading zeros, or a text without escapes. */
const plainId = /"id":(0|[1-9][0-9]{0,14}|"[ !#-[\]-~]{0,100}")/;
// Replaces the id in a test.
const stranger = 'id of nobody';

export class KnownMessages {
  readonly #known = new RecentMap<MessageContent>(knownMax);
  /** Messages that came once. */
  readonly #seen = new RecentMap<true>(knownMax);

  /** Reads one message; never throws. */
  read(body: Uint8Array): ReadMessage {
    const split = body.length <= bytesMax ? splitOf(body) : null;
    if (split === null) return contentOf(readMessage(body));
    // JSON holds no NUL, so the NUL separates the two parts.
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

/** The message around its first plain id, which may belong to an inner object; null without any. */
function splitOf(body: Uint8Array): Split | null {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
  const found = plainId.exec(text);
  const id = found?.[1];
  if (!found || id === undefined) return null;
  const end = found.index + found[0].length;
  const before = text.slice(0, end - id.length);
  return { before, after: text.slice(end), id: id.startsWith('"') ? id.slice(1, -1) : Number(id) };
}

/** Whether the cut text is the id of the message: a replacement must then appear as the id. */
function isIdOf(id: RpcId, { before, after, id: cut }: Split): boolean {
  if (cut !== id || id === stranger) return false;
  const other = readMessage(Buffer.from(`${before}"${stranger}"${after}`, 'latin1'));
  return other.kind === 'request' && other.id === stranger;
}

/** Freezes a value that many messages share, as deep as a message may nest. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.values(value).forEach(freeze);
  Object.freeze(value);
}
