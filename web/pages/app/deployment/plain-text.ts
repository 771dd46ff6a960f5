/** Owns a line of a build as text alone: without the terminal's codes, and with nothing that could mislead. */

// Escape sequences: CSI, OSC up to its end, and the two-character ones.
const codes =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]/g;
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** More of a line than anybody reads makes a browser slow. */
const shownMax = 20_000;

export function plainText(line: string): string {
  const short = line.length > shownMax ? `${line.slice(0, shownMax)}… (cut)` : line;
  // A line that is written over, as progress bars do, is as it was last.
  const text = short.replace(codes, '').replace(/\r+$/, '');
  return text.slice(text.lastIndexOf('\r') + 1).replace(controls, '\ufffd');
}
