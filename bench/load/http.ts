/**
 * Owns HTTP load: `wrk` where it is installed, else sockets of our own that send one request after
 * the other and read whole answers by Content-Length. Every answer must be a 200.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Server } from '../harness.ts';
import { usageOf } from '../harness.ts';

export interface HttpLoad {
  path: string;
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
  connections: number;
  seconds: number;
}

export interface HttpResult {
  requestsPerS: number;
  p99Ms: number;
  /** CPU of the server a request, in microseconds. */
  cpuUs: number;
}

/** One round of load on one server. Throws when any answer was not a 200. */
export async function httpLoad(bench: Bench, server: Server, load: HttpLoad): Promise<HttpResult> {
  const before = usageOf(server.pid).cpuUs;
  const { requests, seconds, p99Ms, errors } = hasWrk()
    ? await wrk(bench, server, load)
    : await bench.load<RawResult>('bench/load/sockets.ts', { port: server.port, ...load });
  if (errors > 0) throw new Error(`${errors} of ${requests} answers of ${server.url} were wrong`);
  const cpuUs = (usageOf(server.pid).cpuUs - before) / requests;
  return { requestsPerS: requests / seconds, p99Ms, cpuUs };
}

interface RawResult {
  requests: number;
  seconds: number;
  p99Ms: number;
  errors: number;
}

function hasWrk(): boolean {
  return spawnSync('wrk', ['-v']).error === undefined;
}

async function wrk(bench: Bench, server: Server, load: HttpLoad): Promise<RawResult> {
  const script = join(bench.tempDir(), 'load.lua');
  const headers = Object.entries(load.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`,
  );
  writeFileSync(
    script,
    `wrk.method = ${lua(load.method ?? 'GET')}
${headers.join('\n')}
${load.body === undefined ? '' : `wrk.body = ${lua(load.body)}`}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"seconds":%f,"p99Ms":%f,"errors":%d}\\n', summary.requests,
    summary.duration / 1e6, latency:percentile(99) / 1000,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`,
  );
  return await bench.load<RawResult>('bench/load/wrk.ts', {
    args: [
      '-t1',
      `-c${load.connections}`,
      `-d${load.seconds}s`,
      '-s',
      script,
      server.url + load.path,
    ],
  });
}

function lua(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** Fetches once and returns status and bytes: what every round must answer. */
export async function once(server: Server, load: HttpLoad): Promise<Buffer> {
  const response = await fetch(server.url + load.path, {
    method: load.method ?? 'GET',
    ...(load.headers && { headers: load.headers }),
    ...(load.body !== undefined && { body: load.body }),
  });
  if (response.status !== 200) throw new Error(`${load.path} answered ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}
