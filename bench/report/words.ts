/** Owns how figures, names and goals are written, in the table and on the page alike. */
import type { Figure, Goal, JudgedGoal, Row } from '../model.ts';
import type { Machine } from '../machine.ts';
import type { Against } from './results.ts';

/** Three figures that say something, and whole numbers from a hundred on. */
export function number(value: number): string {
  if (value === 0) return '0';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return Number(value.toPrecision(3)).toString();
}

export function ratio(value: number): string {
  if (value < 0.1) return Number(value.toPrecision(2)).toString();
  return value >= 100 ? number(value) : value.toFixed(value >= 10 ? 1 : 2);
}

/** How far the middle half of the rounds lies apart, as a part of the median. */
export function spread({ rounds, quartiles: [low, high], median }: Figure): string {
  if (rounds.length < 2 || median === 0) return '';
  const percent = ((high - low) / 2 / Math.abs(median)) * 100;
  return `±${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** What a name of the model is called. */
export type Subject = (name: string) => string;

export const subject: Subject = (name) => {
  if (name === 'ours') return 'Gangway';
  return name === 'bare' ? 'bare uWebSockets.js' : name;
};

/** The same where this state of the project is held against another. */
export const state: Subject = (name) => (name === 'ours' ? 'head' : name);

/** `>= 0.9 of bare uWebSockets.js`, `<= 15 ms`. */
export function goalText(
  goal: Goal,
  { better, unit }: Pick<Row, 'better' | 'unit'>,
  isNamed = true,
): string {
  const sign = better === 'higher' ? '>=' : '<=';
  if ('value' in goal) return `${sign} ${goal.value} ${unit}`;
  return isNamed ? `${sign} ${goal.ratio} x ${subject(goal.against)}` : `${sign} ${goal.ratio}`;
}

/** The same with the signs that a page has and a terminal may not have. */
export function signs(text: string): string {
  return text.replaceAll('>=', '≥').replaceAll('<=', '≤').replaceAll(' x ', ' × ');
}

export function unitOf({ unit }: Pick<Row, 'unit'>): string {
  return unit.replace(/^us\b/, 'µs');
}

export type Verdict = 'met' | 'not met' | 'not judged';

/** A smoke judges nothing: it is too short for a figure. */
export function verdict({ met }: JudgedGoal, quick: boolean): Verdict {
  if (quick) return 'not judged';
  return met ? 'met' : 'not met';
}

/** What the figures come from, as lines of name and text. */
export function machineLines(machine: Machine): [name: string, text: string][] {
  const { pinned, loadBefore, cores } = machine;
  const busy = loadBefore > cores / 2 ? ': it was busy, take the figures with care' : '';
  return [
    ['processor', `${machine.model}, ${cores} cores`],
    ['memory', `${Math.round(machine.memoryBytes / 2 ** 30)} GiB`],
    ['kernel', machine.kernel],
    ['Node', machine.node],
    ['commit', machine.commit],
    ['load before the run', `${loadBefore.toFixed(2)}${busy}`],
    ['HTTP load from', machine.load],
    [
      'cores',
      pinned === null
        ? 'servers and load share all of them'
        : `servers on ${pinned.servers}, load on ${pinned.load}`,
    ],
  ];
}

/** The two states of a comparison, by name. */
export function sidesOf({ ref, commit }: Against, machine: Machine): [base: string, head: string] {
  const hash = commit.slice(0, 10);
  const named = commit.startsWith(ref) ? hash : `${ref}, ${hash}`;
  return [`base: ${named}`, `head: ${headOf(machine)}`];
}

/** A commit, or what became of it since. */
function headOf({ commit }: Machine): string {
  const [hash = '', changed] = commit.split(', ');
  return changed === undefined ? hash : `${hash}, with changes that are not committed`;
}
