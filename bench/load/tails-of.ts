/** Owns asking for log tails from a scenario: their paths, and the load program that reads them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gangway, Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { LogTails, LogTailsResult } from './log-tails.ts';

/** Where the log of an app is followed; from its end on where `tail` is 0. */
export function logPath(appId: string, tail = 0): string {
  return `/api/apps/${appId}/logs?tail=${tail}`;
}

/** Reads tails to the end of `load`. Rejects where a line is lost, comes twice, or none comes. */
export async function readTails(
  bench: Bench,
  server: Server | Gangway,
  load: Omit<LogTails, 'port' | 'headers'>,
): Promise<LogTailsResult> {
  const headers = 'cookie' in server ? { Cookie: server.cookie } : {};
  const file = join(bench.tempDir(), 'tails.json');
  writeFileSync(file, JSON.stringify({ port: server.port, headers, ...load } satisfies LogTails));
  const timeoutMs = (load.seconds + load.warmUpSeconds) * 1000 + 240_000;
  return await bench.load<LogTailsResult>('bench/load/log-tails.ts', { file }, { timeoutMs });
}
