/**
 * Owns the comparison of this tree with another state of the project: the same scenario with the server of
 * each, in interleaved rounds. It reports and does not judge.
 */
import { Bench, home } from './harness.ts';
import type { BenchOptions, Scenario } from './harness.ts';
import { label, row } from './model.ts';
import type { Row } from './model.ts';
import { quantile } from './stats.ts';
import { Turns } from './turns.ts';

/** The name under which the other state stands in the rows. */
export const base = 'base';

/** With fewer, the middle half of the rounds says nothing. */
const roundsMin = 3;

export interface Sides {
  quick: boolean;
  affinity: BenchOptions['affinity'];
  /** The other state, and the Node that runs it. */
  base: { root: string; node: string };
}

/** Both sides of a scenario, with a way to end them. */
export class Comparison {
  readonly #base: Bench;
  readonly #head: Bench;
  readonly #turns = new Turns();

  constructor({ quick, affinity = null, base: { root, node } }: Sides) {
    const turn = (): Promise<void> => this.#turns.next();
    const shared = { quick, affinity, turn, oursOnly: true, quickRounds: roundsMin };
    this.#base = new Bench({ ...shared, root, node });
    this.#head = new Bench({ ...shared, root: home });
  }

  async run(scenario: Scenario): Promise<Row[]> {
    const side = async (name: string, bench: Bench): Promise<Row[]> => {
      try {
        const rows = await scenario.run(bench);
        bench.check();
        return rows;
      } catch (error) {
        throw new SideError(name, error);
      }
    };
    const [theirs, ours] = await this.#turns.run(
      () => side(base, this.#base),
      () => side('head', this.#head),
    );
    return differences(theirs, ours);
  }

  async close(): Promise<void> {
    await Promise.all([this.#base.close(), this.#head.close()]);
  }
}

/** Which side failed: a base that never had what is measured is no fault of this tree. */
export class SideError extends Error {
  readonly side: string;

  constructor(side: string, cause: unknown) {
    const error = cause instanceof SideError ? cause : null;
    super(error?.message ?? `${side}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.side = error?.side ?? side;
  }
}

/** The rows of both, head beside base; no base where no ratio can be. What one alone has is left out. */
export function differences(theirs: readonly Row[], ours: readonly Row[]): Row[] {
  const before = new Map(theirs.map((one) => [label(one), one]));
  return ours.flatMap(({ group, what, unit, better, note, ours: head }) => {
    const other = before.get(label({ group, what }))?.ours;
    if (other === undefined) return [];
    const isRatio = [...head.rounds, ...other.rounds].every((value) => value > 0);
    const rounds = { ours: head.rounds, [base]: isRatio ? other.rounds : [] };
    return [row({ group, what, unit, better, note, rounds })];
  });
}

export type Change = 'better' | 'worse' | 'within the spread' | 'too few rounds' | 'no ratio';

export interface Difference {
  change: Change;
  /** The distance between the first and the third quartile of the rounds' ratios. */
  spread: number | null;
}

/**
 * Whether head differs from base by more than the rounds do among themselves: the median of the
 * ratios round by round is farther from 1 than their quartiles are from each other, and but for one
 * in ten the rounds say the same.
 */
export function differenceOf({ ours, others, better }: Row): Difference {
  const other = others.find(({ name }) => name === base);
  if (other === undefined) return { change: 'no ratio', spread: null };
  if (ours.rounds.length !== other.rounds.length || ours.rounds.length < roundsMin) {
    return { change: 'too few rounds', spread: null };
  }
  const ratios = ours.rounds.map((value, i) => value / (other.rounds[i] ?? Number.NaN));
  const spread = quantile(ratios, 0.75) - quantile(ratios, 0.25);
  const agree = quantile(ratios, 0.1) > 1 || quantile(ratios, 0.9) < 1;
  if (!agree || Math.abs(other.ratio - 1) <= spread) return { change: 'within the spread', spread };
  const isBetter = better === 'higher' ? other.ratio > 1 : other.ratio < 1;
  return { change: isBetter ? 'better' : 'worse', spread };
}
