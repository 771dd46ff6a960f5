/**
 * Owns closed-loop HTTP load, each connection asking again when it was answered: from `wrk`, else
 * `oha`, where they are installed, else from sockets of our own. Every answer must be a 200, and as
 * long as it should be where that is known: a refusal that comes as a 200 is no figure.
 */
import type { HttpLoad, RawResult } from './http-load.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import { loadProgram } from '../machine.ts';
import type { LatencyMs } from '../model.ts';
import { usageOf } from '../processes.ts';
import { oha } from './oha.ts';
import { ask } from './requests.ts';
import { wrk } from './wrk.ts';

export interface HttpResult {
  requestsPerS: number;
  latency: LatencyMs;
  /** CPU of the server a request, in microseconds. */
  cpuUs: number;
}

/** By then a server that has not answered once is broken. */
const longestSeconds = 16;

/**
 * One round of load on one server. On a busy machine the first answers may take longer than the round, which is
 * then done again and lasts longer. Throws when any answer was wrong.
 */
export async function httpLoad(bench: Bench, server: Server, load: HttpLoad): Promise<HttpResult> {
  const before = usageOf(server.pid).cpuUs;
  const { requests, seconds, latency, bytes, errors } = await raw(bench, server, load);
  // Slow, and not broken.
  if (requests + errors === 0 && load.seconds < longestSeconds) {
    return await httpLoad(bench, server, { ...load, seconds: load.seconds * 2 });
  }
  if (requests === 0) throw new Error(`${server.url} answered nothing under load`);
  if (errors > 0) {
    throw new Error(`${errors} of ${requests} answers of ${server.url} were wrong or never came`);
  }
  const { answerBytes, connections } = load;
  // At the end of a round answers are cut off: of each connection one, whose bytes may count.
  const isAbout = (size: number): boolean =>
    bytes >= requests * size * 0.95 && bytes <= (requests + connections) * size * 1.05;
  if (answerBytes !== undefined && !isAbout(answerBytes)) {
    const mean = Math.round(bytes / requests);
    throw new Error(`answers of ${server.url} had ${mean} bytes on average, not ${answerBytes}`);
  }
  const cpuUs = (usageOf(server.pid).cpuUs - before) / requests;
  return { requestsPerS: requests / seconds, latency, cpuUs };
}

async function raw(bench: Bench, server: Server, load: HttpLoad): Promise<RawResult> {
  const program = loadProgram();
  if (program === 'wrk') return await wrk(bench, server, load);
  // It sends one body only.
  if (program === 'oha' && load.bodies === undefined) return await oha(bench, server, load);
  return await sockets(bench, server, load);
}

async function sockets(bench: Bench, server: Server, load: HttpLoad): Promise<RawResult> {
  const { bodies, ...rest } = load;
  // Many bodies are longer than an argument of a program may be.
  const bodiesFile = bodies && join(bench.tempDir(), 'bodies.json');
  if (bodiesFile !== undefined) writeFileSync(bodiesFile, JSON.stringify(bodies));
  return await bench.load('bench/load/sockets.ts', { port: server.port, bodiesFile, ...rest });
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
