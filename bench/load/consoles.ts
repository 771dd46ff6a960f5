/**
 * Types into many consoles, a key at a time on a schedule, and tells how long each key took to its echo.
 * Argument: `Consoles` as JSON; the last line printed is `ConsolesResult`, as JSON.
 *
 * Fails where a console is refused or ends, and where an echo is missing or nobody typed it.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { LatencyMs } from '../model.ts';
import { AnswerReader } from './answers.ts';
import { EventStream, SeenEvents } from './event-stream.ts';
import { Histogram } from './histogram.ts';
import { requestBytes } from './requests.ts';

export interface Consoles {
  port: number;
  path: string;
  headers: Record<string, string>;
  consoles: number;
  /** Of each. */
  keysPerSecond: number;
  warmUpSeconds: number;
  seconds: number;
}

export interface ConsolesResult {
  consoles: number;
  keys: number;
  /** From when a key was due to its echo. */
  latency: LatencyMs;
}

const load = JSON.parse(process.argv[2] ?? '') as Consoles;
const seen = new SeenEvents();
const histogram = new Histogram();
const openAtOnce = 10;
const settleMs = 10_000;
/** A program that echoes each byte by itself, and says when it does. */
const echoing = `stty raw -echo; printf 'RE''ADY'; exec cat\r`;
let counting = false;

class TypedConsole {
  readonly #stream: EventStream;
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  readonly #due: number[] = [];
  readonly #ready = Promise.withResolvers<undefined>();
  #shown = '';
  #isReady = false;
  #sessionId = '';

  constructor() {
    const { port, path, headers } = load;
    this.#stream = new EventStream(
      { port, path, headers },
      seen,
      (event) => this.#hear(event),
      fail,
    );
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', fail);
    this.#socket.on('data', (chunk) => {
      for (const { status, body } of this.#reader.push(chunk)) {
        if (status !== 204) fail(new Error(`a key was answered ${status}: ${body.toString()}`));
      }
    });
  }

  get waiting(): number {
    return this.#due.length;
  }

  async open(): Promise<void> {
    await this.#stream.opened;
    this.#post(echoing);
    await this.#ready.promise;
  }

  type(dueMs: number): void {
    this.#due.push(dueMs);
    this.#post('k');
  }

  close(): void {
    this.#stream.close();
    const { path, headers } = load;
    const named = `${path.split('?')[0] ?? ''}?sessionId=${this.#sessionId}`;
    this.#socket.end(requestBytes({ path: named, method: 'DELETE', headers }));
  }

  #post(data: string): void {
    const { headers } = load;
    const path = load.path.split('?')[0] ?? '';
    const body = JSON.stringify({ sessionId: this.#sessionId, data });
    this.#socket.write(requestBytes({ path, method: 'POST', headers, body }));
  }

  #hear(event: Buffer): void {
    const [kind = '', data = ''] = event.toString('utf8').split('\n');
    if (kind === 'event: session') this.#sessionId = JSON.parse(data.slice(6)) as string;
    if (kind === 'event: exit' || kind === 'event: failure') fail(new Error(`it ended: ${data}`));
    if (kind === 'event: data') this.#show(JSON.parse(data.slice(6)) as string);
  }

  #show(text: string): void {
    if (!this.#isReady) {
      this.#shown += text;
      if (!this.#shown.endsWith('READY')) return;
      this.#isReady = true;
      this.#ready.resolve(undefined);
      return;
    }
    const nowMs = performance.now();
    for (const key of text) {
      const dueMs = this.#due.shift();
      if (key !== 'k' || dueMs === undefined)
        fail(new Error(`nobody typed ${JSON.stringify(key)}`));
      else if (counting) histogram.record(Math.max(0, nowMs - dueMs));
    }
  }
}

function fail(error: Error): void {
  console.error(error);
  process.exit(1);
}

async function openAll(): Promise<TypedConsole[]> {
  const all: TypedConsole[] = [];
  while (all.length < load.consoles) {
    const count = Math.min(openAtOnce, load.consoles - all.length);
    const some = Array.from({ length: count }, () => new TypedConsole());
    await Promise.all(some.map((one) => one.open()));
    all.push(...some);
  }
  return all;
}

/** All in turn, evenly, so that their keys do not come at one moment. */
async function typeFor(all: readonly TypedConsole[], seconds: number): Promise<void> {
  const perMs = (all.length * load.keysPerSecond) / 1000;
  const startMs = performance.now();
  const count = Math.floor(perMs * seconds * 1000);
  for (let typed = 0; typed < count;) {
    const nowMs = performance.now();
    for (; typed < count && startMs + typed / perMs <= nowMs; typed++) {
      all[typed % all.length]?.type(startMs + typed / perMs);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const all = await openAll();
await typeFor(all, load.warmUpSeconds);
counting = true;
await typeFor(all, load.seconds);
const untilMs = performance.now() + settleMs;
while (all.some(({ waiting }) => waiting > 0)) {
  if (performance.now() > untilMs) fail(new Error('some keys were never echoed'));
  await new Promise((resolve) => setTimeout(resolve, 5));
}
for (const one of all) one.close();
const result: ConsolesResult = {
  consoles: all.length,
  keys: histogram.count,
  latency: histogram.percentiles(),
};
console.log(JSON.stringify(result));
process.exit(0);
