/**
 * Reads many log tails of apps that print numbered lines, and tells how long lines were on their way.
 * Argument: a file that holds `LogTails`; the last line printed is `LogTailsResult`, as JSON.
 *
 * Fails where any stream ends or is refused, where a line is lost or comes twice, and where a tail that
 * was to be read got nothing.
 */
import { readFileSync } from 'node:fs';
import type { LatencyMs } from '../model.ts';
import { EventStream, SeenEvents } from './event-stream.ts';
import { Histogram } from './histogram.ts';
import { type Lines, LineReader } from './numbered-lines.ts';

export interface LogTails {
  port: number;
  headers: Record<string, string>;
  /** Read by so many tails each. */
  paths: string[];
  tailsOfEach: number;
  /** Tails that read nothing from their first event on, till everything was measured. */
  stalled?: { path: string; count: number };
  warmUpSeconds: number;
  /** So long at least, and on until each got a line. */
  seconds: number;
  /** At the end all lose their connection, are away for so long, and come back at once. */
  awaySeconds?: number;
}

export interface LogTailsResult {
  tails: number;
  /** Delivered and counted while it was measured. */
  lines: number;
  frames: number;
  seconds: number;
  latency: LatencyMs;
  /** From the moment all came back until each had every line that was due by then. */
  caughtUpMs: number | null;
  /** Lines that were printed while all were away, over all tails. */
  missedLines: number | null;
  /** The same for who read nothing before. */
  recoveredMs: number | null;
}

const openAtOnce = 100;
const catchUpMaxMs = 60_000;

const load = JSON.parse(readFileSync(fileOf(process.argv[2]), 'utf8')) as LogTails;
const reader = new LineReader();
const seen = new SeenEvents();
/** Events that many tails were told, as the same object. */
const known = new WeakMap<Buffer, ReturnType<typeof read>>();
const histogram = new Histogram();
let counting = false;
let frames = 0;

class Tail {
  readonly #path: string;
  #stream: EventStream | null = null;
  #lastId = '';
  #lastNumber = 0;
  /** When the newest line it has was due. */
  newestDueMs = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get lastNumber(): number {
    return this.#lastNumber;
  }

  async open(): Promise<void> {
    const headers = {
      ...load.headers,
      ...(this.#lastId !== '' && { 'Last-Event-ID': this.#lastId }),
    };
    this.#stream = new EventStream(
      { port: load.port, path: this.#path, headers },
      seen,
      (event) => this.#take(event),
      fail,
    );
    await this.#stream.opened;
  }

  pause(): void {
    this.#stream?.socket.pause();
  }

  resume(): void {
    this.#stream?.socket.resume();
  }

  close(): void {
    this.#stream?.close();
  }

  #take(event: Buffer): void {
    let said = known.get(event);
    if (said === undefined) known.set(event, (said = read(event)));
    if (said === null) return;
    const { id, lines } = said;
    if (this.#lastNumber > 0 && lines.first !== this.#lastNumber + 1) {
      throw new Error(`${this.#path}: line ${lines.first} came behind line ${this.#lastNumber}`);
    }
    this.#lastId = id;
    this.#lastNumber = lines.last;
    this.newestDueMs = lines.dueMs.at(-1) ?? this.newestDueMs;
    if (!counting) return;
    frames += 1;
    const nowMs = Date.now();
    for (const dueMs of lines.dueMs) histogram.record(Math.max(0, nowMs - dueMs));
  }
}

/** Lines and the id to go on behind; null for what says nothing. A gap would be lines lost. */
function read(event: Buffer): { id: string; lines: Lines } | null {
  if (event.toString('latin1', 0, 6) === ': ping') return null;
  const idEnd = event.indexOf('\n');
  const isFrame =
    event.toString('latin1', 0, 4) === 'id: ' &&
    event.indexOf('event: data\n', idEnd) === idEnd + 1;
  if (!isFrame) {
    const isFirst = event.indexOf('event: session') >= 0;
    if (isFirst) return null;
    throw new Error(`an event that is no line: ${event.toString('utf8', 0, 200)}`);
  }
  const id = event.toString('latin1', 4, idEnd);
  return { id, lines: reader.read(id, event) };
}

const tails = load.paths.flatMap((path) => {
  return Array.from({ length: load.tailsOfEach }, () => new Tail(path));
});
const { stalled: { path: stalledPath = '', count: stalledCount = 0 } = {} } = load;
const stalled = Array.from({ length: stalledCount }, () => new Tail(stalledPath));

for (let from = 0; from < tails.length; from += openAtOnce) {
  await Promise.all(tails.slice(from, from + openAtOnce).map((tail) => tail.open()));
}
for (const tail of stalled) {
  await tail.open();
  tail.pause();
}
await sleep(load.warmUpSeconds);
const before = tails.map((tail) => tail.lastNumber);
counting = true;
const startMs = performance.now();
await sleep(load.seconds);
await untilAll(tails, (tail, i) => tail.lastNumber !== before[i], 'a tail got no line');
counting = false;
const seconds = (performance.now() - startMs) / 1000;
const recoveredMs = stalled.length === 0 ? null : await recover();
const resumed = load.awaySeconds === undefined ? null : await comeBack(load.awaySeconds);
for (const tail of [...tails, ...stalled]) tail.close();
const result: LogTailsResult = {
  tails: tails.length,
  lines: histogram.count,
  frames,
  seconds,
  latency: histogram.percentiles(),
  caughtUpMs: resumed?.tookMs ?? null,
  missedLines: resumed?.missed ?? null,
  recoveredMs,
};
console.log(JSON.stringify(result));

/** Who read nothing reads now: not a line may be missing. */
async function recover(): Promise<number> {
  const fromMs = Date.now();
  for (const tail of stalled) tail.resume();
  await untilAllHave(stalled, fromMs);
  return Date.now() - fromMs;
}

async function comeBack(awaySeconds: number): Promise<{ tookMs: number; missed: number }> {
  const last = tails.map((tail) => tail.lastNumber);
  for (const tail of tails) tail.close();
  await sleep(awaySeconds);
  const fromMs = Date.now();
  await Promise.all(tails.map((tail) => tail.open()));
  await untilAllHave(tails, fromMs);
  const tookMs = Date.now() - fromMs;
  const missed = tails.reduce((sum, tail, i) => sum + tail.lastNumber - (last[i] ?? 0), 0);
  return { tookMs, missed };
}

/** Until each has a line that was due at or after this time, and so every one before it. */
async function untilAllHave(list: readonly Tail[], dueMs: number): Promise<void> {
  await untilAll(list, (tail) => tail.newestDueMs >= dueMs, 'not all tails caught up');
}

async function untilAll(
  list: readonly Tail[],
  isDone: (tail: Tail, i: number) => boolean,
  complaint: string,
): Promise<void> {
  const untilMs = Date.now() + catchUpMaxMs;
  while (!list.every(isDone)) {
    if (Date.now() > untilMs) throw new Error(complaint);
    await sleep(0.002);
  }
}

function fail(reason: Error): void {
  console.error(reason);
  process.exit(1);
}

async function sleep(s: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, s * 1000));
}

function fileOf(argument = '{}'): string {
  return (JSON.parse(argument) as { file: string }).file;
}
