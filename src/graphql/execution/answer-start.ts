/**
 * Owns the start of an answer that is too long for who asked: made where it was executed, so that the
 * rest of it never crosses to another thread.
 */
import { jsonStart } from '../../protocol/json-structure.ts';
import type { Answer } from './operation.ts';

const dataStart = '{"data":';
const errorsMax = 20;

/** The same answer, of longer data the start alone; JSON still. One value, however long, stays whole. */
export function startOfAnswer(answer: Answer, charsMax: number | undefined): Answer {
  const { kind, json } = answer;
  if (charsMax === undefined || json.length <= charsMax || kind === 'refused') return answer;
  if (kind === 'executed') {
    const start = jsonStart(json.slice(dataStart.length), charsMax);
    return start === null ? answer : { kind, json: `${dataStart}${start}}` };
  }
  const { data, errors } = JSON.parse(json) as { data?: unknown; errors: unknown[] };
  const whole = JSON.stringify(data ?? null);
  const shown = jsonStart(whole, charsMax) ?? whole;
  return {
    kind,
    json: `${dataStart}${shown},"errors":${JSON.stringify(errors.slice(0, errorsMax))}}`,
  };
}
