/**
 * Owns running test files beside each other, told as one run.
 *
 * 1. Files that wait for daemons run one at a time, beside the others: they leave the cores to those.
 * 2. What a file says comes in one piece, whatever runs beside it.
 * 3. The closing lines are those of all files together.
 * 4. Where it is wanted, files that failed run once more at the end, each alone: then that counts.
 */
import { basename } from 'node:path';
import { PassThrough } from 'node:stream';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';

export interface LaneOptions {
  /** Files at a time. */
  concurrency: number;
  /** Milliseconds, of each file. */
  timeout: number;
  signal: AbortSignal;
  execArgv: readonly string[];
  /** Told when a file ended. */
  ended: () => void;
  /** Told what a file said that failed and is run again, which is nowhere else then; without it none is. */
  setAside?: (file: string, said: readonly TestEvent[]) => void;
}

type Summary = Extract<TestEvent, { type: 'test:summary' }>['data'];

/** When more files fail, the machine's load is not why. */
const againMax = 10;
const waiting = /^(docker|swarm|container|database-container)/;
const closing = /^(tests|suites|pass|fail|cancelled|skipped|todo) ([\d.]+)$/;

export function inLanes(
  files: readonly string[],
  { concurrency, setAside, ...options }: LaneOptions,
): AsyncIterable<TestEvent> & NodeJS.ReadableStream {
  const told = new PassThrough({ objectMode: true });
  const end = new ClosingLines();
  const tell = (said: readonly TestEvent[]): void => {
    for (const event of said) if (!end.take(event)) told.write(end.renumbered(event));
  };
  const failed = new Map<string, TestEvent[]>();
  const waits = (file: string): boolean => waiting.test(basename(file));
  // Two daemons at a time beside the rest take longer to come back than deployments wait for them.
  const daemons = files.filter(waits);
  const others = files.filter((file) => !waits(file));
  const lane = async (next: () => string | undefined): Promise<void> => {
    for (let file = next(); file !== undefined && !options.signal.aborted; file = next()) {
      const said = await runFile(file, options);
      if (setAside !== undefined && hasFailed(said)) failed.set(file, said);
      else tell(said);
    }
  };
  const runAgain = async (): Promise<void> => {
    for (const [file, before] of failed) {
      if (failed.size > againMax || options.signal.aborted) {
        tell(before);
      } else {
        const closing = new ClosingLines();
        setAside?.(
          file,
          before.filter((event) => !closing.take(event)),
        );
        tell(await runFile(file, options));
      }
    }
  };
  const lanes = [lane(() => daemons.shift() ?? others.shift())];
  while (lanes.length < concurrency) lanes.push(lane(() => others.shift()));
  Promise.all(lanes)
    .then(runAgain)
    .then(
      () => {
        for (const event of end.events()) told.write(event);
        told.end();
      },
      (error: unknown) => told.destroy(error as Error),
    );
  return told;
}

async function runFile(
  file: string,
  { ended, ...options }: Omit<LaneOptions, 'concurrency' | 'setAside'>,
): Promise<TestEvent[]> {
  const said: TestEvent[] = [];
  const given = { ...options, execArgv: [...options.execArgv], files: [file], concurrency: 1 };
  for await (const event of run(given) as AsyncIterable<TestEvent>) said.push(event);
  ended();
  return said;
}

function hasFailed(said: readonly TestEvent[]): boolean {
  return said.some(
    ({ type, data }) => type === 'test:summary' && data.file === undefined && !data.success,
  );
}

/** What a run says once, of all its files. */
class ClosingLines {
  readonly #startedAt = performance.now();
  readonly #figures = new Map<string, number>();
  #planned = 0;
  #numbered = 0;
  #summary: Summary | undefined;

  /** Whether it is of one file's run, to be told together with those of the others. */
  take(event: TestEvent): boolean {
    if (event.type === 'test:summary' && event.data.file === undefined) {
      this.#add(event.data);
      return true;
    }
    if (event.type === 'test:plan' && event.data.nesting === 0 && event.data.file === undefined) {
      this.#planned += event.data.count;
      return true;
    }
    if (event.type !== 'test:diagnostic' || event.data.nesting !== 0) return false;
    if (/^duration_ms [\d.]+$/.test(event.data.message)) return true;
    const [, name = '', figure] = closing.exec(event.data.message) ?? [];
    if (name === '') return false;
    this.#figures.set(name, (this.#figures.get(name) ?? 0) + Number(figure));
    return true;
  }

  /** Tests at the top are numbered through, over all files. */
  renumbered(event: TestEvent): TestEvent {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') return event;
    if (event.data.nesting !== 0) return event;
    const data = { ...event.data, testNumber: ++this.#numbered };
    return { ...event, data } as TestEvent;
  }

  *events(): Generator<TestEvent> {
    const ms = performance.now() - this.#startedAt;
    this.#figures.set('duration_ms', ms);
    yield { type: 'test:plan', data: { nesting: 0, count: this.#planned } };
    for (const [name, figure] of this.#figures) {
      const message = `${name} ${String(figure)}`;
      yield { type: 'test:diagnostic', data: { nesting: 0, message } } as TestEvent;
    }
    if (this.#summary) {
      const data = { ...this.#summary, duration_ms: ms };
      yield { type: 'test:summary', data };
    }
  }

  #add(summary: Summary): void {
    const before = this.#summary;
    const counts = { ...summary.counts };
    for (const name of Object.keys(counts) as (keyof Summary['counts'])[]) {
      counts[name] += before?.counts[name] ?? 0;
    }
    const success = summary.success && before?.success !== false;
    this.#summary = { ...summary, counts, success };
  }
}
