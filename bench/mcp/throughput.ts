/** Owns `tools/list` and `tools/call` as fast as they come: ours, the bare library, the official SDK. */
import { isDeepStrictEqual } from 'node:util';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Row, Server } from '../harness.ts';
import type { HttpResult } from '../load/http.ts';
import { ask } from '../load/requests.ts';
import { startPeer } from '../peers.ts';
import { compareBy, type Contender, inTurn, type Request, startBare } from '../rounds.ts';
import {
  appCount,
  callRequest,
  listRequest,
  type McpInstance,
  newToken,
  resultOf,
  type ToolResult,
} from './instance.ts';

interface ToolList {
  tools: { name: string }[];
}

interface Goals {
  bare: string;
  sdk: string;
}

interface Results extends Record<'ours' | 'bare' | 'sdk', HttpResult[]> {
  executed?: HttpResult[];
  low?: HttpResult[];
}

export async function throughputRows(bench: Bench, { gangway }: McpInstance): Promise<Row[]> {
  const token = await newToken(gangway, 'fast');
  const list = listRequest(token);
  const call = callRequest('list_apps', { first: appCount }, token);
  const tools = resultOf<ToolList>(await bodyOf(gangway, list)).tools;
  const apps = resultOf(await bodyOf(gangway, call));
  const file = join(bench.tempDir(), 'served.json');
  writeFileSync(file, servedJson(token, tools, apps));
  const peers: Peers = { sdk: await startPeer(bench, 'mcp-sdk.ts', [file, 'high']) };
  if (!bench.quick) peers.low = await startPeer(bench, 'mcp-sdk.ts', [file, 'low']);
  const listed = await contest(bench, gangway, peers, { request: list });
  const called = await contest(bench, gangway, peers, { request: call, varied: varied(token) });
  return [
    ...rowsOf(`tools/list, ${tools.length} tools`, listed, { bare: '>= 0.5', sdk: '>= 40' }),
    ...rowsOf(`list_apps, ${appCount} apps`, called, { bare: '>= 0.3', sdk: '>= 10' }),
  ];
}

interface Peers {
  sdk: Server;
  low?: Server;
}

async function bodyOf(server: Server, request: Request): Promise<Buffer> {
  const { status, body } = await ask(server.port, request);
  if (status !== 200) throw new Error(`${request.path} answered ${status}: ${body.toString()}`);
  return body;
}

function servedJson(token: string, tools: ToolList['tools'], apps: ToolResult): string {
  return JSON.stringify({
    token: token.replace('Bearer ', ''),
    serverInfo: { name: 'gangway', version: '0.1.0' },
    tools,
    results: { list_apps: apps },
  });
}

/**
 * The same 20 apps asked for in so many ways that no answer is still kept when its request comes
 * again: other page sizes, and what all names share in other cases of letters.
 */
function varied(token: string): string[] {
  const shared = 'bench app';
  const searches = Array.from({ length: 2 ** 8 }, (_, bits) =>
    Array.from(shared, (letter, i) => ((bits >> i) & 1 ? letter.toUpperCase() : letter)).join(''),
  );
  const sizes = Array.from({ length: 20 }, (_, i) => appCount + i);
  return [...new Set(searches)].flatMap((search) =>
    sizes.map((first) => callRequest('list_apps', { first, search }, token).body ?? ''),
  );
}

async function contest(
  bench: Bench,
  ours: Server,
  peers: Peers,
  { request, varied: bodies }: { request: Request; varied?: string[] },
): Promise<Measured> {
  const answer = await bodyOf(ours, request);
  const contenders = {
    ours: await contender(ours, request, answer),
    ...(bodies && { executed: await contender(ours, { ...request, bodies }, answer) }),
    bare: await contender(await startBare(bench, answer), request, answer),
    sdk: await contender(peers.sdk, request, answer),
    ...(peers.low && { low: await contender(peers.low, request, answer) }),
  };
  const results: Results = await inTurn(bench, contenders, bench.pick(1, 0));
  for (const { server } of Object.values(contenders)) await contender(server, request, answer);
  return { results, bytes: answer.length };
}

interface Measured {
  results: Results;
  bytes: number;
}

/** Who answers as it should: the same result, in about as many bytes. */
async function contender(server: Server, request: Request, answer: Buffer): Promise<Contender> {
  const expected = resultOf<object>(answer);
  for (const body of [request.body, request.bodies?.at(0), request.bodies?.at(-1)]) {
    if (body === undefined) continue;
    const came = await ask(server.port, { ...request, body });
    if (came.status !== 200 || !isSame(resultOf<object>(came.body), expected)) {
      throw new Error(`${server.url} answered ${came.status}: ${came.body.toString()}`);
    }
    if (Math.abs(came.body.length / answer.length - 1) > 0.03) {
      throw new Error(`${server.url} sent ${came.body.length} bytes, not ${answer.length}`);
    }
  }
  const { bytes } = await ask(server.port, request);
  return { server, request: { ...request, answerBytes: bytes } };
}

/** What an answer is there for; how long it may be kept is each server's own to say. */
function isSame(one: object, other: object): boolean {
  const [mine, theirs] = [one, other].map((result) => {
    const { tools, content, structuredContent } = result as Partial<ToolList & ToolResult>;
    return { tools, content, structuredContent };
  });
  return isDeepStrictEqual(mine, theirs);
}

function rowsOf(what: string, { results, bytes }: Measured, goals: Goals): Row[] {
  const { ours, executed, bare, sdk, low } = results;
  const reuse = executed === undefined ? '' : ', answers reused';
  const part = (name: string, mine: HttpResult[], goal: Goals): Row[] => [
    compareBy(
      `${name}: against bare uWebSockets.js`,
      'req/s',
      goal.bare,
      'requestsPerS',
      mine,
      bare,
    ),
    compareBy('  against the official SDK', 'req/s', goal.sdk, 'requestsPerS', mine, sdk),
    ...(low === undefined
      ? []
      : [compareBy('  against its low-level server', 'req/s', '', 'requestsPerS', mine, low)]),
    compareBy('  latency, 99th percentile', 'ms', '< 15 ms', 'p99Ms', mine, bare),
    compareBy('  CPU of the server', 'us/req', '', 'cpuUs', mine, bare),
  ];
  return [
    ...part(`${what}, ${bytes} bytes${reuse}`, ours, goals),
    ...(executed === undefined
      ? []
      : part(`${what}, executed each time (other arguments)`, executed, goals)),
  ];
}
