/** Owns `tools/list` and `tools/call` as fast as they come: ours, the bare library, the official SDK. */
import { isDeepStrictEqual } from 'node:util';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { HttpAnswer } from '../load/answers.ts';
import { once } from '../load/http.ts';
import type { Goal, Row } from '../model.ts';
import { startPeer } from '../peers.ts';
import { type Contender, httpRows, inTurn, type Request, startBare } from '../rounds.ts';
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

const sdk = 'official SDK';
const lowSdk = 'official SDK, low-level server';

export async function throughputRows(bench: Bench, { gangway }: McpInstance): Promise<Row[]> {
  const token = await newToken(gangway, 'fast');
  const list = listRequest(token);
  const call = callRequest('list_apps', { first: appCount }, token);
  const tools = resultOf<ToolList>(await once(gangway, list)).tools;
  const apps = resultOf(await once(gangway, call));
  const file = join(bench.tempDir(), 'served.json');
  writeFileSync(file, servedJson(token, tools, apps));
  const peers: Peers = { [sdk]: await startPeer(bench, 'mcp-sdk.ts', [file, 'high']) };
  if (!bench.quick) peers[lowSdk] = await startPeer(bench, 'mcp-sdk.ts', [file, 'low']);
  return [
    ...(await contest(bench, gangway, peers, {
      what: `tools/list, ${tools.length} tools`,
      request: list,
      goals: { bare: 0.6, sdk: 50 },
    })),
    ...(await contest(bench, gangway, peers, {
      what: `tools/call list_apps, ${appCount} apps`,
      request: call,
      bodies: varied(token),
      goals: { bare: 0.4, sdk: 15 },
    })),
  ];
}

type Peers = Record<string, Server>;

interface Contest {
  what: string;
  request: Request;
  /** Ways to ask for the same that each have to be executed. */
  bodies?: string[];
  goals: { bare: number; sdk: number };
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
  { what, request, bodies, goals }: Contest,
): Promise<Row[]> {
  const answer = await once(ours, request);
  const check = sameResult(answer);
  const contender = (server: Server): Contender => ({ server, request, check });
  const rivals = {
    bare: contender(await startBare(bench, answer)),
    ...Object.fromEntries(Object.entries(peers).map(([name, one]) => [name, contender(one)])),
  };
  const executed = bodies && { server: ours, request: { ...request, bodies }, check };
  const results = await inTurn(
    bench,
    { ours: contender(ours), ...(executed && { executed }), ...rivals },
    { warmUpSeconds: bench.pick(1, 0) },
  );
  const { executed: again, ...reused } = { executed: undefined, ...results };
  const throughput: Goal[] = [
    { against: 'bare', ratio: goals.bare },
    { against: sdk, ratio: goals.sdk },
  ];
  const all = { throughput, latency: [{ value: 15 }] };
  const heading = `${what}, ${answer.length.toLocaleString('en')} bytes`;
  if (again === undefined) return httpRows(heading, reused, all);
  return [
    ...httpRows(`${heading}, answers reused`, reused, all),
    ...httpRows(
      `${heading}, executed each time (other arguments)`,
      { ...reused, ours: again },
      all,
    ),
  ];
}

/** The same result in about as many bytes; how long it may be kept is each server's own to say. */
function sameResult(expected: Buffer): (answer: HttpAnswer) => void {
  const wanted = shownIn(expected);
  return ({ status, body }) => {
    if (status !== 200 || !isDeepStrictEqual(shownIn(body), wanted)) {
      throw new Error(`wrong answer: ${status} ${body.toString('utf8', 0, 300)}`);
    }
    if (Math.abs(body.length / expected.length - 1) > 0.03) {
      throw new Error(`an answer of ${body.length} bytes, not about ${expected.length}`);
    }
  };
}

function shownIn(body: Buffer): unknown {
  const { tools, content, structuredContent } = resultOf<Partial<ToolList & ToolResult>>(body);
  return { tools, content, structuredContent };
}
