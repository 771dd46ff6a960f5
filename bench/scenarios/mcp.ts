import type { Scenario } from '../harness.ts';
import { fleetRows } from '../mcp/fleet.ts';
import { greedyRows } from '../mcp/greedy.ts';
import { startMcp, unlimited } from '../mcp/instance.ts';
import { throughputRows } from '../mcp/throughput.ts';

export const scenario: Scenario = {
  title:
    'MCP at 50 connections against bare uWebSockets.js and the official SDK; a fleet; one greedy',
  async run(bench) {
    const instance = await startMcp(bench, unlimited, 5_000);
    return [
      ...(await throughputRows(bench, instance)),
      ...(await fleetRows(bench, instance)),
      ...(await greedyRows(bench, instance)),
    ];
  },
};
