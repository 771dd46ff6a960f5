/** Owns a Gangway with MCP on, its apps and tokens, and requests of the MCP as agents send them. */
import { capabilities } from '../../src/lib/capabilities.ts';
import { deployFiles } from '../deploy.ts';
import type { Gangway } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { Request } from '../rounds.ts';

export interface McpInstance {
  gangway: Gangway;
  /** As many as all scenarios list: the first of them runs where `lines` were asked for. */
  appIds: string[];
}

export const appCount = 20;

/** As good as none: what is measured is what an answer costs, not who waits for whom. */
export const unlimited = {
  GANGWAY_MCP_CALLS_PER_MINUTE: '1000000000',
  GANGWAY_MCP_CALLS_AT_ONCE: '10000',
};

/** `lines`: how many long ones the first app prints when it starts; without them none is deployed. */
export async function startMcp(
  bench: Bench,
  env: Readonly<Record<string, string>>,
  lines = 0,
): Promise<McpInstance> {
  const gangway = await bench.startGangway(env);
  await gangway.graphql(`mutation { setMcpSettings(enabled: true) { enabled } }`);
  const appIds: string[] = [];
  for (let i = 0; i < appCount; i++) {
    const { createApp } = await gangway.graphql<{ createApp: { id: string } }>(
      `mutation ($name: String!) { createApp(input: {name: $name, source: UPLOAD}) { id } }`,
      { name: `Bench app ${i}` },
    );
    appIds.push(createApp.id);
  }
  const [first] = appIds;
  if (lines > 0 && first !== undefined) await deployFiles(bench, gangway, first, printer(lines));
  return { gangway, appIds };
}

/** Long lines, and behind them as many of the usual length as a tail shows. */
function printer(lines: number): Record<string, string> {
  const program = `
for (let i = 0; i < ${lines}; i++) console.log('long ' + i + ' ' + 'x'.repeat(820));
for (let i = 0; i < 200; i++) console.log('request ' + i + ' GET /some/path/of/the/app 200');
require('node:http').createServer((q, r) => r.end('ok')).listen(process.env.PORT);
`;
  return { Procfile: 'web: node app.js\n', 'app.js': program };
}

/** The `Authorization` of a new token with every capability, so that it is shown every tool. */
export async function newToken(gangway: Gangway, name: string): Promise<string> {
  const { createToken } = await gangway.graphql<{ createToken: { secret: string } }>(
    `mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret } }`,
    { input: { name, capabilities } },
  );
  return `Bearer ${createToken.secret}`;
}

/** The same for many at once. */
export async function newTokens(gangway: Gangway, name: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `${name} ${i}`);
  return await Promise.all(names.map((one) => newToken(gangway, one)));
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export function listRequest(authorization?: string): Request {
  return mcpRequest('tools/list', {}, {}, authorization);
}

export function callRequest(name: string, args: object, authorization?: string): Request {
  return mcpRequest('tools/call', { name, arguments: args }, { 'mcp-name': name }, authorization);
}

function mcpRequest(
  method: string,
  params: object,
  headers: Readonly<Record<string, string>>,
  authorization: string | undefined,
): Request {
  return {
    path: '/api/mcp',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...headers,
      ...(authorization !== undefined && { authorization }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  };
}

export interface ToolResult {
  content: { type: string; text: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** The result that a body holds; throws where it is an error, or the result of a failed tool. */
export function resultOf<T = ToolResult>(body: Buffer): T {
  const { result } = JSON.parse(body.toString()) as { result?: T & { isError?: boolean } };
  if (result === undefined || result.isError === true) {
    throw new Error(`no result: ${body.toString().slice(0, 400)}`);
  }
  return result;
}
