/**
 * Owns running test files in lanes beside each other, told as one run.
 *
 * 1. Files that wait for daemons have a lane of their own: they leave the cores to the others.
 * 2. What a file says comes in one piece, whatever runs beside it.
 * 3. The closing lines are those of all lanes together.
 */
import { basename } from 'node:path';
import { PassThrough } from 'node:stream';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';

export interface Lane {
  files: readonly string[];
  /** Files at a time. */
  concurrency: number;
}

export interface LaneOptions {
  /** Milliseconds, of each file. */
  timeout: number;
  signal: AbortSignal;
  execArgv: readonly string[];
  /** Told when a file ended. */
  ended: () => void;
}

type Summary = Extract<TestEvent, { type: 'test:summary' }>['data'];

const waiting = /^(docker|swarm|container|database-container)/;
const closing = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;

/** Files that wait for daemons one at a time, the others as many as are asked for; empty lanes are left out. */
export function lanesOf(files: readonly string[], concurrency: number): Lane[] {
  const waits = (file: string): boolean => waiting.test(basename(file));
  const lanes = [
    // Two daemons at a time beside the rest take longer to come back than deployments wait for them.
    { files: files.filter(waits), concurrency: 1 },
    { files: files.filter((file) => !waits(file)), concurrency },
  ];
  return lanes.filter(({ files: some }) => some.length > 0);
}

export function inLanes(
  lanes: readonly Lane[],
  options: LaneOptions,
): AsyncIterable<TestEvent> & NodeJS.ReadableStream {
  const told = new PassThrough({ objectMode: true });
  const end = new ClosingLines();
  const tell = (event: TestEvent): void => {
    told.write(end.renumbered(event));
  };
  Promise.all(lanes.map((lane) => runLane(lane, options, tell, end))).then(
    () => {
      for (const event of end.events()) told.write(event);
      told.end();
    },
    (error: unknown) => told.destroy(error as Error),
  );
  return told;
}

async function runLane(
  { files, concurrency }: Lane,
  { ended, ...options }: LaneOptions,
  tell: (event: TestEvent) => void,
  end: ClosingLines,
): Promise<void> {
  const known = new Set(files);
  let said: TestEvent[] = [];
  const tellAll = (): void => {
    for (const event of said) tell(event);
    said = [];
  };
  const given = { ...options, execArgv: [...options.execArgv], files: [...files], concurrency };
  for await (const event of run(given) as AsyncIterable<TestEvent>) {
    if (event.type === 'test:complete' && known.has(event.data.name)) ended();
    if (end.take(event)) continue;
    said.push(event);
    const isEnd = event.type === 'test:summary';
    // A file that could not be loaded, or ended badly, is told as a test of its name.
    if (isEnd || (event.type === 'test:fail' && known.has(event.data.name))) tellAll();
  }
  tellAll();
}

/** What a run says once, of all its files. */
class ClosingLines {
  readonly #figures = new Map<string, number>();
  #planned = 0;
  #numbered = 0;
  #summary: Summary | undefined;

  /** Whether it is one of the lane's own, to be told together with those of the others. */
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
    const [, name = '', figure] = closing.exec(event.data.message) ?? [];
    if (name === '') return false;
    const before = this.#figures.get(name) ?? 0;
    const now = Number(figure);
    this.#figures.set(name, name === 'duration_ms' ? Math.max(before, now) : before + now);
    return true;
  }

  /** Tests at the top are numbered through, over all lanes. */
  renumbered(event: TestEvent): TestEvent {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') return event;
    if (event.data.nesting !== 0) return event;
    const data = { ...event.data, testNumber: ++this.#numbered };
    return { ...event, data } as TestEvent;
  }

  *events(): Generator<TestEvent> {
    yield { type: 'test:plan', data: { nesting: 0, count: this.#planned } };
    for (const [name, figure] of this.#figures) {
      const message = `${name} ${String(figure)}`;
      yield { type: 'test:diagnostic', data: { nesting: 0, message } } as TestEvent;
    }
    if (this.#summary) yield { type: 'test:summary', data: this.#summary };
  }

  #add(summary: Summary): void {
    const before = this.#summary;
    if (!before) {
      this.#summary = summary;
      return;
    }
    const counts = { ...before.counts };
    for (const name of Object.keys(counts) as (keyof Summary['counts'])[]) {
      counts[name] += summary.counts[name];
    }
    this.#summary = {
      ...summary,
      counts,
      success: before.success && summary.success,
      duration_ms: Math.max(before.duration_ms, summary.duration_ms),
    };
  }
}
