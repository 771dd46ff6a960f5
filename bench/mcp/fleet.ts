/** Owns the fleet: many agents, each all the time at the very rate that a token is given. */
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import { once } from '../load/http.ts';
import { openLoop } from '../load/open-loop.ts';
import type { PacedCall } from '../load/paced.ts';
import { type LatencyMs, type Row, row } from '../model.ts';
import { middles, type Request } from '../rounds.ts';
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
  const load = { perSecond, callers, calls };
  await openLoop(bench, gangway, { ...load, seconds: bench.pick(3, 1) });
  const cores: number[] = [];
  const latencies: LatencyMs[] = [];
  await bench.eachRound(3, async () => {
    const seconds = bench.pick(4, 2);
    const { cpuUs, latency } = await openLoop(bench, gangway, { ...load, seconds });
    cores.push((cpuUs * perSecond) / 1e6);
    latencies.push(latency);
  });
  const group = `${agents} agents, ${callsPerMinute} calls a minute each`;
  const note = 'open loop';
  return [
    row({
      group,
      what: 'CPU of the server',
      unit: 'cores',
      better: 'lower',
      rounds: { ours: cores },
      goals: [{ value: 0.5 }],
      note,
    }),
    row({
      group,
      what: 'latency, 99th percentile',
      unit: 'ms',
      better: 'lower',
      rounds: { ours: latencies.map(({ p99 }) => p99) },
      percentiles: middles({ ours: latencies }),
      goals: [{ value: 15 }],
      note,
    }),
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
  const body = await once(server, { ...request, headers });
  resultOf(body);
  return { request, share, expected: body.toString(), varies };
}
