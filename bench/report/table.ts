/** Owns the table of a scenario in the terminal: one line for ours, one for each it is held against. */
import type { JudgedGoal, OtherFigure, Row } from '../model.ts';
import { columns } from './columns.ts';
import { goalText, number, ratio, spread, subject, verdict } from './words.ts';

type Cells = readonly [
  what: string,
  ours: string,
  unit: string,
  spread: string,
  against: string,
  theirs: string,
  ratio: string,
  goal: string,
];

const head: Cells = ['', 'Gangway', 'unit', 'spread', 'against', '', 'ratio', 'goal'];
const right = new Set([1, 3, 5, 6]);

export function table(rows: readonly Row[], quick: boolean): string {
  const lines: (Cells | string)[] = [head];
  let group = '';
  for (const row of rows) {
    if (row.group !== group && row.group !== '') lines.push(row.group);
    group = row.group;
    lines.push(...linesOf(row, quick));
  }
  return columns(lines, right);
}

function linesOf(row: Row, quick: boolean): Cells[] {
  const indent = row.group === '' ? '' : '  ';
  const note = row.note === '' ? '' : ` (${row.note})`;
  const mine = [`${indent}${row.what}${note}`, number(row.ours.median), row.unit, spread(row.ours)];
  const absolute = row.goals
    .filter(({ goal }) => 'value' in goal)
    .map((judged) => `${goalText(judged.goal, row)}${said(judged, quick)}`)
    .join(', ');
  const [first, ...rest] = row.others;
  const [what = '', ours = '', unit = '', spreadText = ''] = mine;
  if (first === undefined) return [[what, ours, unit, spreadText, '', '', '', absolute]];
  return [
    [what, ours, unit, spreadText, ...againstCells(row, first, quick, absolute)],
    ...rest.map((other): Cells => ['', '', '', '', ...againstCells(row, other, quick, '')]),
  ];
}

function againstCells(
  row: Row,
  other: OtherFigure,
  quick: boolean,
  absolute: string,
): [against: string, theirs: string, ratio: string, goal: string] {
  const judged = row.goals
    .filter(({ goal }) => 'against' in goal && goal.against === other.name)
    // Whom it is held against stands before it.
    .map((one) => `${goalText(one.goal, row, false)}${said(one, quick)}`);
  const goals = [...judged, absolute].filter(Boolean).join(', ');
  return [subject(other.name), number(other.median), ratio(other.ratio), goals];
}

/** A smoke judges nothing. */
function said(judged: JudgedGoal, quick: boolean): string {
  return quick ? '' : `: ${verdict(judged, quick)}`;
}
