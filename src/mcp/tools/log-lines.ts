/**
 * Owns which lines of a log fit into an answer, and which part of a line is text.
 *
 * 1. Lines are whole; a line that is longer than an answer is cut at its end.
 * 2. Colours, cursor moves and other control characters of a terminal are no text: they take room in the
 *    model's context, tell it nothing, and may do harm where an answer is printed.
 */
import { cutText } from '../results.ts';

export interface LineChoice {
  /** `end`: the last lines that fit; `start`: the first. */
  from: 'start' | 'end';
  linesMax: number;
  /** The limit of the lines as JSON; default: an answer with little else. */
  bytesMax?: number;
  /** Only lines with this text. */
  contains?: string | undefined;
}

export interface ChosenLines {
  /** The chosen lines in their order. */
  lines: string[];
  /** How many of the given lines were read, counted from the chosen side. */
  read: number;
  /** How many further lines would have been chosen. */
  left: number;
  isShortened: boolean;
}

// Leaves room for what stands around a log: its marks, the note and the cursor.
const logBytes = 22_000;

export function chooseLines(given: readonly string[], choice: LineChoice): ChosenLines {
  const { from, linesMax, bytesMax = logBytes, contains = '' } = choice;
  const ordered = from === 'start' ? given : given.toReversed();
  const chosen: ChosenLines = { lines: [], read: 0, left: 0, isShortened: false };
  // A line ends with an escaped newline, which takes as many bytes as the two counted quotes.
  let bytes = 0;
  let isFull = false;
  for (const line of ordered) {
    const isWanted = line.includes(contains);
    if (isWanted && !isFull) {
      const shown = chosen.lines.length === 0 ? cutText(line, bytesMax) : line;
      bytes += Buffer.byteLength(JSON.stringify(shown));
      isFull = chosen.lines.length === linesMax || bytes > bytesMax;
      if (!isFull) {
        chosen.lines.push(shown);
        chosen.isShortened ||= shown.length < line.length;
      }
    }
    if (!isFull) chosen.read += 1;
    else if (isWanted) chosen.left += 1;
  }
  if (from === 'end') chosen.lines.reverse();
  return chosen;
}

const escape = '\u001B';
// ECMA-48: control sequences, strings up to their terminator, and the short sequences.
const sequences = new RegExp(
  `${escape}(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\\u0007${escape}]{0,4096}(?:\\u0007|${escape}\\\\)|[ -/]*[0-~])`,
  'g',
);
const controls = /[^\P{Cc}\t]/gu;

/** A line without the characters that a terminal obeys. */
export function plainText(line: string): string {
  if (!hasControl.test(line)) return line;
  return line.replace(sequences, '').replaceAll('\r', ' ').replace(controls, '\uFFFD');
}

const hasControl = /[^\P{Cc}\t]/u;
