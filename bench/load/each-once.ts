/**
 * Sends each of many requests once, over some connections that each wait for an answer before they ask
 * again; or as many of them as there is time for. Argument: a file that holds `EachOnce`; the last line
 * printed is `EachOnceResult`, as JSON. Every answer must be a 200; what was answered is written to a
 * file, in the order of the requests.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { LatencyMs } from '../model.ts';
import { AnswerReader } from './answers.ts';
import { Histogram } from './histogram.ts';
import { standBack } from './promptness.ts';
import { requestBytes } from './requests.ts';
import type { RequestParts } from './requests.ts';

export interface EachOnce {
  port: number;
  connections: number;
  requests: RequestParts[];
  /** After so long none but the first of each connection is sent; default: all are. */
  seconds?: number;
  /** It only makes work, beside which something else is measured. */
  beside?: boolean;
  /** All are answered with the same bytes, or it fails: only the first is kept. */
  alike?: boolean;
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
const answers = new Map<number, Buffer>();
let first: Buffer | null = null;
const histogram = new Histogram();
let next = 0;
if (load.beside === true) standBack();

const sockets = await Promise.all(Array.from({ length: load.connections }, opened));
const startMs = performance.now();
const endMs = startMs + (load.seconds ?? Infinity) * 1000;
await Promise.all(sockets.map(drive));
const seconds = (performance.now() - startMs) / 1000;
for (const socket of sockets) socket.destroy();
const texts = Array.from(answers.keys())
  .sort((a, b) => a - b)
  .map((at) => answers.get(at)?.toString());
writeFileSync(load.answersFile, JSON.stringify(texts));
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
      // Who gets no core for a while begins late, but begins.
      const request = at < 0 || sentMs < endMs ? requests[next] : undefined;
      at = next++;
      if (request === undefined) {
        resolve();
        return;
      }
      socket.write(request);
    };
    socket.on('data', (chunk) => {
      for (const { status, body } of reader.push(chunk)) {
        histogram.record(performance.now() - sentMs);
        if (!keep(at, status, body)) {
          reject(new Error(`wrong answer: ${status} ${body.toString('utf8', 0, 300)}`));
          return;
        }
        send();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('a connection was closed')));
    send();
  });
}

/** Whether the answer is one to keep, or like the one that is kept. */
function keep(at: number, status: number, body: Buffer): boolean {
  if (status !== 200) return false;
  if (load.alike === true && first !== null) return body.equals(first);
  first = Buffer.from(body);
  answers.set(at, first);
  return true;
}
