/**
 * Owns running one scenario: to its rows, or to the reason why there are none.
 *
 * 1. A scenario that fails prints no figure.
 * 2. What it started has ended when its result is there, whatever happened.
 * 3. It ends: one that takes too long has failed.
 */
import { base, Comparison, SideError } from './compare.ts';
import type { Sides } from './compare.ts';
import { Bench } from './harness.ts';
import type { BenchOptions, Scenario } from './harness.ts';
import type { Closable, Interrupts } from './interrupts.ts';
import type { Row } from './model.ts';
import { differenceTable } from './report/difference.ts';
import type { Result } from './report/results.ts';
import { table } from './report/table.ts';

export interface RunnerOptions {
  interrupts: Interrupts;
  scenarioOf: (name: string) => Promise<Scenario>;
  print: (text: string) => void;
  printError: (text: string) => void;
  limitMs: number;
}

export class Runner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Gangway against others. */
  async run(name: string, options: BenchOptions): Promise<Result> {
    const bench = new Bench(options);
    const measure = async (scenario: Scenario): Promise<Row[]> => {
      const rows = await scenario.run(bench);
      bench.check();
      return rows;
    };
    return await this.#run(name, bench, measure, (rows) => table(rows, options.quick));
  }

  /** This state of the project against another. */
  async compare(name: string, sides: Sides): Promise<Result> {
    const comparison = new Comparison(sides);
    const measure = (scenario: Scenario): Promise<Row[]> => comparison.run(scenario);
    return await this.#run(name, comparison, measure, differenceTable);
  }

  async #run(
    name: string,
    closable: Closable,
    measure: (scenario: Scenario) => Promise<readonly Row[]>,
    show: (rows: readonly Row[]) => string,
  ): Promise<Result> {
    const { interrupts, scenarioOf, print, printError } = this.#options;
    const startedMs = performance.now();
    const seconds = (): number => Math.round((performance.now() - startedMs) / 1000);
    let title = '';
    try {
      const scenario = await scenarioOf(name);
      ({ title } = scenario);
      print(`${name} …`);
      const rows = await interrupts.using(closable, () => this.#inTime(measure(scenario)));
      if (rows.length === 0) throw new Error('it measured nothing');
      print(`\n${name}: ${title}`);
      print(show(rows));
      return { name, title, seconds: seconds(), rows };
    } catch (error) {
      const failed = interrupts.isStopping ? 'it was interrupted' : sentenceOf(error);
      printError(`${name} failed, no figures: ${failed}`);
      const isFault = !(error instanceof SideError) || error.side !== base;
      if (!isExpected(error) && !interrupts.isStopping) printError(String((error as Error).stack));
      return { name, title, seconds: seconds(), failed, isFault };
    }
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { limitMs } = this.#options;
    let limit: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      limit = setTimeout(() => reject(new Error(`it did not end within ${limitMs} ms`)), limitMs);
    });
    return await Promise.race([work, late]).finally(() => clearTimeout(limit));
  }
}

/** What went wrong, with what it came from. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : sentenceOf(error.cause);
  // One that was caught and named again says all of it already.
  return cause === '' || error.message.includes(cause)
    ? error.message
    : `${error.message}: ${cause}`;
}

/** Found by the bench, which says all in its words; of a fault in the bench itself the place is wanted. */
function isExpected(error: unknown): boolean {
  if (error instanceof SideError) return isExpected(error.cause);
  return error instanceof Error && error.name === 'Error';
}
