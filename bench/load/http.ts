/**
 * Owns HTTP load: `wrk` where it is installed, else sockets of our own that send one request after
 * the other and read whole answers. Every answer must be a 200, and as long as it should be where
 * that is known: a refusal that comes as a 200 is no figure.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Server } from '../harness.ts';
import { usageOf } from '../harness.ts';
import { ask } from './requests.ts';

export interface HttpLoad {
  path: string;
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Sent in turn instead of `body`. */
  bodies?: readonly string[];
  /** Of one answer, head and body. */
  answerBytes?: number;
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
  const { requests, seconds, p99Ms, bytes, errors } = hasWrk()
    ? await wrk(bench, server, load)
    : await sockets(bench, server, load);
  if (errors > 0 || requests === 0) {
    throw new Error(`${errors} of ${requests} answers of ${server.url} were wrong`);
  }
  const { answerBytes } = load;
  // At the end of a round some answers are cut off.
  if (answerBytes !== undefined && Math.abs(bytes / requests / answerBytes - 1) > 0.05) {
    const mean = Math.round(bytes / requests);
    throw new Error(`answers of ${server.url} had ${mean} bytes on average, not ${answerBytes}`);
  }
  const cpuUs = (usageOf(server.pid).cpuUs - before) / requests;
  return { requestsPerS: requests / seconds, p99Ms, cpuUs };
}

interface RawResult {
  requests: number;
  seconds: number;
  p99Ms: number;
  bytes: number;
  errors: number;
}

async function sockets(bench: Bench, server: Server, load: HttpLoad): Promise<RawResult> {
  const { bodies, ...rest } = load;
  // Many bodies are longer than an argument of a program may be.
  const bodiesFile = bodies && join(bench.tempDir(), 'bodies.json');
  if (bodiesFile !== undefined) writeFileSync(bodiesFile, JSON.stringify(bodies));
  return await bench.load('bench/load/sockets.ts', { port: server.port, bodiesFile, ...rest });
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
${load.bodies === undefined ? '' : inTurn(load.bodies)}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"seconds":%f,"p99Ms":%f,"bytes":%d,"errors":%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(99) / 1000, summary.bytes,
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

/** Requests are made before the load starts: making one takes longer than to send it. */
function inTurn(bodies: readonly string[]): string {
  return `local requests, sent = {}, 0
init = function()
  for i, body in ipairs({${bodies.map(lua).join(',\n')}}) do
    requests[i] = wrk.format(nil, nil, nil, body)
  end
end
request = function()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end`;
}

function lua(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** Asks once and returns the bytes: what every round must answer. */
export async function once(
  server: Server,
  load: Omit<HttpLoad, 'connections' | 'seconds'>,
): Promise<Buffer> {
  const { status, body } = await ask(server.port, load);
  if (status !== 200) {
    throw new Error(`${load.path} answered ${status}: ${body.toString().slice(0, 200)}`);
  }
  return Buffer.from(body);
}
