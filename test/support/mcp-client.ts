/** The Model Context Protocol as a quick agent speaks it: one POST a call, in the modern form. */
import { SseParser } from './sse-parser.ts';

export interface Fault {
  code: number;
  message: string;
  data?: unknown;
}

export interface ToolResult {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

export interface McpAnswer<T = ToolResult> {
  status: number;
  headers: Headers;
  /** Of the answer's body, as it came. */
  bytes: number;
  body: string;
  result: T | undefined;
  fault: Fault | undefined;
  /** Messages of `notifications/progress`, in their order. */
  progress: { progress: number; message: string }[];
}

export interface AskOptions {
  /** Of the address, such as `tools=read`. */
  query?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Asks to be told how far it is. */
  progressToken?: string | number;
}

export interface ListedTool {
  name: string;
  description: string;
  inputSchema: Schema;
  outputSchema?: Schema;
  annotations: Record<string, boolean>;
}

const revision = '2026-07-28';

export class McpClient {
  readonly #url: string;
  #id = 0;

  /** `url`: of the service. */
  constructor(url: string) {
    this.#url = `${url}/api/mcp`;
  }

  async call(
    token: string,
    name: string,
    args: Record<string, unknown> = {},
    options: AskOptions = {},
  ): Promise<McpAnswer> {
    return await this.ask(token, 'tools/call', { name, arguments: args }, options);
  }

  /** What a call that is to succeed tells. */
  async must<T>(token: string, name: string, args: Record<string, unknown> = {}): Promise<T> {
    const answer = await this.call(token, name, args);
    const { result } = answer;
    if (!result || result.isError === true) throw new Error(`${name}: ${answer.body}`);
    return toldBy(result) as T;
  }

  /** The sentence of a call that is to fail. */
  async fails(token: string, name: string, args: Record<string, unknown> = {}): Promise<string> {
    const answer = await this.call(token, name, args);
    if (answer.result?.isError !== true) throw new Error(`${name} did not fail: ${answer.body}`);
    return textOf(answer);
  }

  async tools(token: string, options: AskOptions = {}): Promise<ListedTool[]> {
    const answer = await this.ask<{ tools: ListedTool[] }>(token, 'tools/list', {}, options);
    if (!answer.result) throw new Error(answer.body);
    return answer.result.tools;
  }

  async ask<T = ToolResult>(
    token: string,
    method: string,
    params: Record<string, unknown>,
    { query, headers = {}, signal, progressToken }: AskOptions = {},
  ): Promise<McpAnswer<T>> {
    const name = params['name'];
    const meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'quick', version: '1' },
      ...(progressToken !== undefined && { progressToken }),
    };
    const response = await fetch(query === undefined ? this.#url : `${this.#url}?${query}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        'mcp-protocol-version': revision,
        'mcp-method': method,
        ...(typeof name === 'string' && { 'mcp-name': name }),
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: ++this.#id,
        method,
        params: { ...params, _meta: meta },
      }),
      ...(signal && { signal }),
    });
    const body = Buffer.from(await response.arrayBuffer());
    return { ...read<T>(body, response), status: response.status, headers: response.headers };
  }
}

export function textOf({ result }: McpAnswer): string {
  return (result?.content ?? []).map(({ text }) => text).join('\n');
}

interface Message {
  method?: string;
  params?: { progress: number; message: string };
  result?: unknown;
  error?: Fault;
}

function read<T>(body: Buffer, response: Response) {
  const type = response.headers.get('content-type') ?? '';
  const told = type.startsWith('text/event-stream')
    ? new SseParser().push(body).map(({ data }) => JSON.parse(data) as Message)
    : type === 'application/json'
      ? [JSON.parse(body.toString()) as Message]
      : [];
  const last = told.at(-1);
  return {
    bytes: body.length,
    body: body.toString(),
    result: last?.result as T | undefined,
    fault: last?.error,
    progress: told.flatMap(({ method, params }) =>
      method === 'notifications/progress' && params ? [params] : [],
    ),
  };
}

/** As much of JSON Schema as the tools use. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  additionalProperties?: boolean | Schema;
}

const typeTests: Record<string, (value: unknown) => boolean> = {
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};

/** Where a value is not what a schema says, as paths. */
export function misfits(value: unknown, schema: Schema, path = '$'): string[] {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => typeTests[type]?.(value) === true)) {
    return [`${path} is no ${types.join(' or ')}`];
  }
  if (schema.enum && !schema.enum.includes(value)) return [`${path} is none of the enum`];
  const found: string[] = [];
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items)
      value.forEach((one, i) => found.push(...misfits(one, items, `${path}[${String(i)}]`)));
  } else if (typeof value === 'object' && value !== null) {
    const members = value as Record<string, unknown>;
    for (const name of schema.required ?? []) {
      if (!(name in members)) found.push(`${path}.${name} is missing`);
    }
    for (const [name, one] of Object.entries(members)) {
      const known = schema.properties?.[name];
      if (known) found.push(...misfits(one, known, `${path}.${name}`));
      // What a schema does not tell of, an agent does not know of.
      else if (schema.properties) found.push(`${path}.${name} is not in the schema`);
    }
  }
  return found;
}

/**
 * What a result tells a program: its structured content; where there is none, what its texts tell: the
 * JSON of a state, and a log between its marks with what stands behind it.
 */
export function toldBy({ structuredContent, content }: ToolResult): Record<string, unknown> {
  if (structuredContent !== undefined) return structuredContent;
  return Object.assign({}, ...content.map(({ text }) => toldByText(text))) as Record<
    string,
    unknown
  >;
}

function toldByText(text: string): object {
  if (text.startsWith('{')) return JSON.parse(text) as object;
  const marked = /^The [\w ]+ stands between the marks (\w{12})\..*\n\[\1\n([^]*)\n\1\]\n?(.*)$/;
  const [, , log, note = ''] = marked.exec(text) ?? [];
  if (log === undefined) throw new Error(`It is neither JSON nor a log: ${text}`);
  return {
    log,
    lines: log === '' ? 0 : log.split('\n').length,
    note,
    endCursor: / after="([^"]+)" reads on\.$/.exec(note)?.[1] ?? null,
    hasNextPage: note.includes('There are newer lines'),
  };
}
