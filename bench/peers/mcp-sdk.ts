/**
 * The official MCP SDK's server, stateless over HTTP: one handler with a fresh server each request,
 * plain node:http in front, the SDK's own check of the bearer token. What can be made once is made
 * once: schemas, their validators and the tools' answers, so that what is measured is the SDK alone.
 *
 * Arguments: a file that says what to serve, as JSON; then `high` for `McpServer`, which its
 * documentation recommends, or `low` for the `Server` below it, which checks no arguments.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth,
  Server,
} from '@modelcontextprotocol/server';
import type {
  AuthInfo,
  CallToolResult,
  JsonSchemaType,
  ToolAnnotations,
} from '@modelcontextprotocol/server';

interface Served {
  token: string;
  serverInfo: { name: string; version: string };
  tools: {
    name: string;
    description: string;
    inputSchema: JsonSchemaType & { type: 'object' };
    outputSchema?: JsonSchemaType & { type: 'object' };
    annotations?: ToolAnnotations;
  }[];
  /** By the tool's name; a tool without one answers with nothing. */
  results: Record<string, CallToolResult>;
}

const [file = '', level = 'high'] = process.argv.slice(2);
const served = JSON.parse(readFileSync(file, 'utf8')) as Served;
const { serverInfo, tools, results } = served;

const handler = createMcpHandler(level === 'low' ? lowServer : highServer());
const known = new Map<string, AuthInfo>([
  [
    served.token,
    { token: served.token, clientId: 'bench', scopes: [], expiresAt: Date.now() / 1000 + 86_400 },
  ],
]);
const gate = requireBearerAuth({
  verifier: {
    verifyAccessToken: async (token) => {
      const info = known.get(token);
      if (info === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, 'Unknown token');
      return info;
    },
  },
});

const http = createServer(
  toNodeHandler({
    fetch: async (request) => {
      const authInfo = await gate(request);
      return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo });
    },
  }),
).listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (http.address() as AddressInfo).port }));
});

function highServer(): () => McpServer {
  const ready = tools.map(({ name, inputSchema, outputSchema, ...config }) => ({
    name,
    config: {
      ...config,
      inputSchema: fromJsonSchema(inputSchema),
      ...(outputSchema && { outputSchema: fromJsonSchema(outputSchema) }),
    },
    result: resultOf(name),
  }));
  return () => {
    const server = new McpServer(serverInfo);
    for (const { name, config, result } of ready) server.registerTool(name, config, () => result);
    return server;
  };
}

function lowServer(): Server {
  const server = new Server(serverInfo, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }) => resultOf(params.name));
  return server;
}

function resultOf(name: string): CallToolResult {
  return results[name] ?? { content: [] };
}
