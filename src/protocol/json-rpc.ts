/**
 * Owns JSON-RPC 2.0 as bytes: what a body says, and what an answer looks like. Pure.
 *
 * 1. What is hostile is refused before it is parsed: nesting and the number of members are bounded in
 *    one pass over the bytes.
 * 2. An id is given back exactly as it came: a string, or an integer that a double holds. Any other is
 *    refused, and where it cannot be read the answer has none.
 * 3. Of a name that stands twice in one object the last counts, for everything that is decided by it.
 *
 * Source: https://www.jsonrpc.org/specification
 */
import { excessIn } from './json-structure.ts';

export type RpcId = string | number;
export type RpcParams = Readonly<Record<string, unknown>>;

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

export type RpcMessage =
  | { kind: 'request'; id: RpcId; method: string; params: RpcParams }
  | { kind: 'notification'; method: string; params: RpcParams }
  | { kind: 'refused'; code: number; message: string; id?: RpcId };

const idCharsMax = 1_000;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads one message; never throws. */
export function readMessage(body: Uint8Array): RpcMessage {
  const excess = excessIn(body);
  if (excess !== null) return refused(rpcCodes.invalidRequest, excess);
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    // The parser's own words would quote the body.
    return refused(rpcCodes.parseError, 'The body is no JSON in UTF-8.');
  }
  if (Array.isArray(value)) {
    return refused(rpcCodes.invalidRequest, 'One message at a time: batches are not taken.');
  }
  if (!isObject(value)) return refused(rpcCodes.invalidRequest, 'The body is no JSON-RPC message.');
  return messageOf(value);
}

function messageOf(value: Readonly<Record<string, unknown>>): RpcMessage {
  const { jsonrpc, id, method, params = {} } = value;
  if (id !== undefined && !isId(id)) {
    return refused(rpcCodes.invalidRequest, 'id must be a string or an integer.');
  }
  if (jsonrpc !== '2.0') return refused(rpcCodes.invalidRequest, 'jsonrpc must be "2.0".', id);
  if (typeof method !== 'string') {
    return refused(rpcCodes.invalidRequest, 'method must be a string.', id);
  }
  if (!isObject(params)) {
    return refused(rpcCodes.invalidRequest, 'params must be an object.', id);
  }
  if (id === undefined) return { kind: 'notification', method, params };
  return { kind: 'request', id, method, params };
}

function isId(id: unknown): id is RpcId {
  if (typeof id === 'string') return id.length <= idCharsMax;
  return Number.isSafeInteger(id);
}

function refused(code: number, message: string, id?: RpcId): RpcMessage {
  return { kind: 'refused', code, message, ...(id !== undefined && { id }) };
}

// An id takes less, but for long texts.
const headRoom = 128;

/** The bytes that `ReadyResult` is made of: room for what stands before a result, and its JSON. */
export function readyBytes(resultAsJson: string): Uint8Array {
  const bytes = Buffer.allocUnsafe(headRoom + Buffer.byteLength(resultAsJson) + 1);
  bytes.write(resultAsJson, headRoom);
  bytes.write('}', bytes.length - 1);
  return bytes;
}

/** A result that may be sent again and again: only what stands before it is written each time. */
export class ReadyResult {
  readonly #bytes: Uint8Array;

  /** `bytes`: as `readyBytes` makes them; nobody else writes into them. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A response with it, lent until the next one is asked for: send it, or copy it. */
  response(id: RpcId): Uint8Array {
    const head = headOf(id);
    const from = headRoom - head.length;
    if (from >= 0 && writeAscii(this.#bytes, head, from)) return this.#bytes.subarray(from);
    return Buffer.concat([Buffer.from(head), this.#bytes.subarray(headRoom)]);
  }
}

/** False where the text is not all ASCII; what was written then means nothing. */
function writeAscii(bytes: Uint8Array, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char > 0x7f) return false;
    bytes[at + i] = char;
  }
  return true;
}

function headOf(id: RpcId): string {
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":`;
}

export function resultJson(id: RpcId, resultAsJson: string): string {
  return `${headOf(id)}${resultAsJson}}`;
}

export interface RpcFault {
  code: number;
  message: string;
  data?: unknown;
}

/** An error response; without an id where the request's could not be read. */
export function errorJson(id: RpcId | undefined, { code, message, data }: RpcFault): string {
  const error = { code, message, ...(data !== undefined && { data }) };
  return JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), error });
}

export function notificationJson(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
