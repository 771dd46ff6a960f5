/** Owns the command line of the bench. */
import { parseArgs } from 'node:util';

export interface Options {
  /** Scenarios to run; all where none is named. */
  names: readonly string[];
  quick: boolean;
  list: boolean;
  help: boolean;
  /** A git reference to hold this tree against. */
  compare: string | null;
  /** Where the page goes. */
  out: string | null;
}

export const usage = `npm run bench -- [--quick] [--compare <git ref>] [--out <file>] [scenario ...]

  --quick            a smoke of each: seconds, no figure is judged; fails on wrong answers
  --compare <ref>    this tree against a commit, branch or tag, in interleaved rounds
  --out <file>       the page (bench/results/report.html)
  --list             names of the scenarios`;

/** Throws, with a text for whoever typed it, on what it does not know. */
export function parseOptions(args: readonly string[], known: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      compare: { type: 'string' },
      out: { type: 'string' },
    },
  });
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`There is no scenario ${unknown.join(', ')}; there are ${known.join(', ')}.`);
  }
  return {
    names: positionals.length > 0 ? positionals : known,
    quick: values.quick,
    list: values.list,
    help: values.help,
    compare: values.compare ?? null,
    out: values.out ?? null,
  };
}
