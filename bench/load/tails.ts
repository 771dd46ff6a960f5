/**
 * Opens many event streams and counts what comes; some may be stalled: they never read. The last
 * line printed is the count, as JSON.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { usageOf } from '../processes.ts';

export interface Tails {
  port: number;
  /** The process whose CPU is counted. */
  pid: number;
  path: string;
  headers: Record<string, string>;
  tails: number;
  stalled: number;
  /** Counted from when all are open and this long has passed; without it what came before serves, too. */
  warmUpSeconds: number;
  /** So long at least, and on until each was served. */
  seconds: number;
  /** Whether nothing is sent to them; else every tail that is not stalled must get something. */
  silent: boolean;
}

export interface TailCount {
  frames: number;
  bytes: number;
  seconds: number;
  /** CPU of the server while they were counted, in microseconds. */
  cpuUs: number;
}

const args = JSON.parse(process.argv[2] ?? '{}') as Tails;
const request = [
  `GET ${args.path} HTTP/1.1`,
  'Host: 127.0.0.1',
  ...Object.entries(args.headers).map(([name, value]) => `${name}: ${value}`),
  '\r\n',
].join('\r\n');

const newLine = 10;
const servedMs = 60_000;

let counting = false;
let frames = 0;
let bytes = 0;
const sockets: Socket[] = [];
const served = new Set<Socket>();

for (let opened = 0; opened < args.tails; opened += 50) {
  const batch = Math.min(50, args.tails - opened);
  await Promise.all(Array.from({ length: batch }, () => open(false)));
}
for (let i = 0; i < args.stalled; i++) await open(true);
await sleep(args.warmUpSeconds);
if (args.warmUpSeconds > 0) served.clear();
counting = true;
const startMs = performance.now();
const startUs = usageOf(args.pid).cpuUs;
await sleep(args.seconds);
const lateMs = performance.now() + servedMs;
while (unserved() > 0 && performance.now() < lateMs) await sleep(0.01);
counting = false;
const seconds = (performance.now() - startMs) / 1000;
const cpuUs = usageOf(args.pid).cpuUs - startUs;
const closed = sockets.filter((socket) => socket.destroyed).length;
for (const socket of sockets) socket.destroy();
if (closed > 0) throw new Error(`${closed} of ${sockets.length} streams were closed`);
if (unserved() > 0) throw new Error(`nothing came on ${unserved()} of ${args.tails} streams`);
console.log(JSON.stringify({ frames, bytes, seconds, cpuUs } satisfies TailCount));

function unserved(): number {
  return args.silent ? 0 : args.tails - served.size;
}

async function open(stalled: boolean): Promise<void> {
  const socket = connect(args.port, '127.0.0.1');
  sockets.push(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('data', (head) => {
      if (!head.toString('latin1').startsWith('HTTP/1.1 200')) {
        reject(new Error(head.toString('latin1').slice(0, 400)));
        return;
      }
      resolve();
    });
    socket.write(request);
  });
  socket.on('error', () => socket.destroy());
  if (stalled) socket.pause();
  else countFrames(socket);
}

/** A frame ends with an empty line; a line of log text is escaped and holds none. */
function countFrames(socket: Socket): void {
  let endsWithLine = false;
  socket.on('data', (chunk) => {
    // The first event of a stream serves nobody.
    if (!served.has(socket) && chunk.includes('event: data')) served.add(socket);
    if (counting) {
      bytes += chunk.length;
      if (endsWithLine && chunk[0] === newLine) frames += 1;
      for (let at = chunk.indexOf('\n\n'); at >= 0; at = chunk.indexOf('\n\n', at + 2)) frames += 1;
    }
    endsWithLine = chunk[chunk.length - 1] === newLine;
  });
}

async function sleep(s: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, s * 1000));
}
