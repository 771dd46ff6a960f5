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

/** The first of the closing lines. */
const closing = /^tests \d+$/;

export async function* withReport(
  events: AsyncIterable<TestEvent>,
  files: ReadonlySet<string>,
  judgement: Judgement,
): AsyncGenerator<TestEvent, void> {
  const report = new Report(files);
  for await (const event of events) {
    if (event.type === 'test:diagnostic' && closing.test(event.data.message)) {
      report.end();
      for (const line of await report.lines(judgement.mayNotSkip)) yield comment(line);
    }
    report.take(event);
    yield event;
  }
  if (report.hasFailed || (judgement.mayNotSkip && report.hasSkipped)) judgement.failed();
}

function comment(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, message } as never };
}

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
    switch (event.type) {
      case 'test:start':
        this.#suites.length = event.data.nesting;
        this.#suites.push(event.data.name);
        break;
      case 'test:pass':
        this.#takeSkip(event.data);
        break;
      case 'test:fail':
      case 'test:diagnostic':
      case 'test:plan':
      case 'test:stdout':
      case 'test:stderr':
        break;
      case 'test:summary':
        if (event.data.file === undefined) this.#isGood &&= event.data.success;
        else this.#endFile(event.data.file);
        return;
      default:
        // In the order of time, not of files.
        return;
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

  async lines(mayNotSkip: boolean): Promise<string[]> {
    const lines: string[] = [];
    for (const [file, events] of this.#failed) {
      lines.push(`Failed: ${file}. All it said:`);
      for await (const text of tap(from(events))) {
        lines.push(
          ...text
            .trimEnd()
            .split('\n')
            .map((line) => `  ${line}`),
        );
      }
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

async function* from(events: readonly TestEvent[]): AsyncGenerator<TestEvent, void> {
  await Promise.resolve();
  yield* events;
}
