/**
 * Owns how better-auth's conditions select records: pure functions over plain data, the same for
 * reading (adapter) and for deciding a write (actor). Dates are milliseconds on both sides.
 *
 * 1. Conditions joined by AND must all hold; of those joined by OR, when there are any, one must.
 * 2. Nothing compares with an absent value: only `eq null` finds it, as well as `ne` and `not_in`
 *    of something else.
 */
import type { AuthRecord } from '../../store/records/records.ts';

// prettier-ignore
export type Operator =
  | 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'not_in'
  | 'contains' | 'starts_with' | 'ends_with';

export type Scalar = string | number | boolean | null;

export interface Condition {
  field: string;
  operator: Operator;
  value: Scalar | Scalar[];
  connector: 'AND' | 'OR';
  /** Whether strings compare without regard to case. */
  insensitive: boolean;
}

export function matches(record: Readonly<AuthRecord>, where: readonly Condition[]): boolean {
  let anyOr = false;
  let oneOr = false;
  for (const condition of where) {
    const holds = conditionHolds(fieldOf(record, condition.field), condition);
    if (condition.connector === 'OR') {
      anyOr = true;
      oneOr ||= holds;
    } else if (!holds) return false;
  }
  return !anyOr || oneOr;
}

/** A field's value; `id` is one, too. Absent is null. */
export function fieldOf(record: Readonly<AuthRecord>, field: string): unknown {
  return field === 'id' ? record.id : (record.fields[field] ?? null);
}

/** Orders values of one field: absent first, then by their own order. */
export function compareValues(a: unknown, b: unknown): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  const left = textOf(a);
  const right = textOf(b);
  return left < right ? -1 : Number(left > right);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function conditionHolds(stored: unknown, condition: Condition): boolean {
  const { operator } = condition;
  const fold = (value: unknown): unknown =>
    condition.insensitive && typeof value === 'string' ? value.toLowerCase() : value;
  const left = fold(stored);
  if (Array.isArray(condition.value)) {
    const among = condition.value.map(fold).includes(left);
    if (operator === 'in') return among;
    if (operator === 'not_in') return !among;
    return false;
  }
  const right = fold(condition.value);
  switch (operator) {
    case 'eq':
      return left === right;
    case 'ne':
      return left !== right;
    case 'in':
      return left === right;
    case 'not_in':
      return left !== right;
    case 'contains':
      return bothText(left, right, (text, part) => text.includes(part));
    case 'starts_with':
      return bothText(left, right, (text, part) => text.startsWith(part));
    case 'ends_with':
      return bothText(left, right, (text, part) => text.endsWith(part));
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return ordered(left, right, operator);
  }
}

function bothText(a: unknown, b: unknown, test: (a: string, b: string) => boolean): boolean {
  return typeof a === 'string' && typeof b === 'string' && test(a, b);
}

function ordered(a: unknown, b: unknown, operator: 'lt' | 'lte' | 'gt' | 'gte'): boolean {
  if (a === null || b === null || typeof a !== typeof b) return false;
  const order = compareValues(a, b);
  switch (operator) {
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
  }
}
