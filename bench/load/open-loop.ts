/**
 * Owns open-loop load: every request is sent when it is due, whatever became of the earlier ones. So a
 * server that stops for a while is charged for every request that waited (no coordinated omission).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { LatencyMs } from '../model.ts';
import { usageOf } from '../processes.ts';
import type { Paced, PacedResult } from './paced.ts';

export type OpenLoad = Omit<Paced, 'port'>;

export interface OpenResult {
  calls: number;
  seconds: number;
  latency: LatencyMs;
  /** How late the load itself was, which is in no latency. */
  late: LatencyMs;
  /** CPU of the server a request, in microseconds. */
  cpuUs: number;
}

/** Every answer must be a 200 with the body that was expected, or this throws. */
export async function openLoop(bench: Bench, server: Server, load: OpenLoad): Promise<OpenResult> {
  const file = join(bench.tempDir(), 'paced.json');
  writeFileSync(file, JSON.stringify({ port: server.port, ...load } satisfies Paced));
  const before = usageOf(server.pid).cpuUs;
  const timeoutMs = load.seconds * 1000 + 60_000;
  const result = await bench.load<PacedResult>('bench/load/paced.ts', { file }, { timeoutMs });
  const cpuUs = (usageOf(server.pid).cpuUs - before) / result.calls;
  return { ...result, cpuUs };
}

/** Timers are no finer, and later than that is worth a word. */
const lateMs = 3;

/** How figures of it came about; how late the load was, where it was. */
export function openLoopNote(late: readonly LatencyMs[]): string {
  const worst = Math.max(0, ...late.map(({ p99 }) => p99));
  if (worst <= lateMs) return 'open loop';
  return `open loop; the load itself came up to ${worst.toFixed(1)} ms late, which is not counted`;
}
