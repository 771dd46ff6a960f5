/**
 * Owns tables of things: rows with a name that leads on. On phones each row is a card of its own, which has every
 * column in a line with its heading; tables stay tables for who hears them.
 */
import type { ReactNode } from 'react';

export interface Column<Row> {
  key: string;
  head: string;
  cell: (row: Row) => ReactNode;
  /** `end` for numbers and for the buttons of a row. */
  align?: 'end';
  /** Left out where a table has little room; the cards of phones have it. */
  lesser?: boolean;
  /** The heading is said, but not shown. */
  quietHead?: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, rowKey }: TableProps<Row>) {
  return (
    <div className="table-frame" role="region" aria-label={label} tabIndex={0}>
      <table className="table" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.key} scope="col" role="columnheader" className={cellClass(column)}>
                <span className={column.quietHead === true ? 'only-read' : undefined}>
                  {column.head}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row">
              {columns.map((column) => (
                <td
                  key={column.key}
                  role="cell"
                  className={cellClass(column)}
                  data-head={column.quietHead === true ? undefined : column.head}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellClass<Row>({ align, lesser }: Column<Row>): string | undefined {
  const classes = [align === 'end' && 'table-end', lesser === true && 'table-lesser'];
  return classes.filter(Boolean).join(' ') || undefined;
}
