/**
 * Owns the pictures of the page: SVG of 360 units, as wide as a phone, each with a title and a
 * description that says in words what it shows.
 *
 * 1. A bar begins at zero. Where figures lie too far apart for that, the scale is logarithmic and
 *    the picture says so.
 * 2. What a colour says, words say, too.
 */
import type { Figure, JudgedGoal, LatencyMs, OtherFigure, Row } from '../model.ts';
import { label } from '../model.ts';
import type { Markup } from './markup.ts';
import { markup } from './markup.ts';
import { goalText, number, ratio, signs, unitOf, verdict } from './words.ts';
import type { Subject } from './words.ts';

const width = 360;
const lineHeight = 34;
const barHeight = 10;
/** From here on a small bar on a linear scale is no longer seen. */
const farApart = 200;

/** Ours and what it is held against, as bars with the range of the rounds. */
export function barChart(row: Row, id: string, called: Subject): Markup {
  const figures: readonly (Figure | OtherFigure)[] = [row.ours, ...row.others];
  const values = figures.flatMap(({ min, max }) => [min, max]);
  const scale = scaleOf(values.filter((value) => value > 0));
  const bars = figures.map((figure, i) =>
    bar(figure, row, { top: i * lineHeight, place: scale.place, called }),
  );
  const description = figures.map((figure) => `${called(figure.name)}: ${said(figure, row)}.`);
  const note = `${row.better} is better${scale.isLog ? '; logarithmic scale' : ''}`;
  return figureOf({
    id,
    title: `${row.what}, ${unitOf(row)}`,
    note: row.note === '' ? note : `${row.note}; ${note}`,
    description: description.join(' '),
    height: figures.length * lineHeight,
    picture: markup`${bars}`,
  });
}

interface BarPlace {
  top: number;
  place: (value: number) => number;
  called: Subject;
}

function bar(figure: Figure, row: Row, { top, place, called }: BarPlace): Markup {
  const { name, median, min, max, rounds } = figure;
  const y = top + 18;
  const middle = y + barHeight / 2;
  const range =
    rounds.length > 1
      ? markup`<line class="range" x1="${x(place(min))}" x2="${x(place(max))}" y1="${middle}" y2="${middle}"/>`
      : '';
  return markup`<text x="0" y="${top + 13}" class="${nameClass(name)}">${called(name)}</text>
<text x="${width}" y="${top + 13}" class="end">${said(figure, row)}</text>
<rect class="${barClass(name)}" x="0" y="${y}" width="${x(Math.max(place(median), 0.004))}" height="${barHeight}" rx="2"/>
${range}`;
}

function said(figure: Figure | OtherFigure, row: Row): string {
  const value = `${number(figure.median)} ${unitOf(row)}`;
  return 'ratio' in figure ? `${value} (ratio ${ratio(figure.ratio)})` : value;
}

interface Scale {
  isLog: boolean;
  /** From 0 to 1. */
  place: (value: number) => number;
}

function scaleOf(values: readonly number[]): Scale {
  const max = Math.max(...values);
  const min = Math.min(...values);
  if (values.length === 0 || max / min < farApart) {
    return { isLog: false, place: (value) => (values.length === 0 ? 0 : clamp(value / max)) };
  }
  // Room below the smallest, so that its bar is seen, too.
  const low = Math.log(min / 2);
  const high = Math.log(max);
  return { isLog: true, place: (value) => clamp((Math.log(value) - low) / (high - low)) };
}

function clamp(part: number): number {
  return Number.isNaN(part) ? 0 : Math.min(1, Math.max(0, part));
}

const shapes = ['first', 'second', 'third', 'fourth', 'fifth'] as const;
const percentiles: readonly (readonly [key: keyof LatencyMs, name: string])[] = [
  ['p50', '50 %'],
  ['p90', '90 %'],
  ['p99', '99 %'],
  ['p999', '99.9 %'],
  ['max', 'longest'],
];

/** Latency by percentile, logarithmic; null where the row has none. */
export function latencyChart(row: Row, id: string, called: Subject): Markup | null {
  const figures = [row.ours, ...row.others].filter(({ percentiles: some }) => some !== undefined);
  if (figures.length === 0) return null;
  const all = figures.flatMap(({ percentiles: ms }) => Object.values(ms ?? {}) as number[]);
  const low = 10 ** Math.floor(Math.log10(Math.max(0.001, Math.min(...all))));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...all, low * 10)));
  const plot = { left: 40, right: width - 8, top: 8, bottom: 168 };
  const across = (i: number): number =>
    plot.left + 16 + ((plot.right - plot.left - 32) * i) / (percentiles.length - 1);
  const up = (ms: number): number =>
    plot.bottom - (Math.log(ms / low) / Math.log(high / low)) * (plot.bottom - plot.top);
  const lines = figures.map((figure, i) => latencyLine(figure, i, across, up));
  const legend = figures.map(({ name }, i) =>
    legendLine(name, called, i, plot.bottom + 36 + i * 18),
  );
  const description = figures.map(({ name, percentiles: ms }) => {
    const parts = percentiles.map(([key, text]) => `${text} ${number(ms?.[key] ?? 0)} ms`);
    return `${called(name)}: ${parts.join(', ')}.`;
  });
  return figureOf({
    id,
    title: `${row.what.replace(/, 99th percentile$/, '')}, by percentile, ms`,
    note: `${row.note === '' ? '' : `${row.note}; `}lower is better; logarithmic scale`,
    description: description.join(' '),
    height: plot.bottom + 32 + figures.length * 18,
    picture: markup`${grid(low, high, up, plot)}${percentiles.map(
      ([, text], i) =>
        markup`<text x="${x1(across(i))}" y="${plot.bottom + 16}" class="middle">${text}</text>`,
    )}${lines}${legend}`,
  });
}

function latencyLine(
  { percentiles: ms }: Figure,
  i: number,
  across: (i: number) => number,
  up: (ms: number) => number,
): Markup {
  const points = percentiles.map(([key], at) => [across(at), up(ms?.[key] ?? 0)] as const);
  const path = points.map(([a, b]) => `${x1(a)},${x1(b)}`).join(' ');
  const marks = points.map(
    ([a, b]) => markup`<circle class="mark ${shapeOf(i)}" cx="${x1(a)}" cy="${x1(b)}" r="3"/>`,
  );
  return markup`<polyline class="line ${shapeOf(i)}" points="${path}"/>${marks}`;
}

function legendLine(name: string, called: Subject, i: number, y: number): Markup {
  return markup`<line class="line ${shapeOf(i)}" x1="0" x2="32" y1="${y - 4}" y2="${y - 4}"/>
<text x="40" y="${y}" class="${nameClass(name)}">${called(name)}</text>`;
}

function grid(
  low: number,
  high: number,
  up: (ms: number) => number,
  plot: { left: number; right: number },
): Markup[] {
  const decades = Math.round(Math.log10(high / low));
  return Array.from({ length: decades + 1 }, (_, i) => {
    const ms = low * 10 ** i;
    const y = x1(up(ms));
    return markup`<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${y}" y2="${y}"/>
<text x="${plot.left - 6}" y="${up(ms) + 4}" class="end">${number(ms)}</text>`;
  });
}

/** How far each goal of a scenario was reached: the line in the middle is the goal. */
export function goalChart(rows: readonly Row[], id: string, title: string, quick: boolean): Markup {
  const goals = rows.flatMap((row) => row.goals.map((judged) => ({ row, judged })));
  let top = 0;
  let group = '';
  const lines = goals.map(({ row, judged }) => {
    const heading = row.group === group ? [] : wrapped(row.group, 50);
    group = row.group;
    const headings = heading.map((text, i) => {
      return markup`<text x="0" y="${top + 13 + i * 15}" class="us">${text}</text>`;
    });
    if (heading.length > 0) top += heading.length * 15 + 6;
    const line = goalLine(row, judged, top, quick);
    top += goalHeight;
    return [headings, line];
  });
  const description = goals.map(({ row, judged }) => {
    const goal = goalText(judged.goal, row);
    return `${label(row)}: ${goal}, reached ${number(judged.reached)}, ${verdict(judged, quick)}.`;
  });
  return figureOf({
    id,
    title,
    note: 'right of the line: better than the goal; logarithmic, 0.1 to 10 times the goal',
    description: description.join(' '),
    height: top,
    picture: markup`${lines}`,
  });
}

const goalHeight = 52;

function goalLine(row: Row, judged: JudgedGoal, top: number, quick: boolean): Markup {
  const { goal, reached, met } = judged;
  const limit = 'value' in goal ? goal.value : goal.ratio;
  const factor = row.better === 'higher' ? reached / limit : limit / reached;
  // A tenth of the goal on the left, ten times the goal on the right.
  const place = clamp((Math.log10(factor) + 1) / 2);
  const kind = quick ? 'unjudged' : met ? 'met' : 'missed';
  const far = 'value' in goal ? `${number(reached)} ${unitOf(row)}` : ratio(reached);
  const [what = ''] = wrapped(row.what, 62);
  return markup`<text x="0" y="${top + 12}" class="small">${what}</text>
<text x="0" y="${top + 27}" class="small"><tspan class="us">${far}</tspan>; goal ${signs(goalText(goal, row))}</text>
<text x="${width}" y="${top + 27}" class="end small word ${kind}">${verdict(judged, quick)}</text>
<rect class="track" x="0" y="${top + 32}" width="${width}" height="${barHeight}" rx="2"/>
<rect class="${kind}" x="${x(Math.min(0.5, place))}" y="${top + 32}" width="${x(Math.abs(place - 0.5))}" height="${barHeight}"/>
<line class="goal" x1="${x(0.5)}" x2="${x(0.5)}" y1="${top + 30}" y2="${top + 44}"/>`;
}

/** In lines of so many characters, two at most; the description and the table say all of it. */
function wrapped(text: string, room: number): string[] {
  if (text === '') return [];
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1) ?? ''} ${word}`.trim();
    if (line.length <= room) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  const [first = '', second, third] = lines.map((line) => line.slice(0, room));
  if (second === undefined) return [first];
  return [first, third === undefined ? second : `${second.slice(0, room - 1).trimEnd()}…`];
}

interface Picture {
  id: string;
  title: string;
  note: string;
  description: string;
  height: number;
  picture: Markup;
}

function figureOf({ id, title, note, description, height, picture }: Picture): Markup {
  return markup`<figure>
<figcaption><b>${title}</b><span>${note}</span></figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}-title ${id}-text">
<title id="${id}-title">${title}</title>
<desc id="${id}-text">${description}</desc>
${picture}
</svg>
</figure>`;
}

function nameClass(name: string): string {
  return name === 'ours' ? 'us' : 'them';
}

function barClass(name: string): string {
  if (name === 'ours') return 'bar ours';
  return name === 'bare' ? 'bar bare' : 'bar peer';
}

function shapeOf(i: number): string {
  return i === 0 ? 'ours' : (shapes[(i - 1) % shapes.length] ?? 'first');
}

/** A part of the width, in units. */
function x(part: number): number {
  return x1(part * width);
}

function x1(units: number): number {
  return Math.round(units * 10) / 10;
}
