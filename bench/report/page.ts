/**
 * Owns the page of a run: one file that needs nothing else, with pictures, every figure as a table,
 * and the machine that they come from.
 */
import type { OtherFigure, Row } from '../model.ts';
import { barChart, goalChart, latencyChart } from './charts.ts';
import { differenceText } from './difference.ts';
import { Markup, markup } from './markup.ts';
import type { Content } from './markup.ts';
import type { Machine } from '../machine.ts';
import type { Against, Result, Run } from './results.ts';
import { style } from './style.ts';
import {
  goalText,
  machineLines,
  number,
  ratio,
  sidesOf,
  spread,
  state,
  subject,
  verdict,
} from './words.ts';
import type { Subject } from './words.ts';

export function page(run: Run): string {
  const { results, quick, at, against } = run;
  const body = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Gangway: figures</title>
<style>${new Markup(style)}</style>
</head>
<body>
<header>
<h1>Gangway: figures</h1>
<p class="soft">${at.replace(/\.\d+Z$/, 'Z').replace('T', ' ')}</p>
${against === undefined ? explanation : comparison(against, run.machine)}
${quick ? markup`<p class="notice">A smoke of seconds: it shows that answers are right. Its figures are none to rely on, and no goal is judged.</p>` : ''}
<dl>${machineLines(run.machine).map(([name, text]) => markup`<dt>${name}</dt><dd>${text}</dd>`)}</dl>
</header>
<nav aria-label="Scenarios"><ul>${results.map(({ name }) => markup`<li><a href="#${name}">${name}</a></li>`)}</ul></nav>
<main>
${goals(run)}
${results.map((result) => section(result, run))}
</main>
</body>
</html>
`;
  return body.text;
}

const explanation = markup`<p>Each figure is the median of its rounds, in which Gangway and what it is held
against took turns. A ratio is Gangway's figure divided by the other's: the median of the rounds' ratios.
The lines over the bars go from the lowest to the highest round.</p>`;

function comparison(against: Against, machine: Machine): Markup {
  const [base, head] = sidesOf(against, machine);
  return markup`<p><strong>${base}</strong><br/><strong>${head}</strong></p>
<p>The same scenario with the server of each, in rounds that took turns. A ratio is the figure of head
divided by that of base.</p>`;
}

function goals({ results, quick, against }: Run): Content {
  const withGoals = results.flatMap((result) => {
    const rows = 'rows' in result ? result.rows.filter((row) => row.goals.length > 0) : [];
    return rows.length > 0 ? [{ name: result.name, rows }] : [];
  });
  if (against !== undefined || withGoals.length === 0) return '';
  const all = withGoals.flatMap(({ rows }) => rows.flatMap((row) => row.goals));
  const met = all.filter((goal) => goal.met).length;
  const summary = quick ? `${all.length} goals, not judged` : `${met} of ${all.length} goals met`;
  return markup`<section>
<h2>Goals</h2>
<p>${summary}.</p>
<div class="charts">${withGoals.map(({ name, rows }) => goalChart(rows, `goals-${name}`, name, quick))}</div>
</section>`;
}

function section(result: Result, run: Run): Markup {
  const { name, title, seconds } = result;
  return markup`<section id="${name}">
<h2>${name}</h2>
<p>${title} <span class="soft">(${seconds} s)</span></p>
${'failed' in result ? markup`<p class="failed"><strong>Failed, no figures:</strong> ${result.failed}</p>` : figures(result.name, result.rows, run)}
</section>`;
}

function figures(name: string, rows: readonly Row[], run: Run): Markup {
  const called = run.against === undefined ? subject : state;
  const groups = [...new Set(rows.map(({ group }) => group))];
  return markup`${groups.map((group) => {
    const charts = rows.flatMap((row, i) =>
      row.group === group ? chartsOf(row, `${name}-${i}`, called) : [],
    );
    if (charts.length === 0) return '';
    const heading = group === '' ? '' : markup`<h3>${group}</h3>`;
    return markup`${heading}<div class="charts">${charts}</div>`;
  })}
<div class="wide" tabindex="0" role="region" aria-label="Figures of ${name}"><table>
<thead><tr><th scope="col"></th>${heads(run).map((head) => markup`<th scope="col"${figureClass(head)}>${head}</th>`)}</tr></thead>
<tbody>${rows.map((row, i) => [groupRow(rows, i), ...lines(row, run)])}</tbody>
</table></div>`;
}

const numeric = new Set(['Gangway', 'head', 'theirs', 'ratio', 'spread']);

function heads({ against }: Run): string[] {
  return [
    (against ? state : subject)('ours'),
    'unit',
    'spread',
    'against',
    'theirs',
    'ratio',
    against ? 'change' : 'goal',
  ];
}

function figureClass(head: string): Content {
  return numeric.has(head) ? markup` class="figure"` : '';
}

function chartsOf(row: Row, id: string, called: Subject): Markup[] {
  const latency = latencyChart(row, id, called);
  if (latency !== null) return [latency];
  return row.others.length > 0 ? [barChart(row, id, called)] : [];
}

function groupRow(rows: readonly Row[], i: number): Content {
  const group = rows[i]?.group ?? '';
  if (group === '' || group === rows[i - 1]?.group) return '';
  return markup`<tr class="group"><th colspan="8" scope="colgroup">${group}</th></tr>`;
}

function lines(row: Row, run: Run): Markup[] {
  const others: readonly (OtherFigure | null)[] = row.others.length > 0 ? row.others : [null];
  return others.map((other, i) => {
    const note = row.note === '' ? '' : markup` <span class="soft">(${row.note})</span>`;
    const what =
      i === 0 ? markup`${row.what}${note}` : markup`<span class="soft">${row.what}</span>`;
    return markup`<tr><th scope="row">${what}</th>
<td class="figure">${number(row.ours.median)}</td><td>${row.unit}</td><td class="figure">${spread(row.ours)}</td>
${other === null ? markup`<td></td><td></td><td></td>` : markup`<td>${subject(other.name)}</td><td class="figure">${number(other.median)}</td><td class="figure">${ratio(other.ratio)}</td>`}
<td>${run.against === undefined ? verdicts(row, other, i, run.quick) : differenceText(row)}</td></tr>`;
  });
}

/** Goals of ours alone stand in the first line. */
function verdicts(row: Row, other: OtherFigure | null, i: number, quick: boolean): Content {
  return row.goals
    .filter(({ goal }) => ('against' in goal ? goal.against === other?.name : i === 0))
    .map((judged) => {
      const word = verdict(judged, quick);
      const kind = quick ? 'soft' : judged.met ? 'met-word' : 'missed-word';
      return markup`${goalText(judged.goal, row)}: <span class="${kind}">${word}</span> `;
    });
}
