/** Owns columns in the terminal; a line that is one text goes across them. */
export function columns(
  lines: readonly (readonly string[] | string)[],
  right: ReadonlySet<number>,
): string {
  const cells = lines.filter((line) => typeof line !== 'string');
  const widths = (cells[0] ?? []).map((_, i) =>
    Math.max(...cells.map((line) => line[i]?.length ?? 0)),
  );
  const aligned = (line: readonly string[]): string =>
    line
      .map((cell, i) =>
        right.has(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return lines.map((line) => (typeof line === 'string' ? line : aligned(line))).join('\n');
}
