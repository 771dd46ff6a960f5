/**
 * Owns the page of a run: one file that needs nothing else, with pictures, every figure as a table,
 * and the machine that they come from.
 */
import { label } from '../model.ts';
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
  signs,
  spread,
  state,
  subject,
  unitOf,
  verdict,
} from './words.ts';
import type { Subject } from './words.ts';

export function page(run: Run): string {
  const { results, quick, at, against } = run;
  const day = at.replace(/\.\d+Z$/, ' UTC').replace('T', ' ');
  const title = against === undefined ? 'How fast Gangway is' : 'What a change of Gangway costs';
  const body = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>${title}</title>
<style>${new Markup(style)}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p class="soft">${day}, commit ${run.machine.commit}</p>
${against === undefined ? outcome(run) : comparison(against, run.machine)}
${quick ? markup`<p class="notice">A smoke of seconds: it shows that answers are right. Its figures are none to rely on, and no goal is judged.</p>` : ''}
<dl>${machineLines(run.machine).map(([name, text]) => markup`<dt>${name}</dt><dd>${text}</dd>`)}</dl>
${against === undefined ? explanation : ''}
</header>
<nav aria-label="Scenarios"><ul>${results.map(navItem)}</ul></nav>
<main>
${goals(run)}
${results.map((result) => section(result, run))}
</main>
<footer class="soft">Every round of every figure stands in <code>bench/results/&lt;scenario&gt;.json</code>;
how it is made, in <code>docs/performance.md</code>.</footer>
</body>
</html>
`;
  return body.text;
}

const explanation = markup`<p>Run it on your own machine, in a clone:</p>
<pre>npm run bench                          # all of this page, about a quarter of an hour
npm run bench -- graphql-small health  # some of it
npm run bench -- --compare main        # what a change costs</pre>
<details><summary>How to read it</summary>
<p>Each figure is the median of its rounds, in which Gangway and what it is held against took turns on this
machine. A ratio is Gangway's figure divided by the other's: the median of the rounds' ratios. The lines over
the bars go from the lowest to the highest round, ± is half the distance between the quartiles.</p>
<p>Bare uWebSockets.js is the library that Gangway is built on, sending the very bytes that Gangway sent: what
this machine can do at most. In a closed loop each connection asks again when it was answered; in an open loop
requests come when they are due, and a server that stands still is charged for all that waited. Answers are
checked before, during and after each round: a scenario whose server died, was not reached or answered wrongly
has no figures, but says why.</p></details>`;

function navItem(result: Result): Markup {
  const mark = 'failed' in result ? ' (failed)' : '';
  return markup`<li><a href="#${result.name}">${result.name}</a>${mark}</li>`;
}

/** In words: how many goals were met, and which were not. */
function outcome({ results, quick }: Run): Content {
  const judged = results.flatMap((result) =>
    'rows' in result
      ? result.rows.flatMap((row) => row.goals.map((one) => ({ name: result.name, row, one })))
      : [],
  );
  const missed = judged.filter(({ one }) => !one.met);
  const failed = results.filter((result) => 'failed' in result);
  if (quick || judged.length + failed.length === 0) return '';
  const counted = `${judged.length - missed.length} of ${judged.length} goals met`;
  const without = failed.length === 0 ? '' : `; without figures: ${names(failed)}`;
  const lines = missed.map(({ name, row, one }) => {
    const far = 'value' in one.goal ? `${number(one.reached)} ${unitOf(row)}` : ratio(one.reached);
    return markup`<li><a href="#${name}">${name}</a>, ${label(row)}: <strong>${far}</strong>, goal ${signs(goalText(one.goal, row))}</li>`;
  });
  return markup`<p class="lead"><strong>${counted}</strong>${without}.</p>
${lines.length === 0 ? '' : markup`<p>Not met:</p><ul class="missing">${lines}</ul>`}`;
}

function names(results: readonly Result[]): string {
  return results.map(({ name }) => name).join(', ');
}

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
  return markup`<section>
<h2>Goals</h2>
<p class="soft">What is aimed at, as ratios within one run or as Gangway's own figures, and how far this run reached.</p>
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
    // What stands in the line above already is said there alone; a reader of the table hears the name.
    const mine =
      i === 0
        ? markup`<th scope="row">${row.what}${note}</th>
<td class="figure">${number(row.ours.median)}</td><td>${unitOf(row)}</td><td class="figure">${spread(row.ours)}</td>`
        : markup`<th scope="row"><span class="soft">${row.what}</span></th><td></td><td></td><td></td>`;
    const theirs =
      other === null
        ? markup`<td></td><td></td><td></td>`
        : markup`<td>${subject(other.name)}</td><td class="figure">${number(other.median)} <span class="soft">${spread(other)}</span></td><td class="figure">${ratio(other.ratio)}</td>`;
    return markup`<tr>${mine}
${theirs}
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
      return markup`${signs(goalText(judged.goal, row))}: <span class="${kind}">${word}</span> `;
    });
}
