/** Owns the layout of rows: columns below their names, numbers to the right. */

export interface Column {
  name: string;
  isNumber: boolean;
}

type Cell = string | null;

/** Rows as psql shows them; null is shown as nothing. */
export function tableText(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => columns.map((_column, at) => linesOf(row[at] ?? '')));
  const widths = columns.map(({ name }, at) =>
    Math.max(widthOf(name), ...cells.map((row) => Math.max(...(row[at] ?? ['']).map(widthOf)))),
  );
  const head = columns.map(({ name }, at) => centered(name, widths[at] ?? 0));
  const lines = [
    ` ${head.join(' | ')} `,
    widths.map((width) => '-'.repeat(width + 2)).join('+'),
    ...cells.flatMap((row) => rowLines(row, columns, widths)),
  ];
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n${countText(rows.length)}\n`;
}

/** One line for each column, for rows that are too wide. */
export function expandedText(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): string {
  const width = Math.max(0, ...columns.map(({ name }) => widthOf(name)));
  const blocks = rows.map((row, number) => {
    const lines = columns.map(
      ({ name }, at) => `${padded(name, width)} | ${(row[at] ?? '').replaceAll('\n', '\\n')}`,
    );
    return [`-[ RECORD ${String(number + 1)} ]`, ...lines.map((line) => line.trimEnd())].join('\n');
  });
  return `${blocks.length === 0 ? countText(0) : blocks.join('\n')}\n`;
}

export function countText(count: number): string {
  return `(${String(count)} ${count === 1 ? 'row' : 'rows'})`;
}

function rowLines(
  row: readonly string[][],
  columns: readonly Column[],
  widths: readonly number[],
): string[] {
  const height = Math.max(1, ...row.map((lines) => lines.length));
  return Array.from({ length: height }, (_unused, line) => {
    const parts = row.map((lines, at) => {
      const text = lines[line] ?? '';
      const width = widths[at] ?? 0;
      return columns[at]?.isNumber === true ? text.padStart(width) : padded(text, width);
    });
    return ` ${parts.join(' | ')} `;
  });
}

function linesOf(text: string): string[] {
  // Control characters in the data must not move the reader's cursor.
  return text
    .split('\n')
    .map((line) =>
      line.replaceAll(/\p{Cc}/gu, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`),
    );
}

function widthOf(text: string): number {
  return Array.from(text).length;
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

function centered(text: string, width: number): string {
  const left = Math.floor((width - widthOf(text)) / 2);
  return padded(' '.repeat(Math.max(0, left)) + text, width);
}
