/**
 * Sends each of many requests once, over some connections that each wait for an answer before they ask
 * again; or as many of them as there is time for. Argument: a file that holds `EachOnce`; the last line printed is `EachOnceResult`, as JSON.
 * Every answer must be a 200; what was answered is written to a file, in the order of the requests.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { LatencyMs } from '../model.ts';
import { AnswerReader } from './answers.ts';
import { Histogram } from './histogram.ts';
import { requestBytes } from './requests.ts';
import type { RequestParts } from './requests.ts';

export interface EachOnce {
  port: number;
  connections: number;
  requests: RequestParts[];
  /** After so long no further one is sent; default: all are. */
  seconds?: number;
  /** A JSON list of the bodies that were answered. */
  answersFile: string;
}

export interface EachOnceResult {
  calls: number;
  seconds: number;
  latency: LatencyMs;
}

const { file } = JSON.parse(process.argv[2] ?? '{}') as { file: string };
const load = JSON.parse(readFileSync(file, 'utf8')) as EachOnce;
const requests = load.requests.map(requestBytes);
const answers = requests.map(() => '');
const histogram = new Histogram();
let next = 0;

const sockets = await Promise.all(Array.from({ length: load.connections }, opened));
const startMs = performance.now();
const endMs = startMs + (load.seconds ?? Infinity) * 1000;
await Promise.all(sockets.map(drive));
const seconds = (performance.now() - startMs) / 1000;
for (const socket of sockets) socket.destroy();
writeFileSync(load.answersFile, JSON.stringify(answers.slice(0, histogram.count)));
const result: EachOnceResult = {
  calls: histogram.count,
  seconds,
  latency: histogram.percentiles(),
};
console.log(JSON.stringify(result));

async function opened(): Promise<Socket> {
  const socket = connect(load.port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  return socket;
}

function drive(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const reader = new AnswerReader();
    let at = -1;
    let sentMs = 0;
    const send = (): void => {
      sentMs = performance.now();
      const request = sentMs < endMs ? requests[next] : undefined;
      at = next++;
      if (request === undefined) {
        resolve();
        return;
      }
      socket.write(request);
    };
    socket.on('data', (chunk) => {
      for (const { status, body } of reader.push(chunk)) {
        const text = body.toString();
        if (status !== 200) reject(new Error(`wrong answer: ${status} ${text.slice(0, 300)}`));
        histogram.record(performance.now() - sentMs);
        answers[at] = text;
        send();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('a connection was closed')));
    send();
  });
}
