/**
 * Owns what a scenario finds out: rows of figures, ours beside others of the same rounds.
 *
 * 1. Every figure is finite and comes with its rounds: what could not be measured is an error.
 * 2. A goal is data: whether it is met is told from the figures, never written down beside them.
 */
import { medianRatio, spreadOf } from './stats.ts';
import type { Spread } from './stats.ts';

export type Better = 'higher' | 'lower';

/** At least this much where higher is better, at most where lower is. */
export type Goal =
  /** Of ours divided by another's. */
  | { against: string; ratio: number }
  /** Of ours itself. */
  | { value: number };

export interface LatencyMs {
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
}

export interface Figure extends Spread {
  /** `ours`, `bare`, or what it is held against by its own name. */
  name: string;
  rounds: readonly number[];
  percentiles?: LatencyMs;
}

export interface OtherFigure extends Figure {
  /** Ours divided by this one. */
  ratio: number;
}

export interface JudgedGoal {
  goal: Goal;
  /** What was reached: the ratio, or ours. */
  reached: number;
  met: boolean;
}

export interface Row {
  /** Several rows share a heading. */
  group: string;
  what: string;
  unit: string;
  better: Better;
  ours: Figure;
  others: readonly OtherFigure[];
  goals: readonly JudgedGoal[];
  /** How it was measured: `closed loop`. */
  note: string;
}

export interface RowInput {
  group?: string;
  what: string;
  unit: string;
  better: Better;
  rounds: Rounds;
  goals?: readonly Goal[];
  note?: string;
  percentiles?: Readonly<Record<string, LatencyMs>>;
}

/** The same index is the same round. Another than ours that has no rounds was not part of this run. */
export type Rounds = Readonly<Record<string, readonly number[]>> & { ours: readonly number[] };

export function row(input: RowInput): Row {
  const { group = '', what, unit, better, rounds, goals = [], note = '', percentiles = {} } = input;
  const figure = (name: string): Figure => {
    const values = rounds[name] ?? [];
    if (values.length === 0 || !values.every(Number.isFinite)) {
      throw new Error(`${label(input)}: no figure of ${name}, but ${JSON.stringify(values)}`);
    }
    const latency = percentiles[name];
    return { name, rounds: values, ...spreadOf(values), ...(latency && { percentiles: latency }) };
  };
  const ours = figure('ours');
  const others = Object.entries(rounds)
    .filter(([name, values]) => name !== 'ours' && values.length > 0)
    .flatMap(([name, values]) => {
      const other = figure(name);
      const ratio = medianRatio(ours.rounds, values);
      if (Number.isFinite(ratio)) return [{ ...other, ratio }];
      // So little that the clock did not tell it, as the CPU time of a few calls may be.
      if (better === 'lower') return [];
      throw new Error(`${label(input)}: ${name} is nothing`);
    });
  const judged = goals.flatMap((goal) => {
    if ('against' in goal && rounds[goal.against] === undefined) {
      throw new Error(
        `${label(input)}: a goal is held against ${goal.against}, that has no rounds`,
      );
    }
    const reached = reachedOf(goal, ours, others);
    return reached === null ? [] : [{ goal, reached, met: isMet(goal, reached, better) }];
  });
  return { group, what, unit, better, ours, others, goals: judged, note };
}

/** What names a row in its scenario. */
export function label({ group = '', what }: { group?: string; what: string }): string {
  return group === '' ? what : `${group}: ${what}`;
}

function reachedOf(goal: Goal, ours: Figure, others: readonly OtherFigure[]): number | null {
  if ('value' in goal) return ours.median;
  return others.find(({ name }) => name === goal.against)?.ratio ?? null;
}

function isMet(goal: Goal, reached: number, better: Better): boolean {
  const limit = 'value' in goal ? goal.value : goal.ratio;
  return better === 'higher' ? reached >= limit : reached <= limit;
}
