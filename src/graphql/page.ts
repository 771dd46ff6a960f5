/**
 * Owns pages of lists that can grow: how many (`first`) and from where (`after`). A cursor is
 * opaque to clients; one that we did not make is refused, never guessed at.
 */
import { ServiceError } from '../lib/errors.ts';

export interface Page<T> {
  nodes: readonly T[];
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

/** A cursor of a kind (`app`, `dpl`, `log`), which no other list takes. */
export function encodeCursor(kind: string, position: string): string {
  return Buffer.from(`${kind}:${position}`).toString('base64url');
}

/** The position behind a cursor; BAD_USER_INPUT for one that is not of this kind. */
export function decodeCursor(kind: string, cursor: string): string {
  const text = cursor.length <= 200 ? Buffer.from(cursor, 'base64url').toString() : '';
  const position = text.startsWith(`${kind}:`) ? text.slice(kind.length + 1) : '';
  if (position === '' || encodeCursor(kind, position) !== cursor) {
    throw new ServiceError('BAD_USER_INPUT', 'after is not a cursor of this list.');
  }
  return position;
}

/** Checks an argument of a count; BAD_USER_INPUT outside 0..max. */
export function boundedCount(
  name: string,
  value: number | null | undefined,
  preset: number,
  max: number,
): number {
  const count = value ?? preset;
  if (count < 0 || count > max) {
    throw new ServiceError('BAD_USER_INPUT', `${name} must be between 0 and ${max}.`);
  }
  return count;
}

/** Cuts a page out of rows read one further than asked for. */
export function pageOf<T>(
  kind: string,
  rows: readonly T[],
  first: number,
  positionOf: (row: T) => string,
): Page<T> {
  const nodes = rows.length > first ? rows.slice(0, first) : rows;
  const last = nodes.at(-1);
  return {
    nodes,
    pageInfo: {
      endCursor: last === undefined ? null : encodeCursor(kind, positionOf(last)),
      hasNextPage: rows.length > first,
    },
  };
}

export const pageMax = 500;
