/**
 * Owns which lines of a log fit into an answer. Lines are whole; a line that is longer than an answer is cut at
 * its end.
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
