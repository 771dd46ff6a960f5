/**
 * Owns how a line looks: its colours by ANSI sequences, and the places that a search marks. All other control
 * characters are dropped or shown as U+FFFD; nothing of a line is ever markup.
 */
export interface LinePart {
  text: string;
  /** Classes; '' for plain. */
  look: string;
  marked: boolean;
}

const escape = '\u001B';
// ECMA-48: control sequences, strings up to their terminator, and the short sequences.
const sequence = new RegExp(
  `${escape}(?:\\[([0-?]*)[ -/]*([@-~])|[\\]PX^_][^\\u0007${escape}]{0,4096}(?:\\u0007|${escape}\\\\)|[ -/]*[0-~])`,
  'g',
);
const controls = /[^\P{Cc}\t]/gu;
const hasControl = /[^\P{Cc}\t]/u;
const marksMax = 200;

interface Pen {
  colour: number | null;
  paper: number | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underlined: boolean;
}

const plainPen: Pen = {
  ...{ colour: null, paper: null, bold: false, dim: false, italic: false, underlined: false },
};

/** The parts of a line in their order. `needle` is marked wherever it stands, in any case unless `exact`. */
export function lineParts(line: string, needle = '', exact = false): LinePart[] {
  const parts = hasControl.test(line) ? coloured(line) : [{ text: line, look: '', marked: false }];
  return needle === '' ? parts : withMarks(parts, needle, exact);
}

/** The text of a line without what a terminal obeys. */
export function plainLine(line: string): string {
  return lineParts(line)
    .map(({ text }) => text)
    .join('');
}

/** More of a line than anybody reads makes a browser slow. */
const writtenMax = 20_000;

/** What a terminal shows of a line that was written over, as progress bars do; the start of a very long one. */
export function lastWritten(line: string): string {
  const short = line.length > writtenMax ? `${line.slice(0, writtenMax)}… (cut)` : line;
  const end = short.replace(/\r+$/, '');
  return end.slice(end.lastIndexOf('\r') + 1);
}

function coloured(line: string): LinePart[] {
  const parts: LinePart[] = [];
  let pen = plainPen;
  let at = 0;
  const add = (text: string): void => {
    const shown = text.replaceAll('\r', ' ').replace(controls, '\uFFFD');
    if (shown !== '') parts.push({ text: shown, look: lookOf(pen), marked: false });
  };
  for (const found of line.matchAll(sequence)) {
    add(line.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[2] === 'm') pen = drawn(pen, found[1] ?? '');
  }
  add(line.slice(at));
  return parts;
}

/** SGR: codes one after the other; 38 and 48 take those behind them. */
function drawn(before: Pen, codes: string): Pen {
  const pen = { ...before };
  const numbers = codes.split(/[;:]/).map(Number);
  for (let i = 0; i < numbers.length; i++) {
    const code = numbers[i] ?? 0;
    if (code === 0) Object.assign(pen, plainPen);
    else if (code === 1) pen.bold = true;
    else if (code === 2) pen.dim = true;
    else if (code === 3) pen.italic = true;
    else if (code === 4) pen.underlined = true;
    else if (code === 22) Object.assign(pen, { bold: false, dim: false });
    else if (code === 23) pen.italic = false;
    else if (code === 24) pen.underlined = false;
    else if (code >= 30 && code <= 37) pen.colour = code - 30;
    else if (code >= 90 && code <= 97) pen.colour = code - 82;
    else if (code === 39) pen.colour = null;
    else if (code >= 40 && code <= 47) pen.paper = code - 40;
    else if (code >= 100 && code <= 107) pen.paper = code - 92;
    else if (code === 49) pen.paper = null;
    else if (code === 38 || code === 48) {
      const isIndex = numbers[i + 1] === 5;
      const colour = isIndex
        ? ofPalette(numbers[i + 2] ?? 0)
        : nearest(numbers[i + 2] ?? 0, numbers[i + 3] ?? 0, numbers[i + 4] ?? 0);
      if (code === 38) pen.colour = colour;
      else pen.paper = colour;
      i += isIndex ? 2 : 4;
    }
  }
  return pen;
}

/** Of the 256 colours the nearest of the sixteen, which are to be read on light and dark. */
function ofPalette(index: number): number {
  if (index < 16) return Math.max(0, index);
  if (index >= 232) return index < 244 ? 8 : 7;
  const cube = index - 16;
  const level = (step: number): number => (Math.floor(cube / step) % 6) * 51;
  return nearest(level(36), level(6), level(1));
}

function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  const bits = [red, green, blue].map((one) => (one > most / 2 && one > 40 ? 1 : 0));
  const base = (bits[0] ?? 0) + 2 * (bits[1] ?? 0) + 4 * (bits[2] ?? 0);
  return most > 170 && base !== 7 ? base + 8 : base;
}

function lookOf(pen: Pen): string {
  if (pen === plainPen) return '';
  const names = [
    pen.colour !== null && `line-ink-${pen.colour}`,
    pen.paper !== null && `line-paper-${pen.paper}`,
    pen.bold && 'line-bold',
    pen.dim && 'line-dim',
    pen.italic && 'line-italic',
    pen.underlined && 'line-underlined',
  ];
  return names.filter(Boolean).join(' ');
}

function withMarks(parts: readonly LinePart[], needle: string, exact: boolean): LinePart[] {
  const whole = parts.map(({ text }) => text).join('');
  const text = exact ? whole : whole.toLowerCase();
  const sought = exact ? needle : needle.toLowerCase();
  // Where another case has another length, places cannot be told.
  if (text.length !== whole.length) return [...parts];
  const edges: number[] = [];
  for (let at = text.indexOf(sought); at !== -1 && edges.length < marksMax * 2;) {
    edges.push(at, at + sought.length);
    at = text.indexOf(sought, at + sought.length);
  }
  return edges.length === 0 ? [...parts] : cutAt(parts, edges);
}

/** `edges`: begins and ends of marks, by turns. */
function cutAt(parts: readonly LinePart[], edges: readonly number[]): LinePart[] {
  const cut: LinePart[] = [];
  let begin = 0;
  let edge = 0;
  for (const { text, look } of parts) {
    const end = begin + text.length;
    let at = begin;
    while (at < end) {
      while (edge < edges.length && (edges[edge] ?? 0) <= at) edge++;
      const next = Math.min(end, edges[edge] ?? end);
      cut.push({ text: text.slice(at - begin, next - begin), look, marked: edge % 2 === 1 });
      at = next;
    }
    begin = end;
  }
  return cut;
}
