/** Owns sending a list of different requests from a scenario, each once. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import { usageOf } from '../processes.ts';
import type { EachOnce, EachOnceResult } from './each-once.ts';
import type { RequestParts } from './requests.ts';

export interface CallsResult extends EachOnceResult {
  /** Bodies, in the order of the requests. */
  answers: string[];
  /** CPU of the server a request, in microseconds. */
  cpuUs: number;
}

export type CallsOptions = Pick<EachOnce, 'seconds' | 'alike' | 'beside'>;

/**
 * Rejects where any answer is not a 200. With `seconds` it sends those of the first that it has time for;
 * where all are `alike`, the answers are one.
 */
export async function sendEach(
  bench: Bench,
  server: Server,
  requests: RequestParts[],
  connections: number,
  options: CallsOptions = {},
): Promise<CallsResult> {
  const dir = bench.tempDir();
  const [file, answersFile] = [join(dir, 'calls.json'), join(dir, 'answers.json')];
  const load: EachOnce = { port: server.port, connections, requests, answersFile, ...options };
  writeFileSync(file, JSON.stringify(load));
  const before = usageOf(server.pid).cpuUs;
  const result = await bench.load<EachOnceResult>('bench/load/each-once.ts', { file });
  const cpuUs = (usageOf(server.pid).cpuUs - before) / result.calls;
  return { ...result, cpuUs, answers: JSON.parse(readFileSync(answersFile, 'utf8')) as string[] };
}
