/**
 * Owns how better-auth's conditions select records. These are pure functions over plain data, used for
 * reading (adapter) and for deciding a write (actor). Dates are milliseconds on both sides.
 *
 * 1. All conditions joined by AND must hold. Of those joined by OR, if there are any, one must.
 * 2. An absent value matches no comparison but `eq null`, and `ne` and `not_in` of another value.
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
  insensitive: boolean;
}

/** Whether a stored value satisfies the value of a condition. */
type Test = (stored: unknown, wanted: unknown) => boolean;

const tests: Record<Operator, Test> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  in: (a, b) => a === b,
  not_in: (a, b) => a !== b,
  contains: ofTexts((text, part) => text.includes(part)),
  starts_with: ofTexts((text, part) => text.startsWith(part)),
  ends_with: ofTexts((text, part) => text.endsWith(part)),
  lt: ofOrder((order) => order < 0),
  lte: ofOrder((order) => order <= 0),
  gt: ofOrder((order) => order > 0),
  gte: ofOrder((order) => order >= 0),
};

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

/** The value of a field or of `id`. An absent value is null. */
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
  const { operator, value } = condition;
  const fold = (one: unknown): unknown =>
    condition.insensitive && typeof one === 'string' ? one.toLowerCase() : one;
  if (!Array.isArray(value)) return tests[operator](fold(stored), fold(value));
  const among = value.map(fold).includes(fold(stored));
  return (operator === 'in' && among) || (operator === 'not_in' && !among);
}

function ofTexts(test: (text: string, part: string) => boolean): Test {
  return (a, b) => typeof a === 'string' && typeof b === 'string' && test(a, b);
}

function ofOrder(test: (order: number) => boolean): Test {
  return (a, b) => a !== null && b !== null && typeof a === typeof b && test(compareValues(a, b));
}
