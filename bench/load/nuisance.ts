/**
 * What clients of a hostile tenant do for a while, beside which others are measured. Argument: `Nuisance`;
 * the last line printed is `NuisanceResult`, as JSON. Nothing is expected of any answer.
 */
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { standBack } from './promptness.ts';

export interface Nuisance {
  /**
   * `visits`: each connection asks again as soon as anything came. `waits`: so many connections wait for an
   * answer that never comes, and what is closed is opened anew about a second later. `half heads`: the same of
   * half a head. `sign-ins`: so many wrong ones at once.
   */
  kind: 'visits' | 'waits' | 'half heads' | 'sign-ins';
  /** Where they go. */
  address: string;
  port: number;
  /** The app, as the edge knows it. */
  host: string;
  /** From when the first came through. */
  seconds: number;
  /** It takes what others leave; else it has its share. */
  beside: boolean;
}

export interface NuisanceResult {
  /** Requests, connections or sign-ins. */
  made: number;
}

const atOnce = { visits: 20, waits: 3000, 'half heads': 3000, 'sign-ins': 150 } as const;

const reopenMs = 1000;
/** By then the first has come through, however little others leave; else none does. */
const firstMs = 60_000;

const nuisance = JSON.parse(process.argv[2] ?? '{}') as Nuisance;
const { kind, address, port, host, seconds, beside } = nuisance;
const half = `GET / HTTP/1.1\r\nHost: ${host}\r\n`;
const open = new Set<Socket>();
let made = 0;
let isOver = false;

if (beside) standBack();
const late = setTimeout(end, firstMs);
for (let i = 0; i < atOnce[kind]; i++) begin();

function end(): void {
  isOver = true;
  for (const socket of open) socket.destroy();
  console.log(JSON.stringify({ made } satisfies NuisanceResult));
  process.exit();
}

/** One more came through. */
function count(): void {
  made += 1;
  if (made > 1) return;
  clearTimeout(late);
  setTimeout(end, seconds * 1000);
}

function begin(): void {
  if (isOver) return;
  if (kind === 'sign-ins') signIn();
  else send(kind === 'half heads' ? half : `${half}\r\n`);
}

function send(text: string): void {
  const socket = connect(port, address, () => {
    count();
    socket.write(text);
  });
  open.add(socket);
  socket.on('data', () => {
    // What it says is of no interest; some of it ends no connection.
    if (kind === 'visits') socket.destroy();
  });
  socket.on('error', () => undefined);
  socket.once('close', () => {
    open.delete(socket);
    if (kind === 'visits') setImmediate(begin);
    else setTimeout(begin, reopenMs * (0.5 + Math.random()));
  });
}

function signIn(): void {
  const query = `mutation { login(email: "nobody${made}@example.com", password: "not this one") { viewer { id } } }`;
  const headers = { 'content-type': 'application/json' };
  const asked = request({ host: address, port, path: '/api/graphql', method: 'POST', headers });
  asked.on('response', (answer) => {
    count();
    answer.resume().once('close', () => setImmediate(begin));
  });
  asked.once('error', () => setImmediate(begin));
  asked.end(JSON.stringify({ query }));
}
