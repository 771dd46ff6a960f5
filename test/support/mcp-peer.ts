/** Messages to an MCP endpoint, as clients of each revision send them, and what came back. */
import assert from 'node:assert/strict';

const current = '2026-07-28';
export const metaPrefix = 'io.modelcontextprotocol/';
/** What a request of 2026-07-28 says of itself. */
export const meta = {
  [`${metaPrefix}protocolVersion`]: current,
  [`${metaPrefix}clientCapabilities`]: {},
};

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** The body, where it is JSON-RPC. */
  rpc: {
    id?: unknown;
    result?: Record<string, unknown>;
    error?: { code: number; message: string; data?: unknown };
  };
}

/** Null takes away what would be sent. */
type HeaderChanges = Readonly<Record<string, string | null>>;

/** The id of every message that names no other. */
const id = 7;

export class McpPeer {
  readonly #place: { url: string; token: string };

  constructor(place: { url: string; token: string }) {
    this.#place = place;
  }

  /** `query` with its question mark. */
  async post(body: unknown, changes: HeaderChanges = {}, query = ''): Promise<Reply> {
    const { url, token } = this.#place;
    const sent = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const headers = new Headers(sent);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) headers.delete(name);
      else headers.set(name, value);
    }
    const isReady = typeof body === 'string' || body instanceof Uint8Array;
    const answer = await fetch(`${url}/api/mcp${query}`, {
      method: 'POST',
      headers,
      body: isReady ? (body as string) : JSON.stringify(body),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type') === 'application/json';
    const rpc = isJson ? (JSON.parse(text) as Reply['rpc']) : {};
    return { status: answer.status, headers: answer.headers, text, rpc };
  }

  /** With all marks of 2026-07-28, changed where told. */
  modern(
    method: string,
    params: Record<string, unknown> = {},
    changes: HeaderChanges = {},
  ): Promise<Reply> {
    const name = typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {};
    const marks = { 'mcp-protocol-version': current, 'mcp-method': method, ...name };
    const body = { jsonrpc: '2.0', id, method, params: { _meta: meta, ...params } };
    return this.post(body, { ...marks, ...changes });
  }

  /** Without any mark. */
  minimal(method: string, params: unknown = {}, as: unknown = id, query = ''): Promise<Reply> {
    return this.post({ jsonrpc: '2.0', id: as, method, params }, {}, query);
  }

  earlier(method: string, params: unknown = {}): Promise<Reply> {
    const version = { 'mcp-protocol-version': '2025-11-25' };
    return this.post({ jsonrpc: '2.0', id, method, params }, version);
  }
}

export async function assertFault(
  reply: Promise<Reply>,
  status: number,
  code: number,
): Promise<Reply> {
  const got = await reply;
  assert.deepEqual([got.status, got.rpc.error?.code], [status, code], got.text);
  assert.equal(got.rpc.id, id);
  return got;
}

export async function assertResult(reply: Promise<Reply>): Promise<Record<string, unknown>> {
  const { status, rpc, text } = await reply;
  assert.equal(status, 200, text);
  assert.ok(rpc.result, text);
  return rpc.result;
}
