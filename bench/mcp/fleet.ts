/** Owns the fleet: many agents, each all the time at the very rate that a token is given. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Row, Server } from '../harness.ts';
import { usageOf } from '../harness.ts';
import { ask } from '../load/requests.ts';
import type { Paced, PacedCall, PacedResult } from '../load/paced.ts';
import type { Request } from '../rounds.ts';
import {
  appCount,
  callRequest,
  listRequest,
  type McpInstance,
  newToken,
  newTokens,
  resultOf,
} from './instance.ts';

const agents = 200;
/** What `mcpCallsPerMinute` is by default. */
const callsPerMinute = 120;

export async function fleetRows(bench: Bench, { gangway, appIds }: McpInstance): Promise<Row[]> {
  const callers = await newTokens(gangway, 'agent', agents);
  const spare = await newToken(gangway, 'looks first');
  const [appId] = appIds;
  const calls = [
    await pacedCall(gangway, callRequest('list_apps', { first: appCount }), 6, spare),
    await pacedCall(gangway, callRequest('get_app', { appId }), 2, spare),
    await pacedCall(gangway, callRequest('read_logs', { appId }), 1, spare, true),
    await pacedCall(gangway, listRequest(), 1, spare),
  ];
  const perSecond = (agents * callsPerMinute) / 60;
  const load = { port: gangway.port, perSecond, callers, calls };
  await paced(bench, { ...load, seconds: bench.pick(5, 1) });
  const before = usageOf(gangway.pid).cpuUs;
  const took = await paced(bench, { ...load, seconds: bench.pick(20, 2) });
  const cores = (usageOf(gangway.pid).cpuUs - before) / 1e6 / took.seconds;
  const plain = { against: null, ratio: null };
  const what = `${agents} agents, ${callsPerMinute} calls a minute each`;
  return [
    { what: `${what}: CPU of the server`, ours: cores, unit: 'cores', goal: '< 0.5', ...plain },
    { what: '  latency, median', ours: took.p50Ms, unit: 'ms', goal: '', ...plain },
    { what: '  latency, 99th percentile', ours: took.p99Ms, unit: 'ms', goal: '< 15', ...plain },
  ];
}

/** A call with the answer that is right now, which must stay so: nothing changes under a load. */
export async function pacedCall(
  server: Server,
  request: Request,
  share: number,
  authorization: string,
  varies = false,
): Promise<PacedCall> {
  const headers = { ...request.headers, authorization };
  const { status, body } = await ask(server.port, { ...request, headers });
  if (status !== 200) throw new Error(`${request.path} answered ${status}: ${body.toString()}`);
  resultOf(body);
  return { request, share, expected: body.toString(), varies };
}

export async function paced(bench: Bench, load: Paced): Promise<PacedResult> {
  const file = join(bench.tempDir(), 'paced.json');
  writeFileSync(file, JSON.stringify(load));
  return await bench.load('bench/load/paced.ts', { file });
}
