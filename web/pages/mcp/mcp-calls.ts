/** Owns calling MCP with a token, as a client does, and saying a refusal in plain words. */
import { mcpPath } from '../../../src/protocol/mcp-address.ts';

/** Its message is for people. */
export class McpRefused extends Error {}

interface Caller {
  path: string;
  /** For `X-Service-Team`; null: the token's own. */
  team: string | null;
  token: string;
}

/** Sentences. Throws McpRefused. */
export async function whatTokenReaches(caller: Caller): Promise<string[]> {
  const tools = await toolsOf(caller);
  const teams = await teamsOf(caller);
  return [
    `Connected: ${counted(tools.length, 'tool')}, ${counted(teams.length, 'team')}.`,
    `Teams: ${teams.join(', ') || 'none'}.`,
    `Tools: ${tools.join(', ') || 'none'}.`,
  ];
}

const toolsMax = 1_000;

async function toolsOf(caller: Caller): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const result = await call<{ tools: { name: string }[]; nextCursor?: string }>(
      ...([caller, 'tools/list', params] as const),
    );
    names.push(...result.tools.map(({ name }) => name));
    cursor = result.nextCursor;
  } while (cursor !== undefined && names.length < toolsMax);
  return names;
}

interface ToolAnswer {
  isError?: boolean;
  content?: { text?: string }[];
  structuredContent?: Record<string, unknown>;
}

async function teamsOf(caller: Caller): Promise<string[]> {
  const params = { name: 'list_teams', arguments: {} };
  const answer = await call<ToolAnswer>({ ...caller, path: mcpPath }, 'tools/call', params);
  if (answer.isError === true) {
    throw new McpRefused(answer.content?.[0]?.text ?? 'list_teams failed.');
  }
  const found = Object.values(answer.structuredContent ?? {}).find(Array.isArray) ?? [];
  return (found as { name: string }[]).map(({ name }) => name);
}

async function call<Result>(
  { path, team, token }: Caller,
  method: string,
  params: object,
): Promise<Result> {
  const response = await fetch(path, {
    method: 'POST',
    // MCP takes tokens alone. Without the cookie the page sees what a client will see.
    credentials: 'omit',
    redirect: 'error',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      ...(team !== null && { 'x-service-team': team }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const body = await bodyOf(response);
  if (response.ok && body?.result !== undefined) return body.result as Result;
  throw new McpRefused(refusalOf(response, body));
}

interface Body {
  result?: unknown;
  error?: { message?: string };
  detail?: string;
  code?: string;
}

/** Null where it is no JSON, such as a proxy's page. */
async function bodyOf(response: Response): Promise<Body | null> {
  try {
    return (await response.json()) as Body;
  } catch {
    return null;
  }
}

const hints: Readonly<Record<number, string>> = {
  401: 'The token is unknown, expired or revoked, or a character of it is missing.',
  403: 'The token is good, but MCP is not open to it here.',
  404: 'This address does not serve MCP: is something in front of it?',
  429: 'Too many calls.',
  503: 'The service is busy or stopping.',
};

function refusalOf({ status, headers }: Response, body: Body | null): string {
  const crossSite = body?.code === 'CROSS_SITE';
  const hint = crossSite ? 'Open this page at the public address above.' : hints[status];
  const said = body?.error?.message ?? body?.detail;
  const wait = headers.get('retry-after');
  return [
    `Status ${String(status)}.`,
    hint,
    said && `Gangway says: ${said}`,
    wait && `Try again in ${wait} seconds.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function counted(count: number, word: string): string {
  return `${String(count)} ${word}${count === 1 ? '' : 's'}`;
}
