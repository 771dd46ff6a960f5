/** Owns a run as Markdown, for a pull request or a document: its goals, or what a change costs. */
import { base } from '../compare.ts';
import type { Row } from '../model.ts';
import { label } from '../model.ts';
import { differenceText } from './difference.ts';
import type { Against, Run } from './results.ts';
import { goalText, number, ratio, sidesOf, verdict } from './words.ts';

export function markdown(run: Run): string {
  return run.against === undefined ? goalsOf(run) : differencesOf(run, run.against);
}

/** Every goal, with what was reached. */
function goalsOf({ results, quick }: Run): string {
  const lines = results.flatMap((result) =>
    'failed' in result
      ? [[result.name, 'failed, no figures', '', '', '']]
      : result.rows.flatMap((row) =>
          row.goals.map((judged) => [
            result.name,
            label(row),
            goalText(judged.goal, row),
            'value' in judged.goal ? number(judged.reached) : ratio(judged.reached),
            verdict(judged, quick),
          ]),
        ),
  );
  return tableOf(['scenario', 'what', 'goal', 'reached', ''], lines);
}

function differencesOf({ results, machine }: Run, against: Against): string {
  const lines = results.flatMap((result) =>
    'failed' in result
      ? [[result.name, 'failed, no figures', '', '', '', '', '']]
      : result.rows.map((row) => [
          result.name,
          label(row),
          ...pairOf(row),
          row.unit,
          differenceText(row),
        ]),
  );
  const table = tableOf(['scenario', 'what', 'base', 'head', 'ratio', 'unit', 'change'], lines);
  return `${sidesOf(against, machine).join('; ')}.\n\n${table}`;
}

function pairOf({ ours, others }: Row): string[] {
  const other = others.find(({ name }) => name === base);
  if (other === undefined) return ['', number(ours.median), ''];
  return [number(other.median), number(ours.median), other.ratio.toFixed(3)];
}

function tableOf(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const rule = head.map(() => '---');
  return [head, rule, ...lines]
    .map((cells) => `| ${cells.map((cell) => cell.replace(/[|\\]/g, '\\$&')).join(' | ')} |\n`)
    .join('');
}
