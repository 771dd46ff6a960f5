/**
 * Owns what a run tells besides what Node's own reporters do: ahead of their closing lines, what was
 * not tried and why, and all that a failed file said. Reporters see both as comments.
 */
import type { TestEvent } from 'node:test/reporters';
import { tap } from 'node:test/reporters';
import { relative } from 'node:path';
import { NotTried, testsOf } from './not-tried.ts';

export interface Judgement {
  /** A skipped test is a failure. */
  mayNotSkip: boolean;
  /** Told once when the run is not to be called good. */
  failed: () => void;
}

export interface Files {
  /** All of the run, by their paths. */
  files: ReadonlySet<string>;
  /** What those said that failed and then ran again. */
  before: ReadonlyMap<string, readonly TestEvent[]>;
}

/** The first of the closing lines. */
const closing = /^tests \d+$/;

export async function* withReport(
  events: AsyncIterable<TestEvent>,
  { files, before }: Files,
  judgement: Judgement,
): AsyncGenerator<TestEvent, void> {
  const report = new Report(files);
  for await (const event of events) {
    if (event.type === 'test:diagnostic' && closing.test(event.data.message)) {
      report.end();
      for (const line of await report.lines(before, judgement.mayNotSkip)) yield comment(line);
    }
    report.take(event);
    yield event;
  }
  if (report.hasFailed || (judgement.mayNotSkip && report.hasSkipped)) judgement.failed();
}

function comment(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, message } as never };
}

/** What a file says; all else comes in the order of time, not of files. */
const inOrder: ReadonlySet<TestEvent['type']> = new Set([
  'test:start',
  'test:pass',
  'test:fail',
  'test:diagnostic',
  'test:plan',
  'test:stdout',
  'test:stderr',
]);

class Report {
  readonly #files: ReadonlySet<string>;
  readonly #notTried = new NotTried();
  readonly #failed = new Map<string, TestEvent[]>();
  /** Of the file that reports now: one after the other does. */
  #events: TestEvent[] = [];
  #suites: string[] = [];
  #skipped: { reason: string; suite: string }[] = [];
  #skippedTests = 0;
  #isGood = true;

  constructor(files: ReadonlySet<string>) {
    this.#files = files;
  }

  get hasFailed(): boolean {
    return this.#failed.size > 0 || !this.#isGood;
  }

  get hasSkipped(): boolean {
    return !this.#notTried.isEmpty;
  }

  take(event: TestEvent): void {
    if (event.type === 'test:summary') {
      if (event.data.file === undefined) this.#isGood &&= event.data.success;
      else this.#endFile(event.data.file);
    }
    if (!inOrder.has(event.type)) return;
    if (event.type === 'test:pass') this.#takeSkip(event.data);
    if (event.type === 'test:start') {
      this.#suites.length = event.data.nesting;
      this.#suites.push(event.data.name);
    }
    this.#events.push(event);
    // A file that could not be loaded, or ended badly, is reported as a test of its name.
    if (event.type === 'test:fail' && this.#files.has(event.data.name)) {
      this.#endFile(event.data.name);
    }
  }

  /** A file that was cut sums nothing up. */
  end(): void {
    const names = this.#events.map(({ data }) => (data as { file?: string }).file ?? '');
    if (names.length > 0) this.#endFile(names.findLast((name) => this.#files.has(name)) ?? '');
  }

  #takeSkip(test: Extract<TestEvent, { type: 'test:pass' }>['data']): void {
    // `todo` too, in whose place a test belongs.
    const why = test.skip ?? test.todo;
    if (why === undefined) return;
    const suite = this.#suites[0] ?? test.name;
    this.#skipped.push({ reason: typeof why === 'string' ? why : 'no reason given', suite });
  }

  #endFile(file: string): void {
    const name = relative(process.cwd(), file);
    for (const { reason, suite } of this.#skipped) {
      this.#notTried.add(reason, `${name}, ${suite}`);
      this.#skippedTests++;
    }
    if (this.#events.some(({ type }) => type === 'test:fail')) {
      this.#failed.set(name, [...(this.#failed.get(name) ?? []), ...this.#events]);
    }
    this.#events = [];
    this.#skipped = [];
  }

  async lines(before: Files['before'], mayNotSkip: boolean): Promise<string[]> {
    const lines: string[] = [];
    const names = new Map([...before].map(([file, said]) => [relative(process.cwd(), file), said]));
    for (const [file, events] of this.#failed) {
      const first = names.get(file);
      if (first !== undefined)
        lines.push(`Failed: ${file}. All it said:`, ...(await textOf(first)));
      const again = first === undefined ? '' : ', again and alone';
      lines.push(`Failed${again}: ${file}. All it said:`, ...(await textOf(events)));
    }
    for (const [file, said] of names) {
      if (this.#failed.has(file)) continue;
      lines.push(`Passed only alone: ${file}. All it said beside others:`, ...(await textOf(said)));
    }
    if (this.#notTried.isEmpty) return lines;
    const what = `${testsOf(this.#skippedTests)} not tried`;
    lines.push(
      mayNotSkip
        ? `${what}, which is a failure here (GANGWAY_TESTS_SKIP_NOTHING):`
        : `${what}; \`npm run setup:tests\` installs what they need, or says how to get it:`,
      ...this.#notTried.lines(),
    );
    return lines;
  }
}

/** Its lines, indented. */
async function textOf(events: readonly TestEvent[]): Promise<string[]> {
  const said = events.filter(({ type }) => inOrder.has(type));
  const lines: string[] = [];
  for await (const text of tap(from(said))) lines.push(...text.trimEnd().split('\n'));
  return lines.map((line) => `  ${line}`);
}

async function* from(events: readonly TestEvent[]): AsyncGenerator<TestEvent, void> {
  await Promise.resolve();
  yield* events;
}
