/**
 * Closed-loop load in a protocol that no installed program speaks, or not each (`dialogues.ts`). Argument: `Talk`;
 * the last line printed is `TalkResult`, as JSON.
 *
 * It measures from when all connections are open, so that handshakes are in no figure. Every answer must be the
 * expected one.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { HttpResult } from './http.ts';
import { type Dialogue, Http1Dialogue, WebSocketDialogue } from './dialogues.ts';
import { Histogram } from './histogram.ts';
import { Http2Dialogue } from './http2-dialogue.ts';
import { usageOf } from '../processes.ts';

export interface Talk {
  port: number;
  /** The process whose CPU is counted. */
  pid: number;
  speaks: 'websocket' | 'https' | 'http2';
  path: string;
  /** What is answered, or of a WebSocket what is said. */
  text: string;
  /** PEM of who vouches for the server's certificate. */
  ca: string;
  connections: number;
  /** Questions of a connection that wait for their answers. */
  atOnce: number;
  seconds: number;
}

const talk = JSON.parse(process.argv[2] ?? '{}') as Talk;
const { port, speaks, path, connections, atOnce } = talk;
const host = `${speaks === 'websocket' ? '127.0.0.1' : 'localhost'}:${port}`;
const text = Buffer.from(talk.text);
const histogram = new Histogram();
const open: { socket: Socket; dialogue: Dialogue }[] = [];
let [underWay, startMs, cpuUs] = [0, 0, 0];

for (let i = 0; i < connections; i++) converse();

function converse(): void {
  const dialogue = dialogueOf();
  const socket = connected(() => {
    if (dialogue.opening.length > 0) socket.write(dialogue.opening);
    if (dialogue.isOpen) opened(socket, dialogue);
  });
  socket.on('data', (chunk) => {
    const wasOpen = dialogue.isOpen;
    const { askedMs, reply } = dialogue.read(chunk);
    if (dialogue.isOpen && !wasOpen) opened(socket, dialogue);
    const nowMs = performance.now();
    for (const ms of askedMs) histogram.record(nowMs - ms);
    underWay -= askedMs.length;
    ask(socket, dialogue, askedMs.length, reply);
  });
  socket.on('close', () => {
    throw new Error('a connection was closed');
  });
}

function dialogueOf(): Dialogue {
  switch (speaks) {
    case 'websocket':
      return new WebSocketDialogue(host, path, text);
    case 'https':
      return new Http1Dialogue(host, path, text);
    case 'http2':
      return new Http2Dialogue(host, path, text, 'https');
  }
}

function connected(then: () => void): Socket {
  const at = { port, host: '127.0.0.1', noDelay: true };
  if (speaks === 'websocket') return connect(at, then);
  const ALPNProtocols = [speaks === 'http2' ? 'h2' : 'http/1.1'];
  return connectTls({ ...at, ca: talk.ca, servername: 'localhost', ALPNProtocols }, then);
}

function opened(socket: Socket, dialogue: Dialogue): void {
  open.push({ socket, dialogue });
  if (open.length < connections) return;
  startMs = performance.now();
  ({ cpuUs } = usageOf(talk.pid));
  for (const one of open) ask(one.socket, one.dialogue, atOnce);
}

/** Nothing more once the time is over; with the last answer all is told. */
function ask(socket: Socket, dialogue: Dialogue, count: number, ...before: Buffer[]): void {
  const nowMs = performance.now();
  const bytes = before.filter(({ length }) => length > 0);
  const isOver = startMs > 0 && nowMs >= startMs + talk.seconds * 1000;
  for (let i = 0; i < count && !isOver; i++) {
    bytes.push(dialogue.ask(nowMs));
    underWay += 1;
  }
  if (bytes.length > 0) socket.write(Buffer.concat(bytes));
  if (isOver && underWay === 0) report();
}

function report(): void {
  const { count } = histogram;
  const result: HttpResult = {
    requestsPerS: (count * 1000) / (performance.now() - startMs),
    latency: histogram.percentiles(),
    cpuUs: (usageOf(talk.pid).cpuUs - cpuUs) / count,
  };
  console.log(JSON.stringify(result));
  process.exit(0);
}
