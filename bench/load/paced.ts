/**
 * Calls that come when they are due, whatever became of those before (open loop): each caller has a
 * connection of its own, and a call that finds it busy waits there. Argument: a file that holds `Paced`;
 * the last line printed is `PacedResult`, as JSON.
 *
 * 1. A server is charged for all that waited for it: a call's latency counts from the moment it was
 *    handed to its connection, be that busy or not, and nothing that a server does holds this up.
 * 2. A server is not charged for this program. What wakes late (timers are no finer than 1 ms, other
 *    processes want the core) sends late, and counts from then; how late is reported beside the figures.
 * 3. It neither collects garbage nor waits for a core while it measures, as far as that can be had.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { AnswerReader } from './answers.ts';
import { Histogram } from './histogram.ts';
import { bePrompt } from './promptness.ts';
import { requestBytes } from './requests.ts';
import type { RequestParts } from './requests.ts';
import type { LatencyMs } from '../model.ts';

export interface Paced {
  port: number;
  seconds: number;
  /** Of all callers together, evenly spread. */
  perSecond: number;
  /** Values of `Authorization`, one a caller; without them the requests go as they are. */
  callers?: string[];
  /** How many callers there are where none of them has a name. */
  connections?: number;
  /** Made in turn, as often as `share` says. */
  calls: PacedCall[];
  /** How many calls earlier loads made: this one begins behind them in the order of things. */
  before?: number;
}

export interface PacedCall {
  request: RequestParts;
  share: number;
  /** The body that must come, with 200; where none is given, the first that came. */
  expected?: string;
  /** Holds something of its own each time: only its length and its start are looked at. */
  varies?: boolean;
}

export interface PacedResult {
  calls: number;
  seconds: number;
  latency: LatencyMs;
  /** How late calls were handed over: the doing of this program and its machine, in no latency. */
  late: LatencyMs;
}

interface Sendable {
  bytes: Buffer;
  expected: Buffer | null;
  varies: boolean;
}

const startBytes = 60;

interface Due {
  what: Sendable;
  fromMs: number;
}

class Caller {
  readonly socket: Socket;
  readonly #waiting: Due[] = [];
  readonly #reader = new AnswerReader();
  readonly #settled: (ms: number) => void;
  #underWay: Due | null = null;

  constructor(port: number, settled: (ms: number) => void) {
    this.#settled = settled;
    // One buffer for all: a buffer for each read would be garbage to collect while it is measured.
    const callback = (length: number): boolean => {
      const answers = this.#reader.push(received.subarray(0, length), true);
      for (const { status, body } of answers) this.#take(status, body);
      return true;
    };
    const onread = { buffer: received, callback };
    this.socket = connect({ port, host: '127.0.0.1', onread }).setNoDelay(true);
  }

  call(due: Due): void {
    if (this.#underWay === null) this.#send(due);
    else this.#waiting.push(due);
  }

  #send(due: Due): void {
    this.#underWay = due;
    this.socket.write(due.what.bytes);
  }

  #take(status: number, body: Buffer): void {
    const due = this.#underWay;
    if (due === null) throw new Error('an answer came that nobody asked for');
    if (status === 200) due.what.expected ??= Buffer.from(body);
    if (status !== 200 || !isExpected(body, due.what)) {
      const came = `${status} ${body.toString().slice(0, 300)}`;
      const expected = due.what.expected?.toString().slice(0, 300) ?? 'a 200';
      throw new Error(`wrong answer: ${came}, not ${expected}`);
    }
    this.#settled(performance.now() - due.fromMs);
    this.#underWay = null;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#send(next);
  }
}

const paced = JSON.parse(readFileSync(fileOf(process.argv[2]), 'utf8')) as Paced;
const { before = 0 } = paced;
const total = Math.floor(paced.seconds * paced.perSecond);
const received = Buffer.alloc(1 << 18);
const [histogram, late] = [new Histogram(), new Histogram()];
const turns = turnsOf(paced.calls);
const bodies = new Map<string, Buffer>();
const kinds: readonly (readonly Sendable[])[] = kindsOf(paced);
const callers = kinds.map(() => new Caller(paced.port, settled));
await Promise.all(callers.map((caller) => once(caller.socket, 'connect')));
let over = false;
for (const { socket } of callers) {
  socket.on('close', () => {
    if (!over) throw new Error('a connection was closed');
  });
}

bePrompt();
const startMs = performance.now();
let made = 0;
const timer = setInterval(makeDue, 1);

function makeDue(): void {
  const nowMs = performance.now();
  for (; made < total; made++) {
    const dueMs = startMs + (made * 1000) / paced.perSecond;
    if (dueMs > nowMs) return;
    const number = before + made;
    const at = number % callers.length;
    // One step further each time round, so that no caller makes the same call for ever.
    const turn = (number + Math.floor(number / callers.length)) % turns.length;
    const what = kinds[at]?.[turns[turn] ?? 0];
    late.record(nowMs - dueMs);
    if (what !== undefined) callers[at]?.call({ what, fromMs: nowMs });
  }
  clearInterval(timer);
}

function settled(ms: number): void {
  histogram.record(ms);
  if (histogram.count < total) return;
  over = true;
  for (const { socket } of callers) socket.destroy();
  const result: PacedResult = {
    calls: total,
    seconds: (performance.now() - startMs) / 1000,
    latency: histogram.percentiles(),
    late: late.percentiles(),
  };
  console.log(JSON.stringify(result));
}

function isExpected(body: Buffer, { expected, varies }: Sendable): boolean {
  if (expected === null) return false;
  if (!varies) return body.equals(expected);
  const starts = body.subarray(0, startBytes).equals(expected.subarray(0, startBytes));
  return starts && body.length === expected.length;
}

/** What each caller sends: the same for all where none has a name. */
function kindsOf({ callers, connections = 50, calls }: Paced): Sendable[][] {
  if (callers !== undefined) return callers.map((authorization) => sendables(calls, authorization));
  const shared = sendables(calls, null);
  return Array.from({ length: connections }, () => shared);
}

function sendables(calls: readonly PacedCall[], authorization: string | null): Sendable[] {
  return calls.map(({ request, expected, varies = false }) => {
    const headers = { ...request.headers, ...(authorization !== null && { authorization }) };
    const body = expected === undefined ? null : bodyOf(expected);
    return { bytes: requestBytes({ ...request, headers }), expected: body, varies };
  });
}

/** Thousands of calls may be answered alike. */
function bodyOf(text: string): Buffer {
  const body = bodies.get(text) ?? Buffer.from(text);
  bodies.set(text, body);
  return body;
}

/** Indexes of the calls, each as often as its share, mixed so that none comes in a row it need not. */
function turnsOf(calls: readonly PacedCall[]): number[] {
  const sum = calls.reduce((all, { share }) => all + share, 0);
  const owed = calls.map(() => 0);
  return Array.from({ length: sum }, () => {
    for (const [i, { share }] of calls.entries()) owed[i] = (owed[i] ?? 0) + share;
    const most = owed.indexOf(Math.max(...owed));
    owed[most] = (owed[most] ?? 0) - sum;
    return most;
  });
}

function fileOf(argument = '{}'): string {
  return (JSON.parse(argument) as { file: string }).file;
}
