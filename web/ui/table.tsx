/** Owns tables of things: rows with a name that leads on; on phones the lesser columns go. */
import type { ReactNode } from 'react';

export interface Column<Row> {
  key: string;
  head: string;
  cell: (row: Row) => ReactNode;
  /** `end` for numbers and for the buttons of a row. */
  align?: 'end';
  /** Left out on phones. */
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
      <table className="table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} scope="col" className={cellClass(column)}>
                <span className={column.quietHead === true ? 'only-read' : undefined}>
                  {column.head}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <td key={column.key} className={cellClass(column)}>
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
