/**
 * Owns which part of a line is text. Colours, cursor moves and other control characters of a terminal are
 * none: nobody looks for them, and they may do harm where a line is shown.
 */

const escape = '\u001B';
// ECMA-48: control sequences, strings up to their terminator, and the short sequences.
const sequences = new RegExp(
  `${escape}(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\\u0007${escape}]{0,4096}(?:\\u0007|${escape}\\\\)|[ -/]*[0-~])`,
  'g',
);
const controls = /[^\P{Cc}\t]/gu;
const hasControl = /[^\P{Cc}\t]/u;

/** A line without the characters that a terminal obeys. */
export function plainText(line: string): string {
  if (!hasControl.test(line)) return line;
  return line.replace(sequences, '').replaceAll('\r', ' ').replace(controls, '\uFFFD');
}
