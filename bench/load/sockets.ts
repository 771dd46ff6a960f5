/** HTTP load from plain sockets, for machines without wrk: one request in flight a connection. */
import { connect } from 'node:net';

interface Load {
  port: number;
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  connections: number;
  seconds: number;
}

const load = JSON.parse(process.argv[2] ?? '{}') as Load;
const body = Buffer.from(load.body ?? '');
const head = [
  `${load.method ?? 'GET'} ${load.path} HTTP/1.1`,
  'Host: 127.0.0.1',
  ...Object.entries(load.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ...(body.length > 0 ? [`Content-Length: ${body.length}`] : []),
].join('\r\n');
const request = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);

const latenciesMs: number[] = [];
let errors = 0;
let open = load.connections;
const startMs = performance.now();
const endMs = startMs + load.seconds * 1000;

for (let i = 0; i < load.connections; i++) drive();

function drive(): void {
  const socket = connect(load.port, '127.0.0.1');
  let received = Buffer.alloc(0);
  let sentMs = 0;
  const send = (): void => {
    sentMs = performance.now();
    if (sentMs >= endMs) socket.end();
    else socket.write(request);
  };
  socket.setNoDelay(true);
  socket.on('connect', send);
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const answer = received.subarray(0, headEnd).toString('latin1');
    const length = Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0);
    if (received.length < headEnd + 4 + length) return;
    if (!answer.startsWith('HTTP/1.1 200')) errors += 1;
    received = received.subarray(headEnd + 4 + length);
    latenciesMs.push(performance.now() - sentMs);
    send();
  });
  socket.on('error', () => {
    errors += 1;
  });
  socket.on('close', () => {
    open -= 1;
    if (open === 0) report();
  });
}

function report(): void {
  latenciesMs.sort((a, b) => a - b);
  const p99Ms = latenciesMs[Math.floor(latenciesMs.length * 0.99)] ?? 0;
  const seconds = (performance.now() - startMs) / 1000;
  console.log(JSON.stringify({ requests: latenciesMs.length, seconds, p99Ms, errors }));
}
