/** Owns the table of what a change costs: base, head, and whether the rounds tell them apart. */
import { base, differenceOf } from '../compare.ts';
import type { Row } from '../model.ts';
import { columns } from './columns.ts';
import { number } from './words.ts';

export function differenceTable(rows: readonly Row[]): string {
  const lines: (readonly string[] | string)[] = [['', 'base', 'head', 'unit', 'ratio', 'change']];
  let group = '';
  for (const row of rows) {
    if (row.group !== group && row.group !== '') lines.push(row.group);
    group = row.group;
    const other = row.others.find(({ name }) => name === base);
    lines.push([
      `${group === '' ? '' : '  '}${row.what}`,
      other === undefined ? '' : number(other.median),
      number(row.ours.median),
      row.unit,
      other?.ratio.toFixed(3) ?? '',
      differenceText(row),
    ]);
  }
  return columns(lines, new Set([1, 2, 4]));
}

/** `worse, beyond the spread of 3.1 %`. */
export function differenceText(row: Row): string {
  const { change, spread } = differenceOf(row);
  if (change === 'no ratio') return 'no ratio: there are figures of 0 or less';
  if (spread === null) return `${change} to tell`;
  const percent = `${(spread * 100).toFixed(1)} %`;
  if (change === 'within the spread') return `within the spread of ${percent}`;
  return `${change}, beyond the spread of ${percent}`;
}
