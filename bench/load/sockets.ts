/** HTTP load from plain sockets, for machines without wrk: one request in flight a connection. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { AnswerReader } from './answers.ts';
import { Histogram } from './histogram.ts';
import { requestBytes } from './requests.ts';

interface Load {
  port: number;
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** A JSON list of bodies that are sent in turn instead. */
  bodiesFile?: string;
  connections: number;
  seconds: number;
}

const load = JSON.parse(process.argv[2] ?? '{}') as Load;
const requests = bodiesOf(load).map((body) => requestBytes({ ...load, body }));

const histogram = new Histogram();
let sent = 0;
let bytes = 0;
let errors = 0;
let open = load.connections;
const startMs = performance.now();
const endMs = startMs + load.seconds * 1000;

for (let i = 0; i < load.connections; i++) drive();

function bodiesOf({ body = '', bodiesFile }: Load): string[] {
  if (bodiesFile === undefined) return [body];
  return JSON.parse(readFileSync(bodiesFile, 'utf8')) as string[];
}

function drive(): void {
  const socket = connect(load.port, '127.0.0.1');
  const reader = new AnswerReader();
  let sentMs = 0;
  const send = (): void => {
    sentMs = performance.now();
    const request = requests[sent % requests.length];
    sent += 1;
    if (sentMs >= endMs || request === undefined) socket.end();
    else socket.write(request);
  };
  socket.setNoDelay(true);
  socket.on('connect', send);
  socket.on('data', (chunk) => {
    for (const answer of reader.push(chunk)) {
      if (answer.status !== 200) errors += 1;
      bytes += answer.bytes;
      histogram.record(performance.now() - sentMs);
      send();
    }
  });
  socket.on('error', () => {
    errors += 1;
  });
  socket.on('close', () => {
    // Only we end a connection.
    if (performance.now() < endMs) errors += 1;
    open -= 1;
    if (open === 0) report();
  });
}

function report(): void {
  const seconds = (performance.now() - startMs) / 1000;
  const latency = histogram.percentiles();
  console.log(JSON.stringify({ requests: histogram.count, seconds, latency, bytes, errors }));
}
