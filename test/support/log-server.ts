/**
 * Owns a process that serves one log and says how much memory it takes; an entry point for tests
 * that measure it. It is told what to do by messages, and ends when its parent does.
 */
import { logRoutes } from '../../src/gateway/transports/logs.ts';
import type { AppRecord } from '../../src/store/records/records.ts';
import type { Reader } from '../../src/store/reader-and-journal.ts';
import { tables } from '../../src/store/records/tables.ts';
import { startGateway } from './gateway.ts';
import { LogBench, log, person } from './log-bench.ts';

export type LogServerRequest = { ask: 'flood'; lines: number } | { ask: 'memory' };
export type LogServerReply =
  { port: number } | { flooded: number } | { rssBytes: number; streams: number };

const filler = 'x'.repeat(900);
const app = {
  id: 'app_one',
  teamId: 'team_one',
  deletedAtMs: null,
  run: { live: null, next: null, draining: [] } as unknown as AppRecord['run'],
} as AppRecord;
const reader = {
  get: (from: { name: string }) => (from.name === tables.apps.name ? app : undefined),
} as unknown as Reader;

const bench = new LogBench({
  writer: { segmentBytes: 4 * 1024 * 1024 },
  sessions: { maxPerPerson: 10_000 },
});
const running = await startGateway(
  logRoutes({
    reader,
    sessions: bench.sessions,
    logMaxDays: 14,
    placeAnswers: () => Promise.resolve(true),
    authenticate: () => person(),
    authorize: () => undefined,
    refuseCrossSite: () => undefined,
  }),
);
let written = 0;

async function answer(request: LogServerRequest): Promise<LogServerReply> {
  if (request.ask === 'memory') {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 100));
    globalThis.gc?.();
    return { rssBytes: process.memoryUsage.rss(), streams: bench.sessions.size };
  }
  for (let i = 0; i < request.lines; i++) {
    bench.streams.write(log, `line ${String(++written)} ${filler}\n`);
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return { flooded: written };
}

process.on('message', (request: LogServerRequest) => {
  void answer(request).then((reply) => process.send?.(reply));
});
process.on('disconnect', () => {
  bench.remove();
  process.exit(0);
});
process.send?.({ port: running.port });
